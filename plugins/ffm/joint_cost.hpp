// Energy and latency together: both in parts of a known mapping's, added up. Energy and latency
// are each least in different pmappings. What one pmapping has of both adds up over Einsums like
// each of them does, and says that not both can be least: of all costs that are nowhere below a
// point and jointly at least so much, two corners have the least product. See docs/ffm.md, 2.24.
#pragma once

#include <algorithm>

#include "tessera/mapspace/relaxed_join.hpp"

namespace tessera::ffm {

struct JointCost {
    std::array<double, 2> unit{};  ///< costs of the known mapping; 0: not in use

    bool used() const {
        return unit[0] > 0 && unit[1] > 0;
    }
    double of(const mapspace::CostPoint& p) const {
        return p[0] / unit[0] + p[1] / unit[1];
    }
    /// The corners of what is nowhere below `p` and jointly at least `joint`.
    std::array<mapspace::CostPoint, 2> corners(const mapspace::CostPoint& p, double joint) const {
        if (!used() || of(p) >= joint) {
            return {p, p};
        }
        return {{{p[0], (joint - p[0] / unit[0]) * unit[1]},
                 {(joint - p[1] / unit[1]) * unit[0], p[1]}}};
    }
    double least_product(const mapspace::CostPoint& p, double joint) const {
        const auto [a, b] = corners(p, joint);
        return std::min(a[0] * a[1], b[0] * b[1]);
    }
    /// For every point its corners.
    mapspace::CostFront cut(const mapspace::CostFront& front, double joint) const {
        mapspace::CostFront out;
        for (const mapspace::CostPoint& p : front) {
            for (const mapspace::CostPoint& corner : corners(p, joint)) {
                mapspace::add_to_front(out, corner);
            }
        }
        return out;
    }
};

}  // namespace tessera::ffm
