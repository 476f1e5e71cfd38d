// Partial last tiles leave computes without work.
#pragma once

#include "tessera/mapping/pmapping.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::model {

/// Computes over what the instances that are in use on average (ComponentReport::spatial_usage)
/// could do in all steps, as cost model looptree counts them. 1 unless tiles are partial. Less
/// where the last iteration of a loop leaves steps without work; more or less where the partial
/// tiles of one variable are spread over several dimensions.
/// \pre `einsum` is a mapping that looptree evaluates. Thread rule: pure.
double working_share(const mapping::EinsumMapping& einsum, arch::Compat compat);

}  // namespace tessera::model
