// Contract kit for mappers (include/tessera/mapper/mapper.hpp).
#pragma once

#include "tessera/testing/contract.hpp"

namespace tessera::testing {

/// `name`: a registered mapper.
std::vector<Check> mapper_checks(const std::string& name, const Settings& settings);

}  // namespace tessera::testing
