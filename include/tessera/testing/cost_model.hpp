// Contract kit for cost models (include/tessera/model/cost_model.hpp).
#pragma once

#include "tessera/testing/contract.hpp"

namespace tessera::testing {

/// `name`: a registered cost model.
std::vector<Check> cost_model_checks(const std::string& name, const Settings& settings);

}  // namespace tessera::testing
