// Comparing costs and Pareto sets: equal but for rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "oracle/oracle_tree.hpp"

namespace tessera::oracle {

constexpr double kRelative = 1e-9;

/// Infinite: only to itself.
inline bool close(double a, double b) {
    const double apart = std::abs(a - b);
    return a == b ||
           (std::isfinite(apart) && apart <= kRelative * std::max(std::abs(a), std::abs(b)));
}

// Leaves out points that another one dominates but for rounding.
inline std::vector<Point> without_ties(const std::vector<Point>& points) {
    const auto below = [](double a, double b) { return a <= b || close(a, b); };
    std::vector<Point> kept;
    for (std::size_t i = 0; i < points.size(); ++i) {
        bool dominated = false;
        for (std::size_t j = 0; j < points.size(); ++j) {
            const Point &p = points[i], &q = points[j];
            const bool better = !close(q.energy_j, p.energy_j) || !close(q.latency_s, p.latency_s);
            const bool as_good = below(q.energy_j, p.energy_j) && below(q.latency_s, p.latency_s);
            dominated = dominated || (i != j && as_good && (better || j < i));
        }
        if (!dominated) {
            kept.push_back(points[i]);
        }
    }
    return kept;
}

/// Of the points that are least by one metric, the least of the later one (energy of latency,
/// latency of energy).
inline double least_later(const std::vector<Point>& points, bool of_energy) {
    const auto first = [&](const Point& p) { return of_energy ? p.energy_j : p.latency_s; };
    const auto later = [&](const Point& p) { return of_energy ? p.latency_s : p.energy_j; };
    double least = HUGE_VAL, out = HUGE_VAL;
    for (const Point& p : points) {
        least = std::min(least, first(p));
    }
    for (const Point& p : points) {
        out = close(first(p), least) ? std::min(out, later(p)) : out;
    }
    return out;
}

inline std::string text(const std::vector<Point>& points) {
    std::string all;
    for (const auto& p : points) {
        all += " (" + std::to_string(p.energy_j) + ", " + std::to_string(p.latency_s) + ")";
    }
    return all;
}

inline bool same_points(const std::vector<Point>& a, const std::vector<Point>& b) {
    return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Point& p) {
               return std::any_of(b.begin(), b.end(), [&](const Point& q) {
                   return close(p.energy_j, q.energy_j) && close(p.latency_s, q.latency_s);
               });
           });
}

}  // namespace tessera::oracle
