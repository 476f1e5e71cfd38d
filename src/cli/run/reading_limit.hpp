// The limits of a search hold for the reading of its inputs too.
#pragma once

#include <chrono>
#include <functional>

#include "tessera/base/budget.hpp"

namespace tessera::cli {

/// Reading has this time in any case. Small inputs need less.
constexpr auto least_reading = std::chrono::milliseconds(200);

/// Calls `read`, which stops where the readers poll (base/reading_stop.hpp) once one of the limits
/// of time, CPU time or memory is met. \throws LimitReached that names the limit
void read_within(const base::Budget& limits, const std::function<void()>& read);

}  // namespace tessera::cli
