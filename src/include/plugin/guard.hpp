// Whatever a component throws becomes an error that names plugin, component and call.
#pragma once

#include <string>

#include "tessera/plugin/registry.hpp"

namespace tessera::plugin {

/// The component behind a layer that names it in errors:
///   cost models, mappers   what their contracts allow (UserError, IllegalMapping, ...) passes
///   strategies             may throw nothing
/// Components that are part of the program are not blamed for what is our own bug.
Owned<model::CostModel> guarded(Owned<model::CostModel> made, const std::string& name,
                                const std::string& file);
Owned<search::SearchStrategy> guarded(Owned<search::SearchStrategy> made, const std::string& name,
                                      const std::string& file);
Owned<mapper::Mapper> guarded(Owned<mapper::Mapper> made, const std::string& name,
                              const std::string& file);

/// The call into a plugin that runs on this thread, else the last one that began on any:
/// "mapper 'x' of FILE failed in map()". Null: none. For handlers of what nobody can catch.
const char* blamed_call() noexcept;

}  // namespace tessera::plugin
