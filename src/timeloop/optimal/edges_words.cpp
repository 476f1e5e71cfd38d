// The words that an edge carries: whole tiles, sliding windows, steps that cancel, neighbours that
// forward. Section 4 of docs/timeloop-search.md.
#include <algorithm>
#include <cmath>

#include "timeloop/optimal/edges.hpp"

namespace tessera::timeloop {

double Edges::full_words(const Edge& edge, std::size_t y) const {
    std::int64_t extents[32];
    double iterations = 1;
    const std::int64_t* inside = spatial_inside(edge.child);
    for (int d = 0; d < g_.dimensions; ++d) {
        const std::int64_t value = lattice_.value(y, d);
        extents[d] = value * inside[d];
        iterations *= static_cast<double>(lattice_.divisors[d].back() / value);
    }
    return g_.spaces[edge.space].tile(extents) * iterations * edge.child_instances;
}

bool Edges::linked(const Edge& edge, std::size_t y) const {
    const SpaceShape& shape = g_.spaces[edge.space];
    if (!shape.sliding || !g_.links) {
        return false;
    }
    for (int level = edge.child + 1; level <= edge.parent; ++level) {
        const std::int64_t* factor = &choice_.factor[level * g_.dimensions];
        const std::int64_t* before = level ? spatial_inside(level - 1) : nullptr;
        for (const RankShape& rank : shape.ranks) {
            if (!rank.sliding()) {
                continue;
            }
            // Spatial span of the block, and the smallest step in time.
            std::int64_t span = 0, step = INT64_MAX;
            DimensionMask spread = 0, moving = 0;
            for (int d = 0; d < g_.dimensions; ++d) {
                const std::int64_t c = rank.coefficient[d], x = lattice_.value(y, d);
                if (c == 0) {
                    continue;
                }
                const std::int64_t tile = lattice_.divisors[d].back() * (before ? before[d] : 1);
                if (factor[d] > 1) {
                    spread |= DimensionMask{1} << d;
                    span += c * tile * (factor[d] - 1);
                }
                if (x < lattice_.divisors[d].back()) {
                    moving |= DimensionMask{1} << d;
                    step = std::min(step, c * x * inside_next(level, d));
                }
            }
            const DimensionMask both = spread | moving;
            const bool one = (both & (both - 1)) == 0;
            const bool steps_differ = (moving & (moving - 1)) != 0;
            if (!one && moving != 0 && (steps_differ || step <= span)) {
                return true;
            }
        }
    }
    return false;
}

bool Edges::coincident(const Edge& edge, std::size_t y, int d, std::int64_t n, int level,
                       bool fresh) const {
    const std::int64_t rest = lattice_.divisors[d].back() / lattice_.value(y, d);
    for (const RankShape& rank : g_.spaces[edge.space].ranks) {
        if (!rank.sliding() || !(rank.dimensions >> d & 1)) {
            continue;
        }
        const std::int64_t step =
            rank.coefficient[d] * lattice_.value(y, d) * inside_next(level, d);
        const std::int64_t reach = rank.coefficient[d] * g_.bounds[d];
        int others = 0;
        bool close = false, divides = false;
        for (int other = 0; other < g_.dimensions; ++other) {
            const std::int64_t c = rank.coefficient[other], x = lattice_.value(y, other);
            if (other == d || c == 0 || x == lattice_.divisors[other].back()) {
                continue;
            }
            // Equal sums of steps need each side to reach the other's smallest step. Blocks further
            // out only lengthen steps.
            const std::int64_t its = c * x * inside_next(level, other);
            close |= step <= 2 * c * g_.bounds[other] && its <= 2 * reach;
            // With one loop over d, its single step (twice: the stride goes on) must be a multiple.
            divides |= step % its == 0 || (fresh && 2 * step % its == 0);
            ++others;
        }
        if (others == 1 && rest == n ? divides : close) {
            return true;
        }
    }
    return false;
}

double Edges::sliding_words(const Edge& edge, std::size_t y, int d, std::int64_t n,
                            int level) const {
    const SpaceShape& shape = g_.spaces[edge.space];
    const std::int64_t* inside = spatial_inside(edge.child);
    double tile = 1, overlap = 1;
    double longest = static_cast<double>(n);
    const std::int64_t rest = lattice_.divisors[d].back() / lattice_.value(y, d);
    bool others = false;
    double remaining = static_cast<double>(rest);
    for (const RankShape& rank : shape.ranks) {
        std::int64_t extent = 1;
        for (int k = 0; k < g_.dimensions; ++k) {
            extent += rank.coefficient[k] * (lattice_.value(y, k) * inside[k] - 1);
            const std::int64_t left = lattice_.divisors[k].back() / lattice_.value(y, k);
            if (k != d && rank.coefficient[k] && rank.dimensions >> d & 1 && left > 1) {
                others = true;
                remaining *= static_cast<double>(left);
            }
        }
        const std::int64_t step =
            rank.coefficient[d] * lattice_.value(y, d) * spatial_inside(level)[d];
        tile *= static_cast<double>(extent);
        overlap *= static_cast<double>(std::max<std::int64_t>(0, extent - step));
    }
    const double full = full_words(edge, y);
    if (overlap == 0) {
        return full;
    }
    // Steps of an outer loop may continue the same stride: after two steps of this loop, or along
    // another dimension of the rank.
    if ((others && coincident(edge, y, d, n, level, true)) || (n == 2 && rest > n)) {
        longest = remaining;
    }
    return full * (tile + (longest - 1) * (tile - overlap)) / (longest * tile);
}

double Edges::closure(const Edge& edge, std::size_t y, int d, std::int64_t n, int level,
                      bool fresh) const {
    const SpaceShape& shape = g_.spaces[edge.space];
    if (!shape.sliding) {
        return cost(edge, full_words(edge, y), false);
    }
    const bool forwarded = linked(edge, y), slide = fresh && shape.slides(d);
    const bool neighbours = g_.links && edge.multicast_linked > 1;
    double words = slide ? sliding_words(edge, y, d, n, level) : full_words(edge, y);
    // A step of an outer loop may lead back to where the tile is: it stays, or, where the stride
    // changed, neighbours have it.
    if ((!slide || neighbours) && coincident(edge, y, d, n, level, fresh)) {
        const double once = std::min(words, shape.distinct * edge.multicast);
        words = std::max(once, words * static_cast<double>(n - 1) / static_cast<double>(n));
    }
    return cost(edge, words, forwarded);
}

}  // namespace tessera::timeloop
