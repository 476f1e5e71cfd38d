// FFM on model `traffic` against all LoopTrees of a matrix product on one buffer, and the exact
// solver against those of them that have one tile size per rank.
//
// A tree keeps A, B and C in some order, with loops above each: a rank has a tile at each of the
// three places, each the tile above it or, split, a smaller one. Words moved are |X| times the
// passes over the rank that X does not have, at the place of X.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <random>
#include <set>

#include "one_buffer.hpp"
#include "tessera/fusecu.hpp"

using namespace fusecu_test;

namespace {

using Tiles = std::array<std::int64_t, 3>;  // of one rank, at the three places

std::int64_t passes(std::int64_t size, std::int64_t tile) {
    return (size + tile - 1) / tile;
}

/// The tiles of the outermost loop over a rank (docs/mapspace.md, L6): for a divisor d and a trip
/// count, the smallest multiple of d.
std::set<std::int64_t> outer_tiles(std::int64_t size) {
    std::set<std::int64_t> tiles;
    for (std::int64_t d = 1; d <= size; ++d) {
        for (std::int64_t trips = 1; size % d == 0 && trips <= size / d; ++trips) {
            tiles.insert(d * passes(size / d, trips));
        }
    }
    return tiles;
}

/// A loop further in divides the tile around it.
std::vector<Tiles> all_tiles(std::int64_t size) {
    std::set<Tiles> found;
    const auto inside = [&](std::int64_t tile) {
        std::set<std::int64_t> tiles;
        if (tile == size) {
            return outer_tiles(size);
        }
        for (std::int64_t t = 1; t <= tile; ++t) {
            if (tile % t == 0) {
                tiles.insert(t);
            }
        }
        return tiles;
    };
    for (const std::int64_t first : inside(size)) {
        for (const std::int64_t second : inside(first)) {
            for (const std::int64_t third : inside(second)) {
                found.insert({first, second, third});
            }
        }
    }
    return {found.begin(), found.end()};
}

/// One tile size per rank, in any way that splits it; the innermost loop stands below the tensor
/// without its rank, which is kept at the first place.
std::vector<Tiles> uniform_tiles(std::int64_t size, bool innermost) {
    std::vector<Tiles> found;
    for (std::int64_t tile = 1; tile <= size; ++tile) {
        found.push_back({innermost ? size : tile, tile, tile});
    }
    return found;
}

/// The fewest words of a tree whose ranks M, K, L have these tiles and which keeps `order[i]` at
/// place i; tensors are named by the rank that they do not have.
std::int64_t least(const fusecu::Sizes& d, const std::array<std::vector<Tiles>, 3>& tiles,
                   const std::array<std::size_t, 3>& order, std::int64_t buffer_words) {
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (const Tiles& m : tiles[0]) {
        for (const Tiles& k : tiles[1]) {
            for (const Tiles& l : tiles[2]) {
                const std::array<const Tiles*, 3> tile{&m, &k, &l};
                std::int64_t used = 0, words = 0;
                for (std::size_t place = 0; place < 3; ++place) {
                    const std::size_t x = order[place], a = (x + 1) % 3, b = (x + 2) % 3;
                    used += (*tile[a])[place] * (*tile[b])[place];
                    words += d[a] * d[b] * passes(d[x], (*tile[x])[place]);
                }
                if (used <= buffer_words) {
                    best = std::min(best, words);
                }
            }
        }
    }
    return best;
}

std::int64_t least_of_all_trees(const fusecu::Sizes& d, std::int64_t buffer_words) {
    const std::array<std::vector<Tiles>, 3> tiles{all_tiles(d[0]), all_tiles(d[1]),
                                                  all_tiles(d[2])};
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    std::array<std::size_t, 3> order{0, 1, 2};
    do {
        best = std::min(best, least(d, tiles, order, buffer_words));
    } while (std::next_permutation(order.begin(), order.end()));
    return best;
}

std::int64_t least_of_uniform_trees(const fusecu::Sizes& d, std::int64_t buffer_words) {
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (std::size_t c = 0; c < 3; ++c) {
        std::array<std::vector<Tiles>, 3> tiles;
        for (std::size_t v = 0; v < 3; ++v) {
            tiles[v] = uniform_tiles(d[v], v == c);
        }
        best = std::min(best, least(d, tiles, {c, (c + 1) % 3, (c + 2) % 3}, buffer_words));
    }
    return best;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ffm_moves_the_fewest_words_of_all_trees_and_the_exact_solver_of_uniform_ones) {
    std::mt19937 random(7);
    std::uniform_int_distribution<std::int64_t> size(1, 12), buffer(3, 120);
    int fewer = 0, equal = 0;
    for (int i = 0; i < 700; ++i) {
        const fusecu::Sizes d{size(random), size(random), size(random)};
        const std::int64_t limit = buffer(random);
        BOOST_TEST_CONTEXT(d[0] << " " << d[1] << " " << d[2] << " in " << limit) {
            const std::int64_t exact = fusecu::exact_matmul(d, limit)->traffic_words;
            BOOST_TEST(exact == least_of_uniform_trees(d, limit));
            const tessera::Result ffm = mapped(chain_text(d[0], {d[1], d[2]}), limit, "ffm");
            BOOST_TEST((ffm.status == mapper::Status::optimal));
            BOOST_TEST(words(ffm) == least_of_all_trees(d, limit));
            fewer += words(ffm) < exact ? 1 : 0;
            equal += words(ffm) == exact ? 1 : 0;
        }
    }
    BOOST_TEST(fewer > 0);
    BOOST_TEST(equal >= 500);
    BOOST_TEST_MESSAGE("FFM moves fewer words in " << fewer << ", as many in " << equal);
}
