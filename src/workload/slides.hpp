// Along which ranks an intermediate tensor may be passed on piece by piece although its reader's
// pieces overlap, and how far ahead of the reader the producer then runs.
#pragma once

#include "tessera/workload/workload.hpp"

namespace tessera::workload {

/// Fills LocalTensor::slides and LocalRankVariable::leads of the view.
/// Whether some Einsum may read overlapping pieces of what another one makes. Most cascades have
/// none of these.
bool reads_overlap(const Workload& workload);

void find_slides(const Workload& workload, EinsumView& view);

}  // namespace tessera::workload
