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

/// Whether a divides b, of whole numbers from 1 to 2^31 - 1: tile shapes. Thread rule: pure.
inline bool divides(double a, double b) {
    // Half as wide numbers divide faster.
    return static_cast<std::uint32_t>(b) % static_cast<std::uint32_t>(a) == 0;
}

}  // namespace tessera::base
