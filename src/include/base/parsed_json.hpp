// JSON documents that are read: values of a library (see tessera/base/json.hpp for written ones).
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "tessera/base/json.hpp"

namespace tessera::base {

using ParsedJson = nlohmann::ordered_json;

/// A document from a file or a socket; is_discarded() if the text is none, or is nested more than
/// 200 levels deep: values are copied and written by recursion.
ParsedJson parsed_json(std::string_view text);

/// What was read, to be written again.
Json written(const ParsedJson& read);

}  // namespace tessera::base
