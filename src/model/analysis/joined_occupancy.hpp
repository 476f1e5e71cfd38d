// How full the memories get while the Einsums of a LoopTree run one after the other.
//
// Between two neighbouring Einsums lie n shared loops. What one Einsum holds at loop depth d (d
// loops above its reservation) stays while its neighbour runs if d < n: it was allocated outside
// the shared loops. Deeper holders are allocated and freed inside each iteration and only meet what
// lies above. Persistent tensors have depth -1. A tensor that several Einsums access is held once,
// from its first to its last user; what one copy Einsum has in one memory is one tensor.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "einsum_analysis.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::model {

/// The backing holder of a tensor that several Einsums access.
struct Backing {
    int tensor = 0;  ///< index into Workload::tensors
    int node = 0;    ///< index of the holder in the Einsum's nodes
    std::string memory;
    int depth = 0;             ///< loops above its reservation, -1: persistent
    bool line_buffer = false;  ///< its users run inside one loop more
    double bits = 0;           ///< n_instances of persistent tensors included
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

/// `shared_loops[i]`: loops of the tree that enclose both Einsum i and i + 1 (compat: ignored, the
/// reference counts the loops above the deepest tensor that is still needed).
JoinedOccupancy joined_occupancy(const workload::Workload& workload,
                                 const std::vector<const EinsumAnalysis*>& einsums,
                                 const std::vector<int>& shared_loops);

/// Loops that the reference regards as shared between Einsum i and i + 1.
std::vector<int> live_loops(const std::vector<std::vector<Backing>>& backings);

}  // namespace tessera::model
