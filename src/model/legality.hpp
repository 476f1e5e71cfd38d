// What cannot run on the hardware. Each check_* throws IllegalMapping naming the limit and both
// sides.
#pragma once

#include <string>
#include <vector>

#include "model/analysis/einsum_analysis.hpp"
#include "model/analysis/joined_occupancy.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/workload/einsum_view.hpp"

namespace tessera::model {

/// Every tile fits into the tile around it and divides it; only the outermost loop over a variable
/// that stands in no sum may leave a partial last tile.
void check_tile_shapes(const arch::Path& path, std::span<const mapping::PmappingNode> nodes);

/// A running state is kept from iteration to iteration of the one loop over its iterative variable,
/// which runs in sequence.
void check_states(const EinsumAnalysis& einsum);

/// One Einsum by itself, all but tile shapes and capacities: running states; tiles come from
/// memories further out; no more instances than a fan-out has. Cases without a rule: a distributed
/// memory as outermost holder of a shared tensor; compat: networks with partially relevant loops.
void check_alone(const EinsumAnalysis& einsum);

/// What the Einsum holds fits into every memory, if copies unite none of it with one another.
void check_capacity(const EinsumAnalysis& einsum);

/// Einsums of one tree, each checked alone. Our convention, on the tree itself: producers run
/// before consumers, all users of a tensor see the same outermost holder, and a consumer only reads
/// what its producer has finished; outputs stay until their sums are complete. The reference's:
/// partial mappings fit together. Then, that what all hold at one time fits; it is returned.
JoinedOccupancy check_together(const Problem& problem,
                               const std::vector<const EinsumAnalysis*>& einsums);

/// Mapper constraints of the architecture that a given mapping does not meet, one text each, naming
/// the constraint, both sides and its line. They bind mappers, not evaluation, so they are
/// warnings.
std::vector<std::string> constraint_warnings(const EinsumAnalysis& einsum);

/// Loops of the tree that enclose each Einsum and its successor.
std::vector<int> shared_loops(const std::vector<const EinsumAnalysis*>& einsums);

}  // namespace tessera::model
