// Whether more actions never take less time. Searches need it: what the mapspace leaves out
// (docs/mapspace.md, section 5) has a counterpart with fewer actions, which must not be slower.
#pragma once

#include <string>

#include "tessera/arch/path.hpp"

namespace tessera::model {

/// Why this is not so for the level's `total_latency`: "falls from 5 s to 4 s where 'read' grows
/// from 0 to 1"; also where it cannot be shown. Empty: the time never falls as actions, hops or
/// traffic grow. Pure.
std::string falling_latency(const arch::PathLevel& level);

}  // namespace tessera::model
