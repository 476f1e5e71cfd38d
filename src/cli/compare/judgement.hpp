// What a mapping is worth, whoever found it: the model's numbers, once the checker has no
// objection.
#pragma once

#include "tessera/mapper/mapper.hpp"

namespace tessera::cli {

/// \throws IllegalMapping
model::Report judged(const model::Problem& problem, const model::CostModel& model,
                     const mapping::Mapping& mapping);

/// The same for a mapper's solution, whose own account must agree up to rounding.
/// \throws IllegalMapping, PluginError
model::Report judged(const model::Problem& problem, const model::CostModel& model,
                     const mapper::Solution& solution, mapper::Metric metric);

}  // namespace tessera::cli
