// The lower bound of one given mapping, edge by edge as the tables would add it up. For tests of
// the bound against the cost model.
#pragma once

#include "timeloop/optimal/edges.hpp"

namespace tessera::timeloop {

struct MappingBound {
    double linear = 0, cycles = 0;
    double floor = 0;  ///< of all mappings with the same spatial factors and bypasses
};

/// \pre `mapping` has perfect factors, fits, and keeps every data space whole somewhere.
MappingBound mapping_bound(const Geometry& geometry, const Mapping& mapping);

}  // namespace tessera::timeloop
