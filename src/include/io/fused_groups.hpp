#pragma once

#include <string>
#include <vector>

#include "tessera/mapping/pmapping.hpp"

namespace tessera::io {

/// The Einsums that are fused, in execution order; groups of one are left out. Two Einsums are in
/// one group if they run inside a common loop, or if one hands an intermediate to the other in a
/// memory below the outermost one. `einsums`: a whole mapping, split.
std::vector<std::vector<std::string>> fused_groups(
    const std::vector<mapping::EinsumMapping>& einsums);

}  // namespace tessera::io
