// Timeloop's conversions between counters and real numbers.
#pragma once

#include <cmath>
#include <cstdint>

namespace tessera::timeloop {

inline constexpr double two63 = 9223372036854775808.0;

/// A double stored in an unsigned counter as x86 does it: negative values wrap around.
inline std::uint64_t counter(double value) {
    if (value < two63) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    }
    return value < 2 * two63 ? static_cast<std::uint64_t>(value) : 0;
}

inline double real(std::uint64_t count) {
    return static_cast<double>(count);
}

/// Half away from zero. Counts are whole most of the time: no call into the maths library then.
inline double round_away(double value) {
    constexpr double exact = 4503599627370496.0;  // 2^52
    if (value > -exact && value < exact &&
        value == static_cast<double>(static_cast<std::int64_t>(value))) {
        return value;
    }
    return std::round(value);
}

/// `a * b / c` in integers.
inline std::uint64_t portion(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    // Quotients of integers below 2^52 cannot round up to the next integer.
    const std::uint64_t product = a * b;
    return product < (std::uint64_t{1} << 52) ? static_cast<std::uint64_t>(real(product) / real(c))
                                              : product / c;
}

}  // namespace tessera::timeloop
