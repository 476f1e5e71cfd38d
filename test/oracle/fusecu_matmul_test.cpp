// The exact tiling of one matrix product against all tile sizes and loop orders, counted from the
// definition: a tensor is moved again in each pass of a loop that it lacks if a loop of its own
// ranks, of more than one pass, lies inside.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <stdexcept>

#include "tessera/fusecu/dat.hpp"

namespace fusecu = tessera::fusecu;

namespace {

std::int64_t traffic(const fusecu::Sizes& d, const fusecu::Sizes& n,
                     const std::array<std::size_t, 3>& order) {
    std::int64_t words = 0;
    for (std::size_t lacks = 0; lacks < 3; ++lacks) {
        const auto at = std::find(order.begin(), order.end(), lacks);
        const bool again = std::any_of(at + 1, order.end(), [&](auto r) { return n[r] > 1; });
        words += d[(lacks + 1) % 3] * d[(lacks + 2) % 3] * (again ? n[lacks] : 1);
    }
    return words;
}

/// As traffic; an output of n passes counts 2n - 1 times.
std::int64_t accesses(const fusecu::Sizes& d, const fusecu::Sizes& n,
                      const std::array<std::size_t, 3>& order) {
    const auto at = std::find(order.begin(), order.end(), std::size_t{1});
    const bool again = std::any_of(at + 1, order.end(), [&](auto r) { return n[r] > 1; });
    return traffic(d, n, order) + (again ? d[0] * d[2] * (n[1] - 1) : 0);
}

/// By the cost of a word of each tensor (WordCosts).
double cost(const fusecu::Sizes& d, const fusecu::Sizes& n, const std::array<std::size_t, 3>& order,
            const fusecu::WordCosts& costs) {
    double sum = 0;
    for (std::size_t lacks = 0; lacks < 3; ++lacks) {
        const auto at = std::find(order.begin(), order.end(), lacks);
        const bool again = std::any_of(at + 1, order.end(), [&](auto r) { return n[r] > 1; });
        const auto words = static_cast<double>(d[(lacks + 1) % 3] * d[(lacks + 2) % 3]);
        const auto times = static_cast<double>(again ? n[lacks] : 1);
        sum += lacks == 0   ? words * times * costs.b
               : lacks == 1 ? words * (times * costs.c_write + (times - 1) * costs.c_read)
                            : words * times * costs.a;
    }
    return sum;
}

std::int64_t dat_brute_force(const fusecu::Sizes& d, std::int64_t buffer_words,
                             std::int64_t min_tile) {
    std::int64_t best = -1;
    fusecu::Sizes n{};
    const auto allowed = [&](std::size_t r) {
        return d[r] % n[r] == 0 && (d[r] / n[r] >= min_tile || n[r] == 1);
    };
    for (n[0] = 1; n[0] <= d[0]; ++n[0]) {
        for (n[1] = 1; n[1] <= d[1]; ++n[1]) {
            for (n[2] = 1; n[2] <= d[2]; ++n[2]) {
                const fusecu::Sizes t{d[0] / n[0], d[1] / n[1], d[2] / n[2]};
                if (!allowed(0) || !allowed(1) || !allowed(2) ||
                    t[0] * t[1] + t[1] * t[2] + t[0] * t[2] > buffer_words) {
                    continue;
                }
                std::array<std::size_t, 3> order{0, 1, 2};
                do {
                    const std::int64_t words = accesses(d, n, order);
                    best = best < 0 ? words : std::min(best, words);
                } while (std::next_permutation(order.begin(), order.end()));
            }
        }
    }
    return best;
}

/// The least of `value` over all tile sizes and orders; -1 if none fits.
template <typename Value>
auto least(const fusecu::Sizes& d, std::int64_t buffer_words, const Value& value) {
    decltype(value(d, {0, 1, 2})) best = -1;
    fusecu::Sizes t{};
    for (t[0] = 1; t[0] <= d[0]; ++t[0]) {
        for (t[1] = 1; t[1] <= d[1]; ++t[1]) {
            for (t[2] = 1; t[2] <= d[2]; ++t[2]) {
                if (t[0] * t[1] + t[1] * t[2] + t[0] * t[2] > buffer_words) {
                    break;
                }
                fusecu::Sizes n{};
                for (std::size_t r = 0; r < 3; ++r) {
                    n[r] = (d[r] + t[r] - 1) / t[r];
                }
                std::array<std::size_t, 3> order{0, 1, 2};
                do {
                    const auto found = value(n, order);
                    best = best < 0 ? found : std::min(best, found);
                } while (std::next_permutation(order.begin(), order.end()));
            }
        }
    }
    return best;
}

std::int64_t brute_force(const fusecu::Sizes& d, std::int64_t buffer_words) {
    return least(d, buffer_words, [&](const fusecu::Sizes& n, const std::array<std::size_t, 3>& o) {
        return traffic(d, n, o);
    });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fusecu_matmul)

BOOST_AUTO_TEST_CASE(exact_is_the_brute_force_minimum) {
    std::mt19937 random(24);
    std::uniform_int_distribution<std::int64_t> size(1, 12);
    std::uniform_int_distribution<std::int64_t> buffer(1, 200);
    for (int i = 0; i < 20000; ++i) {
        const fusecu::Sizes d{size(random), size(random), size(random)};
        const std::int64_t words = buffer(random);
        const auto exact = fusecu::exact_matmul(d, words);
        const auto rule = fusecu::principles_matmul(d, words);
        BOOST_REQUIRE_EQUAL(exact ? exact->traffic_words : -1, brute_force(d, words));
        BOOST_REQUIRE_EQUAL(exact.has_value(), words >= 3);
        if (exact) {
            BOOST_REQUIRE_LE(fusecu::footprint_words(exact->tile), words);
        }
        if (rule) {
            BOOST_REQUIRE_LE(fusecu::footprint_words(rule->tile), words);
            BOOST_REQUIRE_GE(rule->traffic_words, exact->traffic_words);
        }
    }
}

// Costs are small integers, so that sums are exact.
BOOST_AUTO_TEST_CASE(words_may_cost_differently) {
    std::mt19937 random(25);
    std::uniform_int_distribution<std::int64_t> size(1, 10), buffer(1, 120);
    std::uniform_int_distribution<int> price(0, 5);
    for (int i = 0; i < 3000; ++i) {
        const fusecu::Sizes d{size(random), size(random), size(random)};
        const std::int64_t words = buffer(random);
        const fusecu::WordCosts costs{double(price(random)), double(price(random)),
                                      double(price(random)), double(price(random))};
        const auto exact = fusecu::exact_weighted_matmul(d, words, costs);
        const double expected =
            least(d, words, [&](const fusecu::Sizes& n, const std::array<std::size_t, 3>& o) {
                return cost(d, n, o, costs);
            });
        BOOST_REQUIRE_EQUAL(exact ? exact->cost : -1, expected);
        const auto plain = fusecu::exact_weighted_matmul(d, words, {});
        BOOST_REQUIRE_EQUAL(plain ? plain->cost : -1, double(brute_force(d, words)));
    }
    BOOST_CHECK_THROW((void)fusecu::exact_weighted_matmul({2, 2, 2}, 9, {1, -1, 1, 1}),
                      std::invalid_argument);
}

// The paper's example of principle 2: K untiled, B read twice, A and C once.
BOOST_AUTO_TEST_CASE(papers_example_of_principle_2) {
    const auto rule = fusecu::principles_matmul({1024, 768, 768}, 524288);
    BOOST_REQUIRE(rule);
    BOOST_TEST(rule->traffic_words == 2 * 1024 * 768 + 2 * 768 * 768);
    BOOST_TEST(fusecu::exact_matmul({1024, 768, 768}, 524288)->traffic_words ==
               rule->traffic_words);
}

// Ranks of 32 to 4096; buffers of the paper's regimes. The square tile loses where its last tile is
// partial; the passes next to it mend that.
BOOST_AUTO_TEST_CASE(polish_of_one_pass_is_nearly_always_exact) {
    std::mt19937_64 random(27);
    std::uniform_real_distribution<double> unit(0, 1);
    for (int regime = 0; regime < 4; ++regime) {
        int exact = 0, wide = 0;
        const int cases = 2000;
        for (int i = 0; i < cases; ++i) {
            fusecu::Sizes d{};
            for (std::int64_t& size : d) {
                size = static_cast<std::int64_t>(std::exp2(5 + 7 * unit(random)));
            }
            std::sort(d.begin(), d.end());
            const double square = static_cast<double>(d[0] * d[0]);
            const double tensor = static_cast<double>(d[0] * d[1]);
            std::shuffle(d.begin(), d.end(), random);
            const double share = unit(random);
            const double words = regime == 0   ? square / 4 * (0.02 + 0.98 * share)
                                 : regime == 1 ? square * (0.25 + 0.25 * share)
                                 : regime == 2 ? square / 2 * std::pow(2 * tensor / square, share)
                                               : tensor * (1 + 2 * share);
            const auto buffer = std::max<std::int64_t>(16, static_cast<std::int64_t>(words));
            const std::int64_t least = fusecu::exact_matmul(d, buffer)->traffic_words;
            const auto polished = fusecu::polish_matmul(d, buffer, 1);
            BOOST_REQUIRE(polished);
            BOOST_REQUIRE_LE(fusecu::footprint_words(polished->tile), buffer);
            BOOST_REQUIRE_GE(polished->traffic_words, least);
            BOOST_REQUIRE_GE(fusecu::literal_matmul(d, buffer)->traffic_words, least);
            wide += fusecu::polish_matmul(d, buffer, 4)->traffic_words == least ? 1 : 0;
            exact += polished->traffic_words == least ? 1 : 0;
        }
        BOOST_TEST(exact >= 0.98 * cases, "regime " << regime << ": " << exact << " exact");
        BOOST_TEST(wide >= 0.999 * cases, "regime " << regime << ": " << wide << " exact");
    }
}

BOOST_AUTO_TEST_CASE(divisor_tiles_are_the_brute_force_minimum) {
    std::mt19937 random(28);
    std::uniform_int_distribution<std::int64_t> size(1, 24);
    std::uniform_int_distribution<std::int64_t> buffer(3, 400);
    std::uniform_int_distribution<std::int64_t> least(1, 5);
    for (int i = 0; i < 2000; ++i) {
        const fusecu::Sizes d{size(random), size(random), size(random)};
        const std::int64_t words = buffer(random), min_tile = least(random);
        const auto dat = fusecu::dat_matmul(d, words, min_tile);
        BOOST_REQUIRE_EQUAL(dat ? dat->traffic_words : -1, dat_brute_force(d, words, min_tile));
    }
}

// Between the smallest tensor's size and what its tiles need, principle 3 does not fit.
BOOST_AUTO_TEST_CASE(literal_principle_falls_back) {
    const fusecu::Sizes d{64, 64, 64};
    BOOST_TEST(fusecu::literal_matmul(d, 64 * 64 + 128)->traffic_words == 3 * 64 * 64);
    BOOST_TEST(fusecu::literal_matmul(d, 64 * 64 + 127)->traffic_words == 4 * 64 * 64);
    BOOST_TEST(fusecu::literal_matmul({1024, 768, 768}, 524288)->traffic_words ==
               1024 * 768 * 3 + 768 * 768);
}

BOOST_AUTO_TEST_CASE(sizes_out_of_range_are_refused) {
    BOOST_CHECK_THROW((void)fusecu::exact_matmul({0, 1, 1}, 9), std::invalid_argument);
    BOOST_CHECK_THROW((void)fusecu::principles_matmul({1, 1, fusecu::max_rank_size + 1}, 9),
                      std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
