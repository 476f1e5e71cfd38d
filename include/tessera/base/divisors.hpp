// Divisors of a number.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::base {

/// Ascending; empty for n < 1. Takes the square root of n in steps at most, and few where all prime
/// factors are small. Thread rule: pure.
std::vector<std::int64_t> divisors(std::int64_t n);

/// Distinct and ascending; otherwise the same.
std::vector<std::int64_t> prime_factors(std::int64_t n);

}  // namespace tessera::base
