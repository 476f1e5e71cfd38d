#pragma once

#include <string>

#include "timeloop/input.hpp"

namespace tessera::timeloop {

/// The libconfig input without `mapper` and `mapspace`, with the mapping instead (none: without).
std::string config_with_mapping(const Input& input, const Mapping* mapping);

}  // namespace tessera::timeloop
