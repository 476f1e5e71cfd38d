// Random mapping problems of every kind: small enough to be solved in well under a second.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/random.hpp"
#include "transformation/problem.hpp"

namespace tessera::transformation {

using oracle::Random;

/// Every family that random_problem() draws from.
const std::vector<std::string>& families();

/// What of the hardware and of the constraints is counted: "toll", "network", "reuse", ...
std::vector<std::string> features(const Problem& problem);

/// The same seed gives the same problem on every machine.
Problem random_problem(std::uint64_t seed);

/// Fills family, bounds and Einsums. `families()[family]`.
void draw_workload(Problem& problem, int family, Random& r);
/// Fills components. \pre the workload is drawn
void draw_hardware(Problem& problem, Random& r);

}  // namespace tessera::transformation
