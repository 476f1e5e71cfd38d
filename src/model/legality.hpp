// What cannot run on the hardware. Each check_* throws IllegalMapping naming the limit and both
// sides.
#pragma once

#include <string>
#include <vector>

#include "model/analysis/einsum_analysis.hpp"
#include "model/analysis/joined_occupancy.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::model {

/// Every tile fits into the tile around it and divides it; only the outermost loop over a variable
/// that stands in no sum may leave a partial last tile.
void check_tile_shapes(const arch::Path& path, std::span<const mapping::PmappingNode> nodes);

/// Cases without a rule: a distributed memory as outermost holder of a shared tensor; compat:
/// networks with partially relevant loops.
void check_supported(const EinsumAnalysis& einsum);

/// A running state is kept from iteration to iteration of the one loop over its iterative variable,
/// which runs in sequence.
void check_states(const EinsumAnalysis& einsum);

/// No more instances than the fan-out has.
void check_fanout(const EinsumAnalysis& einsum);

/// What one Einsum holds fits into every memory.
void check_capacity(const EinsumAnalysis& einsum);

/// What all Einsums together hold fits.
void check_joined_capacity(const JoinedOccupancy& occupancy,
                           const std::vector<const EinsumAnalysis*>& einsums);

/// Convention of the reference: partial mappings fit together if shared tensors lie in the same
/// memory under the same loops, and no tensor has to be carried past an Einsum with fewer loops.
void check_join(const workload::Workload& workload,
                const std::vector<const EinsumAnalysis*>& einsums);

/// Our convention, on the tree itself: producers run before consumers, all users of a tensor see
/// the same outermost holder, and a consumer only reads what its producer has finished.
void check_exchange(const workload::Workload& workload,
                    const std::vector<const EinsumAnalysis*>& einsums);

/// Mapper constraints of the architecture that a given mapping does not meet, one text each, naming
/// the constraint, both sides and its line. They bind mappers, not evaluation, so they are
/// warnings.
std::vector<std::string> constraint_warnings(const EinsumAnalysis& einsum);

/// Loops of the tree that enclose each Einsum and its successor.
std::vector<int> shared_loops(const std::vector<const EinsumAnalysis*>& einsums);

}  // namespace tessera::model
