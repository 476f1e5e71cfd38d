#pragma once

#include <string>
#include <vector>

#include "tessera/mapping/mapping.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::io {

/// The Einsums that are fused, in execution order; groups of one are left out. Two Einsums are in
/// one group if they run inside a common loop, or if one hands an intermediate to the other in a
/// memory below the outermost one. \throws what mapping::split() throws.
std::vector<std::vector<std::string>> fused_groups(const model::Problem& problem,
                                                   const mapping::Mapping& mapping);

}  // namespace tessera::io
