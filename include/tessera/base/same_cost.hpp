// When two costs are equal, and which of two mappings is the better one: the only place that says
// so. One metric is compared first; where it is equal, its later metric decides
// (mapper/metric.hpp). Thread rule: any.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::base {

/// Costs that differ by no more than this share are equal: sums of the same addends in different
/// orders.
inline constexpr double same_cost_share = 1e-9;

inline bool same_cost(double a, double b) {
    // A share of infinity is infinity: nothing but infinity itself is equal to it.
    const double larger = std::max(std::abs(a), std::abs(b));
    return a == b || (std::isfinite(larger) && std::abs(a - b) <= same_cost_share * larger);
}

/// The highest cost that is equal to `cost`, which is not negative; above 0.
inline double most_of_same_cost(double cost) {
    return std::max(cost * (1 + same_cost_share), std::numeric_limits<double>::min());
}

/// What a mapping costs by a metric, and by its later metric.
struct Cost {
    double first = std::numeric_limits<double>::infinity();
    double later = std::numeric_limits<double>::infinity();
};

/// NaN, a cost that a model does not count, is never better.
inline bool better(const Cost& a, const Cost& b) {
    return same_cost(a.first, b.first) ? a.later < b.later && !same_cost(a.later, b.later)
                                       : a.first < b.first;
}

}  // namespace tessera::base
