// Energy and latency together, in parts of a known mapping's, added up. Each of them is least in
// other pmappings, and what one pmapping has of both adds up over Einsums like each of them does:
// it tells that not both can be least at once. See docs/ffm-proofs.md, 2.24.
#pragma once

#include <algorithm>
#include <array>

#include "tessera/mapspace/relaxed_join.hpp"

namespace tessera::mapspace {

/// Thread rule: any.
struct ScalarisedBound {
    CostPoint unit{};  ///< costs of the known mapping; 0: not in use

    bool used() const {
        return unit[0] > 0 && unit[1] > 0;
    }

    double of(const CostPoint& p) const {
        return p[0] / unit[0] + p[1] / unit[1];
    }

    /// Costs that are nowhere below `p` and whose sum is at least `scalarised` are a quadrant with
    /// its corner cut off: an increasing function that is least at the ends of straight lines, such
    /// as the product, is least in one of the two vertices. Twice `p` if nothing is cut off.
    std::array<CostPoint, 2> vertices(const CostPoint& p, double scalarised) const {
        if (!used() || of(p) >= scalarised) {
            return {p, p};
        }
        return {{{p[0], (scalarised - p[0] / unit[0]) * unit[1]},
                 {(scalarised - p[1] / unit[1]) * unit[0], p[1]}}};
    }

    double least_product(const CostPoint& p, double scalarised) const {
        const auto [a, b] = vertices(p, scalarised);
        return std::min(a[0] * a[1], b[0] * b[1]);
    }

    /// The vertices of all points.
    CostFront cut(const CostFront& front, double scalarised) const {
        CostFront out;
        for (const CostPoint& p : front) {
            for (const CostPoint& vertex : vertices(p, scalarised)) {
                add_to_front(out, vertex);
            }
        }
        return out;
    }
};

}  // namespace tessera::mapspace
