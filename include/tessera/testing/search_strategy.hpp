// Contract kit for search strategies (include/tessera/search/strategy.hpp).
#pragma once

#include "tessera/testing/contract.hpp"

namespace tessera::testing {

/// `name`: a registered strategy.
std::vector<Check> search_strategy_checks(const std::string& name, const Settings& settings);

}  // namespace tessera::testing
