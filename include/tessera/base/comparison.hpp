// How a number has to compare with a limit. Thread rule: pure.
#pragma once

#include <cstdint>

namespace tessera::base {

enum class Comparison : std::uint8_t { equal, less_equal, greater_equal, less, greater };

/// left <comparison> right
constexpr bool holds(Comparison comparison, double left, double right) {
    switch (comparison) {
        case Comparison::equal:
            return left == right;
        case Comparison::less_equal:
            return left <= right;
        case Comparison::greater_equal:
            return left >= right;
        case Comparison::less:
            return left < right;
        default:
            return left > right;
    }
}

/// As people write it.
constexpr const char* sign_of(Comparison comparison) {
    constexpr const char* signs[] = {"==", "<=", ">=", "<", ">"};
    return signs[static_cast<int>(comparison)];
}

}  // namespace tessera::base
