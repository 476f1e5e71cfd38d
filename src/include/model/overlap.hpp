// The best choice of branches that run at once in a given LoopTree (docs/pipelines.md, section 6).
#pragma once

#include "tessera/mapping/mapping.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::model {

struct Overlapped {
    mapping::Mapping mapping;
    double latency_s = 0;
    /// No other choice of branches takes less time. False: splits of many branches were not tried
    /// whole.
    bool complete = true;
};

/// `mapping`: without !Pipeline, legal; `report`: its evaluation. Energy does not change. Thread
/// rule: pure.
Overlapped best_overlap(const Problem& problem, const mapping::Mapping& mapping,
                        const Report& report);

}  // namespace tessera::model
