// Why a search ended without a mapping: the constraints that cannot be met together.
#pragma once

#include "tessera/mapper/mapper.hpp"

namespace tessera::api {

/// Reasons of a result that says that no mapping is legal; the mapper's own where it is not the
/// constraints, or where they are not found soon. `spent_s`: wall clock that the search took.
void explain_infeasible(const model::Problem& problem, const model::CostModel& model,
                        const mapper::Options& settings, double spent_s, mapper::Result& result);

}  // namespace tessera::api
