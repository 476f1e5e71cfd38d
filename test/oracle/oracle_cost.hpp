// The oracle's own cost evaluator: closed forms, one tensor at a time, plain and slow.
//
// It shares no code with the cost model of the library. Memories, containers, spatial dimensions,
// networks but for the traffic of their links, partial tiles of outermost loops, leakage and
// latency expressions are supported; tolls, copy Einsums, distributed memories and power gating are
// not.
#pragma once

#include <span>
#include <stdexcept>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapping/pmapping.hpp"

namespace tessera::oracle {

/// Traffic and occupancy of one holder. Counts are actions: net of skipped first accesses, without
/// `actions_scale` and instance counts.
struct HolderCost {
    int node = 0;
    int level = 0;
    int tensor = 0;
    bool backing = false;
    double reads = 0, writes = 0;            ///< all instances of the memory
    double unit_reads = 0, unit_writes = 0;  ///< busiest instance
    double bits = 0;                         ///< in one instance of the memory
    int depth = 0;                           ///< loops above the reservation
};

struct DimUse {
    int level = 0, dim = 0;
    double used = 1;
};

/// Data of one tensor on the network between two holders.
struct RouteCost {
    int level = -1;
    double hops = 0, longest = 0;
};

struct ChainCost {
    std::vector<HolderCost> holders;
    std::vector<RouteCost> routes;
    std::vector<DimUse> dims;           ///< dimensions that have a loop
    double computes = 0;                ///< all instances
    double compute_steps = 0;           ///< one instance
    std::vector<double> level_latency;  ///< per path level, seconds; 0 where there is none
    double dynamic_energy_j = 0, leak_energy_j = 0, latency_s = 0;  ///< n_instances included

    double energy_j() const {
        return dynamic_energy_j + leak_energy_j;
    }
};

struct Unsupported : std::logic_error {
    using std::logic_error::logic_error;
};

/// How a last tile counts that is partial.
enum class Partial {
    as_it_is,  ///< what is there is moved and computed, in as many iterations
    average,   ///< as the reference has it: a fraction of an iteration; for a tensor that the
               ///< variable does not index a whole one
};

/// \throws Unsupported.
ChainCost cost(const arch::Path& path, std::span<const mapping::PmappingNode> nodes,
               Partial partial = Partial::as_it_is);

/// Values in the box that a tile of these sizes (per rank variable) touches.
double tile_values(const workload::LocalTensor& tensor, std::span<const double> tile);

}  // namespace tessera::oracle
