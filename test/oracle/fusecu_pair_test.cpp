// Fused pairs against all tile sizes, loop orders and retained tensors, their traffic counted by
// stepping through the loops; chains against all cuts.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <stdexcept>

#include "tessera/fusecu/matmul.hpp"

namespace fusecu = tessera::fusecu;
using fusecu::Capacity;

namespace {

struct Tiles {
    std::int64_t m, k, l, n;
};

/// The four tensors that move, in the order of the products: A[M,K], B[K,L], D[L,N], E[M,N].
struct Tensor {
    bool along_m;           // else along L
    std::int64_t row_size;  // all of K or N
    std::int64_t row_tile;
};

std::int64_t passes(std::int64_t size, std::int64_t tile) {
    return (size + tile - 1) / tile;
}

/// Words of a tensor that the steps of the common loops move: a retained one when its tile of M or
/// L changes, another in every step.
std::int64_t moved(const Tensor& tensor, bool retained, bool m_outer, const fusecu::PairSizes& d,
                   const Tiles& t) {
    std::int64_t words = 0, present = -1;
    const std::int64_t n_m = passes(d[0], t.m), n_l = passes(d[2], t.l);
    for (std::int64_t step = 0; step < n_m * n_l; ++step) {
        const std::int64_t m = m_outer ? step / n_l : step % n_m;
        const std::int64_t l = m_outer ? step % n_l : step / n_m;
        const std::int64_t at = tensor.along_m ? m : l;
        if (!retained || at != present) {
            const std::int64_t size = tensor.along_m ? d[0] : d[2];
            const std::int64_t tile = tensor.along_m ? t.m : t.l;
            words += std::min(tile, size - at * tile) * tensor.row_size;
        }
        present = at;
    }
    return words;
}

std::int64_t best_of_tiles(const fusecu::PairSizes& d, const Tiles& t, std::int64_t buffer,
                           Capacity capacity) {
    const std::array<Tensor, 4> tensors{
        {{true, d[1], t.k}, {false, d[1], t.k}, {false, d[3], t.n}, {true, d[3], t.n}}};
    std::int64_t best = -1;
    for (unsigned choice = 0; choice < 32; ++choice) {
        std::int64_t stays = t.m * t.l, words = 0;
        std::array<std::int64_t, 2> transient{};
        for (std::size_t i = 0; i < 4; ++i) {
            const bool retained = ((choice >> i) & 1U) != 0;
            const std::int64_t height = tensors[i].along_m ? t.m : t.l;
            (retained ? stays : transient[i / 2]) +=
                height * (retained ? tensors[i].row_size : tensors[i].row_tile);
        }
        const std::int64_t need =
            stays + (capacity == Capacity::shared ? std::max(transient[0], transient[1])
                                                  : transient[0] + transient[1]);
        if (need > buffer) {
            continue;
        }
        for (std::size_t i = 0; i < 4; ++i) {
            words += moved(tensors[i], ((choice >> i) & 1U) != 0, (choice & 16U) != 0, d, t);
        }
        best = best < 0 ? words : std::min(best, words);
    }
    return best;
}

std::int64_t brute_force(const fusecu::PairSizes& d, std::int64_t buffer, Capacity capacity) {
    std::int64_t best = -1;
    Tiles t{};
    for (t.m = 1; t.m <= d[0]; ++t.m) {
        for (t.k = 1; t.k <= d[1]; ++t.k) {
            for (t.l = 1; t.l <= d[2]; ++t.l) {
                for (t.n = 1; t.n <= d[3]; ++t.n) {
                    const std::int64_t words = best_of_tiles(d, t, buffer, capacity);
                    if (words >= 0 && (best < 0 || words < best)) {
                        best = words;
                    }
                }
            }
        }
    }
    return best;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fusecu_pair)

BOOST_AUTO_TEST_CASE(exact_is_the_brute_force_minimum) {
    std::mt19937 random(25);
    std::uniform_int_distribution<std::int64_t> size(1, 6);
    std::uniform_int_distribution<std::int64_t> buffer(1, 60);
    for (int i = 0; i < 2000; ++i) {
        const fusecu::PairSizes d{size(random), size(random), size(random), size(random)};
        const std::int64_t words = buffer(random);
        for (const Capacity capacity : {Capacity::shared, Capacity::coresident}) {
            const auto exact = fusecu::exact_pair(d, words, capacity);
            BOOST_REQUIRE_EQUAL(exact ? exact->traffic_words : -1, brute_force(d, words, capacity));
            if (exact) {
                BOOST_REQUIRE_LE(exact->used_words, words);
            }
        }
    }
}

// One head of attention, M = L = 1024, K = N = 64, in 65536 words: A and E (or B and D) stay with
// 342 rows each; the other two move three times.
BOOST_AUTO_TEST_CASE(attention_moves_keys_three_times) {
    const auto pair = fusecu::exact_pair({1024, 64, 1024, 64}, 65536, Capacity::shared);
    BOOST_REQUIRE(pair);
    BOOST_TEST(pair->traffic_words == (2 + 3 + 3) * 1024 * 64);
    BOOST_TEST((pair->retains_k && pair->retains_n));
    const auto alone = fusecu::exact_matmul({1024, 64, 1024}, 65536);
    BOOST_TEST(2 * alone->traffic_words == 2490368);
}

BOOST_AUTO_TEST_CASE(chain_is_the_best_cut) {
    std::mt19937 random(26);
    std::uniform_int_distribution<std::int64_t> size(1, 200);
    std::uniform_int_distribution<std::int64_t> buffer(3, 20000);
    for (int i = 0; i < 500; ++i) {
        const std::int64_t m = size(random), words = buffer(random);
        std::vector<std::int64_t> d(6);
        std::generate(d.begin(), d.end(), [&] { return size(random); });
        std::int64_t best = -1, apart = 0;
        for (unsigned cut = 0; cut < 32; ++cut) {  // bit i: product i is fused with the next
            std::int64_t sum = 0;
            bool fits = true;
            for (std::size_t p = 0; p < 5 && fits; ++p) {
                if (((cut >> p) & 1U) != 0) {
                    const auto pair = p + 1 < 5 ? fusecu::exact_pair({m, d[p], d[p + 1], d[p + 2]},
                                                                     words, Capacity::coresident)
                                                : std::nullopt;
                    fits = pair && ((cut >> (p + 1)) & 1U) == 0;
                    sum += pair ? pair->traffic_words : 0;
                    ++p;
                } else {
                    sum += fusecu::exact_matmul({m, d[p], d[p + 1]}, words)->traffic_words;
                }
            }
            best = fits && (best < 0 || sum < best) ? sum : best;
            apart = cut == 0 ? sum : apart;
        }
        const auto words_of = [&](fusecu::FuseRule rule) {
            const auto chain = fusecu::best_chain(m, d, words, Capacity::coresident, rule);
            std::int64_t sum = 0;
            std::size_t next = 0;
            for (const fusecu::ChainStep& step : chain->steps) {
                BOOST_REQUIRE_EQUAL(step.first, next);
                BOOST_REQUIRE_NE(step.pair.has_value(), step.single.has_value());
                next += step.pair ? 2 : 1;
                sum += step.traffic_words;
            }
            BOOST_REQUIRE_EQUAL(next, 5U);
            BOOST_REQUIRE_EQUAL(sum, chain->traffic_words);
            return sum;
        };
        BOOST_REQUIRE_EQUAL(words_of(fusecu::FuseRule::exact), best);
        BOOST_REQUIRE_EQUAL(words_of(fusecu::FuseRule::never), apart);
        BOOST_REQUIRE_LE(best, words_of(fusecu::FuseRule::principle_4));
        BOOST_REQUIRE_LE(words_of(fusecu::FuseRule::principle_4), apart);
    }
}

// 64 x 64 x 64 in 40 words is of class 1, 64 x 64 x 2 of class 2: only the rule `exact` fuses them.
BOOST_AUTO_TEST_CASE(principle_4_does_not_fuse_different_classes) {
    const fusecu::Sizes first{64, 64, 64}, second{64, 64, 2};
    BOOST_TEST(fusecu::nra_class(first, *fusecu::exact_matmul(first, 40)) == 1);
    BOOST_TEST(fusecu::nra_class(second, *fusecu::exact_matmul(second, 40)) == 2);
    const auto steps = [](fusecu::FuseRule rule, std::int64_t last) {
        return fusecu::best_chain(64, {64, 64, last}, 40, Capacity::shared, rule)->steps.size();
    };
    BOOST_TEST(steps(fusecu::FuseRule::principle_4, 2) == 2U);
    BOOST_TEST(steps(fusecu::FuseRule::exact, 2) == 1U);
    BOOST_TEST(steps(fusecu::FuseRule::principle_4, 64) == 1U);
}

BOOST_AUTO_TEST_CASE(what_is_out_of_range_is_refused) {
    BOOST_CHECK_THROW((void)fusecu::exact_pair({1, 1, 0, 1}, 9, Capacity::shared),
                      std::invalid_argument);
    BOOST_CHECK_THROW(
        (void)fusecu::best_chain(4, {4}, 9, Capacity::shared, fusecu::FuseRule::exact),
        std::invalid_argument);
    BOOST_TEST(
        !fusecu::best_chain(4, {4, 4}, 2, Capacity::shared, fusecu::FuseRule::exact).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
