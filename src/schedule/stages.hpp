// Assignments of tasks to stages that can differ in their rounds.
#pragma once

#include <vector>

#include "tessera/schedule/dpipe.hpp"

namespace tessera::schedule {

/// Every edge orders a round only if both tasks lie on a circle of edges and recurrences: between
/// such circles (strongly connected components) stages are far enough apart. So what is left to
/// choose are the stages inside every component; the combinations of these are listed, without
/// those whose edges contain another's. `complete`: false if the limit cut them off.
std::vector<Overlap> stage_assignments(const Dag& dag, const Limits& limits, bool& complete);

/// The least stages with which the placements of `schedule` obey all edges and recurrences.
void lower_stages(const Dag& dag, Schedule& schedule);

}  // namespace tessera::schedule
