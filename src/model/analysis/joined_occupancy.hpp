// How full the memories get while the Einsums of a LoopTree run one after the other.
//
// The rule: tessera/model/coexistence.hpp. Loops that two neighbouring Einsums share: those of the
// tree that enclose both, and those above the deepest tensor that is still needed (compat: the
// latter alone). What a copy backs in one memory is one buffer (compat: in whatever memory).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "einsum_analysis.hpp"

namespace tessera::model {

/// The backing holder of a tensor that several Einsums access.
struct Backing {
    int tensor = 0;  ///< index into Workload::tensors
    int node = 0;    ///< index of the holder in the Einsum's nodes
    std::string memory;
    int depth = 0;             ///< loops above its reservation, -1: persistent
    bool line_buffer = false;  ///< its users run inside one loop more
};

/// Backing holders of all fusable tensors of one Einsum.
std::vector<Backing> backings(const EinsumAnalysis& einsum);

/// Highest number of bits in use at any time per memory. Einsums stand in execution order.
struct JoinedOccupancy {
    struct Memory {
        double size_bits = 0;
        double peak_bits = 0;
        int peak_einsum = 0;  ///< position of the Einsum that runs at the peak
        Position where;       ///< of the memory in the architecture
    };
    std::map<std::string, Memory> memories;
};

JoinedOccupancy joined_occupancy(const std::vector<const EinsumAnalysis*>& einsums);

}  // namespace tessera::model
