// Along which ranks an intermediate tensor may be passed on piece by piece although its reader's
// pieces overlap, and how long the prologue of the producer then is.
#pragma once

#include "tessera/workload/workload.hpp"

namespace tessera::workload {

/// Whether some Einsum may read overlapping pieces of what another one makes. Most cascades have
/// none of these.
bool reads_overlap(const Workload& workload);

/// What view() gives except LocalTensor::windows and LocalRankVariable::prologues: these need the
/// whole workload, with all bounds.
EinsumView view_without_windows(const Workload& workload, int index);

/// Fills LocalTensor::windows and LocalRankVariable::prologues of the view.
void find_windows(const Workload& workload, EinsumView& view);

}  // namespace tessera::workload
