// Rounds of a pipeline as DPipe orders them: an Einsum has its compute to itself until it is done.
#pragma once

#include <string>
#include <vector>

#include "tessera/model/pipelines.hpp"
#include "tessera/schedule/dpipe.hpp"

namespace tessera::transfusion {

using model::Part;
using model::Range;
using model::Unpipelined;

/// What a pipeline takes beside its schedule.
struct PipelineCost {
    model::Pipeline pipeline;
    schedule::Schedule schedule;
};

/// Tasks of a range: an Einsum on its own compute, or on any of `units` whose latency is given.
/// `latency_s`: per part of the range and unit; infinite where it cannot run.
schedule::Dag dag_of(const workload::Workload& workload, const std::vector<Part>& parts,
                     const Range& range, const std::vector<std::string>& units,
                     const std::vector<std::vector<double>>& latency_s);

/// The shortest round for the computes that the parts are on. While Einsums together ask more of a
/// component than it has, all that run are slowed down. A pipeline of s stages takes
/// rounds.count + s - 1 rounds.
PipelineCost pipeline_cost(const workload::Workload& workload, const std::vector<Part>& parts,
                           const Range& range, const model::Rounds& rounds, schedule::Mode mode);

/// Spread (model::run_pipeline) or in DPipe's order, whichever is shorter, if it fits.
/// \throws IllegalMapping if neither does
model::PipelineRun shortest(const workload::Workload& workload, const std::vector<Part>& parts,
                            const std::vector<int>& shared, const Range& range,
                            schedule::Mode mode);

}  // namespace tessera::transfusion
