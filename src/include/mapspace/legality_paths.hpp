// As tessera/mapspace/legality.hpp, for those who check many mappings of one problem.
#pragma once

#include <vector>

#include "mapping/path_cache.hpp"
#include "tessera/mapspace/legality.hpp"

namespace tessera::mapspace {

/// With the paths of a cache that was made for the same problem. Thread rule: one thread a cache.
std::vector<Violation> check(const model::Problem& problem, const mapping::Mapping& mapping,
                             const MapSpaceOptions* options, mapping::PathCache& paths);

}  // namespace tessera::mapspace
