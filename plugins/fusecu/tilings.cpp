#include "tilings.hpp"

#include <algorithm>

namespace tessera::fusecu_mapper {

namespace {

/// Of a group of many variables only this many shapes are looked at.
constexpr std::size_t max_shapes = 1U << 16U;

std::int64_t quotient(std::int64_t size, std::int64_t tile) {
    return (size + tile - 1) / tile;
}

/// Tile shapes of one variable, each the smallest with its passes.
std::vector<std::int64_t> shapes_of(std::int64_t size, bool partial) {
    std::vector<std::int64_t> shapes;
    for (std::int64_t tile = 1; tile <= size;) {
        if (partial) {
            shapes.push_back(tile);
            const std::int64_t passes = quotient(size, tile);
            // The smallest tile of fewer passes.
            tile = passes == 1 ? size + 1 : quotient(size, passes - 1);
        } else {
            if (size % tile == 0) {
                shapes.push_back(tile);
            }
            // Divisors come in pairs; below the root they are tried one by one.
            ++tile;
            if (tile > size / tile) {
                break;
            }
        }
    }
    if (!partial) {
        for (std::size_t i = shapes.size(); i-- > 0;) {
            shapes.push_back(size / shapes[i]);
        }
        std::sort(shapes.begin(), shapes.end());
        shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
    }
    return shapes;
}

void keep_best(std::vector<Tile>& tiles) {
    std::sort(tiles.begin(), tiles.end(), [](const Tile& a, const Tile& b) {
        return a.size != b.size       ? a.size < b.size
               : a.passes != b.passes ? a.passes < b.passes
                                      : a.shape < b.shape;
    });
    std::vector<Tile> kept;
    for (Tile& tile : tiles) {
        if (kept.empty() || tile.passes < kept.back().passes) {
            kept.push_back(std::move(tile));
        }
    }
    tiles = std::move(kept);
}

/// The largest tile of at most that size; null: none.
const Tile* largest(const std::vector<Tile>& tiles, std::int64_t size) {
    const auto above = std::upper_bound(tiles.begin(), tiles.end(), size,
                                        [](std::int64_t s, const Tile& t) { return s < t.size; });
    return above == tiles.begin() ? nullptr : &*(above - 1);
}

class Solver {
public:
    Solver(const Product& product, std::int64_t buffer_words, bool partial)
        : product_(product), buffer_(buffer_words) {
        for (std::size_t r = 0; r < 3; ++r) {
            tiles_[r] = tiles_of(product.ranks[r], partial);
        }
    }

    void exact() {
        for (std::size_t c = 0; c < 3; ++c) {
            const std::size_t a = (c + 1) % 3, b = (c + 2) % 3;
            for (const Tile& tile : tiles_[a]) {
                if (const Tile* other = largest(tiles_[b], room(tile.size))) {
                    take(c, a, tile, *other);
                }
            }
        }
    }

    /// Tiles no larger than those given.
    void near(const fusecu::MatmulTiling& wanted) {
        const auto c = static_cast<std::size_t>(wanted.innermost);
        const std::size_t a = (c + 1) % 3, b = (c + 2) % 3;
        const Tile* first = largest(tiles_[a], wanted.tile[a]);
        const Tile* second = largest(tiles_[b], wanted.tile[b]);
        if (first != nullptr && second != nullptr) {
            take(c, a, *first, *second);
        }
    }

    std::optional<Tiling> best() const {
        return best_;
    }

private:
    /// With one rank's tile of `size`, the other's.
    std::int64_t room(std::int64_t size) const {
        return (buffer_ - size) / (size + 1);
    }

    void take(std::size_t c, std::size_t a, const Tile& tile, const Tile& other) {
        const std::size_t b = 3 - c - a;
        Tiling t;
        t.used_words = tile.size * other.size + tile.size + other.size;
        if (t.used_words > buffer_) {
            return;
        }
        t.innermost = c;
        t.tile[a] = tile;
        t.tile[b] = other;
        t.nra_class = 1 + (tile.passes == 1) + (other.passes == 1);
        t.traffic_words =
            product_.words(c) + product_.words(a) * tile.passes + product_.words(b) * other.passes;
        if (!best_ || t.traffic_words < best_->traffic_words ||
            (t.traffic_words == best_->traffic_words && t.used_words < best_->used_words)) {
            best_ = t;
        }
    }

    const Product& product_;
    std::int64_t buffer_;
    std::array<std::vector<Tile>, 3> tiles_;
    std::optional<Tiling> best_;
};

/// Words that the tiles of a fused pair take beside the tile of C: constant, and per element of
/// the tile of L.
struct Need {
    std::int64_t constant = 0, slope = 0;

    Need operator+(const Need& o) const {
        return {constant + o.constant, slope + o.slope};
    }
    std::int64_t at(std::int64_t tile_l) const {
        return constant + slope * tile_l;
    }
};

class PairSolver {
public:
    PairSolver(const Group& m, std::int64_t k, const Group& l, std::int64_t n, bool partial)
        : m_(tiles_of(m, partial)), l_(tiles_of(l, partial)), size_{m.size(), k, l.size(), n} {}

    std::optional<FusedTiling> best(std::int64_t buffer_words, fusecu::Capacity capacity) {
        std::optional<FusedTiling> best;
        for (unsigned choice = 0; choice < 8; ++choice) {
            for (const Tile& m : m_) {
                FusedTiling t;
                t.m_outer = (choice & 1U) != 0;
                t.retains_k = (choice & 2U) != 0;
                t.retains_n = (choice & 4U) != 0;
                t.m = m;
                if (!fill(t, buffer_words, capacity)) {
                    continue;
                }
                if (!best || t.traffic_words < best->traffic_words ||
                    (t.traffic_words == best->traffic_words && t.used_words < best->used_words)) {
                    best = t;
                }
            }
        }
        return best;
    }

private:
    bool fill(FusedTiling& t, std::int64_t buffer, fusecu::Capacity capacity) const {
        const std::int64_t k = t.retains_k ? size_[1] : 1, n = t.retains_n ? size_[3] : 1;
        const Need a{t.m.size * (t.m_outer ? k : 1), 0}, b{0, t.m_outer ? 1 : k};
        const Need e{t.m.size * (t.m_outer ? n : 1), 0}, d{0, t.m_outer ? 1 : n};
        Need stays{0, t.m.size}, first, second;
        (t.m_outer && t.retains_k ? stays : first) = (t.m_outer && t.retains_k ? stays : first) + a;
        (!t.m_outer && t.retains_k ? stays : first) =
            (!t.m_outer && t.retains_k ? stays : first) + b;
        (t.m_outer && t.retains_n ? stays : second) =
            (t.m_outer && t.retains_n ? stays : second) + e;
        (!t.m_outer && t.retains_n ? stays : second) =
            (!t.m_outer && t.retains_n ? stays : second) + d;
        const bool both = capacity == fusecu::Capacity::coresident;
        const auto used = [&](std::int64_t l) {
            const std::int64_t one = first.at(l), two = second.at(l);
            return stays.at(l) + (both ? one + two : std::max(one, two));
        };
        // The largest tile of L that fits: what is used grows with it.
        const auto above = std::partition_point(
            l_.begin(), l_.end(), [&](const Tile& l) { return used(l.size) <= buffer; });
        if (above == l_.begin()) {
            return false;
        }
        t.l = *(above - 1);
        t.used_words = used(t.l.size);
        const std::int64_t n_m = t.m.passes, n_l = t.l.passes;
        t.traffic_words = size_[0] * size_[1] * (t.m_outer && t.retains_k ? 1 : n_l) +
                          size_[1] * size_[2] * (!t.m_outer && t.retains_k ? 1 : n_m) +
                          size_[2] * size_[3] * (!t.m_outer && t.retains_n ? 1 : n_m) +
                          size_[0] * size_[3] * (t.m_outer && t.retains_n ? 1 : n_l);
        return true;
    }

    std::vector<Tile> m_, l_;
    std::array<std::int64_t, 4> size_;
};

}  // namespace

std::vector<Tile> tiles_of(const Group& group, bool partial) {
    std::vector<Tile> tiles{{}};
    for (const std::int64_t size : group.sizes) {
        const std::vector<std::int64_t> shapes = shapes_of(size, partial);
        std::vector<Tile> longer;
        for (const Tile& tile : tiles) {
            for (const std::int64_t shape : shapes) {
                // Beyond the limit: untiled, or tiles of 1.
                if (longer.size() >= max_shapes && shape != 1 && shape != size) {
                    continue;
                }
                Tile next = tile;
                next.shape.push_back(shape);
                next.size *= shape;
                next.passes *= quotient(size, shape);
                longer.push_back(std::move(next));
            }
        }
        keep_best(longer);
        tiles = std::move(longer);
    }
    return tiles;
}

std::optional<Tiling> best_tiling(const Product& product, std::int64_t buffer_words, Rule rule,
                                  bool partial) {
    Solver solver(product, buffer_words, partial);
    if (rule == Rule::exact) {
        solver.exact();
        return solver.best();
    }
    const fusecu::Sizes sizes{product.ranks[0].size(), product.ranks[1].size(),
                              product.ranks[2].size()};
    const auto wanted = rule == Rule::polish ? fusecu::polish_matmul(sizes, buffer_words, 1)
                                             : fusecu::principles_matmul(sizes, buffer_words);
    if (wanted) {
        solver.near(*wanted);
    }
    return solver.best();
}

std::optional<FusedTiling> best_pair(const PairRanks& ranks, std::int64_t buffer_words,
                                     fusecu::Capacity capacity, bool partial) {
    return PairSolver(ranks.m, ranks.k, ranks.l, ranks.n, partial).best(buffer_words, capacity);
}

}  // namespace tessera::fusecu_mapper
