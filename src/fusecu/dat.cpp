#include "tessera/fusecu/dat.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "lattice.hpp"

namespace tessera::fusecu {

namespace {

// Divisors of a size that are at least `min_tile`, or the size itself; ascending.
std::vector<std::int64_t> tiles_of(std::int64_t size, std::int64_t min_tile) {
    check_size(size);
    if (min_tile < 1) {
        throw std::invalid_argument("least tile is " + std::to_string(min_tile) +
                                    "; expected 1 or more");
    }
    std::vector<std::int64_t> found;
    for (std::int64_t n = 1; n <= size; ++n) {
        if (size % n == 0 && n >= std::min(min_tile, size)) {
            found.push_back(n);
        }
    }
    return found;
}

}  // namespace

std::optional<MatmulTiling> dat_matmul(const Sizes& sizes, std::int64_t buffer_words,
                                       std::int64_t min_tile) {
    std::array<std::vector<std::int64_t>, 3> tiles;
    for (std::size_t d = 0; d < 3; ++d) {
        tiles[d] = tiles_of(sizes[d], min_tile);
    }
    std::optional<MatmulTiling> best;
    for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t a = (c + 1) % 3;
        const std::size_t b = (c + 2) % 3;
        MatmulTiling t;
        t.innermost = static_cast<Rank>(c);
        t.tile[c] = tiles[c].front();  // a larger one only takes room
        for (const std::int64_t t_a : tiles[a]) {
            t.tile[a] = t_a;
            for (const std::int64_t t_b : tiles[b]) {
                t.tile[b] = t_b;
                t.used_words = footprint_words(t.tile);
                if (t.used_words > buffer_words) {
                    break;
                }
                t.traffic_words = sizes[a] * sizes[b];
                for (const std::size_t d : {a, b}) {
                    const std::int64_t n = sizes[d] / t.tile[d];
                    const std::int64_t accesses = static_cast<Rank>(d) == Rank::k ? 2 * n - 1 : n;
                    t.traffic_words += sizes[(d + 1) % 3] * sizes[(d + 2) % 3] * accesses;
                }
                if (!best || t.traffic_words < best->traffic_words ||
                    (t.traffic_words == best->traffic_words && t.used_words < best->used_words)) {
                    best = t;
                }
            }
        }
    }
    return best;
}

std::optional<std::int64_t> dat_pair_words(const PairSizes& sizes, std::int64_t buffer_words,
                                           std::int64_t min_tile) {
    std::for_each(sizes.begin(), sizes.end(), check_size);
    const std::int64_t t_m = tiles_of(sizes[0], min_tile).front();
    const std::int64_t l = sizes[2];
    for (const std::int64_t other : {sizes[1], sizes[3]}) {
        if (other * l + t_m * other + t_m * l > buffer_words) {
            return std::nullopt;
        }
    }
    return (sizes[0] + l) * (sizes[1] + sizes[3]);
}

}  // namespace tessera::fusecu
