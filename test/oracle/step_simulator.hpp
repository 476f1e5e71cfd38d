// A tile-stepping simulator: walks the loops of one Einsum's mapping for real and moves sets of
// elements between its holders. It knows nothing of trip-count products or relevancy.
//
// What it does at each step, and what of it is a convention rather than physics:
//   - A holder lives for one iteration of the loop above it: each time the walk reaches it, it is
//     filled with the elements its subtree will touch, and emptied when the subtree is done, also
//     when the next visit wants the same elements again (convention; the mapspace has a cheaper
//     mapping for that case). Overlapping halos are therefore fetched anew.
//   - Spatial instances run in lock step. Equal sets that instances of one parent ask for in one
//   step
//     are one read of the parent (and one write of partial sums) if the dimension may reuse the
//     tensor.
//   - A visit to an output brings its partial sums in and takes them out again (convention: no
//     drain-only mode). Elements that no compute has touched before this step are not brought in if
//     the holder skips initial writes, and not read from its parent if the parent skips as well.
//   - The contents are the elements really touched. A cost model that counts bounding boxes agrees
//     where the image of a tile is a box: every rank is one variable, or a sum with coefficient 1.
//   - Of a partial tile only what is there is fetched, held and computed: iterations and instances
//     without values do not take place.
//   - Spatial loops are taken where they stand, so holders must obey the order of the hierarchy.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapping/pmapping.hpp"

namespace tessera::oracle {

/// Counts in values, not actions; net of what is skipped.
struct StepCounts {
    double reads = 0, writes = 0;            ///< all instances
    double unit_reads = 0, unit_writes = 0;  ///< busiest instance
    double largest = 0;                      ///< most values one instance holds at its reservation
};

struct Simulation {
    std::map<std::pair<int, int>, StepCounts> holders;  ///< (level, tensor)
    /// Reads and writes of one instance of a memory, all tensors together, in actions.
    struct Instance {
        double reads = 0, writes = 0;
    };
    using Coordinates = std::vector<int>;                      ///< one entry per spatial loop above
    std::map<int, std::map<Coordinates, Instance>> instances;  ///< by level
    double computes = 0;
    double compute_steps = 0;  ///< computes of the busiest instance
};

Simulation simulate(const arch::Path& path, std::span<const mapping::PmappingNode> nodes);

}  // namespace tessera::oracle
