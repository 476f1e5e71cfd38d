// What the join of pipelines looks at: it begins with little and learns what mappings break.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::ffm {

/// Components that may be too busy while Einsums run at once, and memories that may be too full.
/// All others are never either.
struct PipelineRelaxation {
    std::set<std::string> components, memories;

    bool empty() const {
        return components.empty() && memories.empty();
    }
};

/// Of all paths of all Einsums.
void for_each_level(const model::Problem& problem,
                    const std::function<void(const arch::PathLevel&)>& use);

/// Memories that are full with one value of any tensor, as registers of weights are. Two Einsums
/// at once cannot both hold something there; and as a pmapping fills such a memory or leaves it
/// empty, to look at it makes few more rows.
std::set<std::string> memories_of_one_value(const model::Problem& problem);

/// What such a mapping breaks of the rest; nothing: it costs what the relaxation says. `mapping`:
/// in turn, `report`: its evaluation, `at_once`: ranges of its Einsums.
PipelineRelaxation missing_in(const PipelineRelaxation& known, const model::Problem& problem,
                              const mapping::Mapping& mapping, const model::Report& report,
                              const std::vector<std::pair<int, int>>& at_once);

}  // namespace tessera::ffm
