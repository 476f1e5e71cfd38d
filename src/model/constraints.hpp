#pragma once

#include <string>
#include <vector>

#include "model/analysis/einsum_analysis.hpp"

namespace tessera::model {

/// Mapper constraints of the architecture that a given mapping does not meet, one text each, naming
/// the constraint, both sides and its line. They bind mappers, not evaluation, so they are
/// warnings.
std::vector<std::string> constraint_warnings(const EinsumAnalysis& einsum);

}  // namespace tessera::model
