// Whether there is any mapping at all.
#pragma once

#include "tessera/mapspace/template.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::mapspace {

/// Whether `cpu_s` seconds of CPU time of the process suffice to prove that no mapping is legal.
/// False: there is one, or it is not known. A stop of base::current_stop() ends it earlier. Costs
/// play no part.
/// \pre model.has_formulas()
/// \throws UserError for an architecture that does not evaluate
/// Thread rule: pure.
bool proves_infeasible(const model::Problem& problem, const model::CostModel& model,
                       const MapSpaceOptions& options, double cpu_s);

}  // namespace tessera::mapspace
