// Which of two incumbents is the better one.
#pragma once

#include <string>
#include <vector>

#include "tessera/telemetry/recorder.hpp"

namespace tessera::telemetry {

/// By the first of several metrics; of one metric, the later metric decides between equal values.
bool is_better(const std::vector<std::string>& metrics, const Incumbent& a, const Incumbent& b);

}  // namespace tessera::telemetry
