// The exact tiling of one matrix product against all tile sizes and loop orders, counted from the
// definition: a tensor is moved again in each pass of a loop that it lacks if a loop of its own
// ranks, of more than one pass, lies inside.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "tessera/fusecu.hpp"

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

std::int64_t brute_force(const fusecu::Sizes& d, std::int64_t buffer_words) {
    std::int64_t best = -1;
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
                    const std::int64_t words = traffic(d, n, order);
                    best = best < 0 ? words : std::min(best, words);
                } while (std::next_permutation(order.begin(), order.end()));
            }
        }
    }
    return best;
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

// The paper's example of principle 2: K untiled, B read twice, A and C once.
BOOST_AUTO_TEST_CASE(papers_example_of_principle_2) {
    const auto rule = fusecu::principles_matmul({1024, 768, 768}, 524288);
    BOOST_REQUIRE(rule);
    BOOST_TEST(rule->traffic_words == 2 * 1024 * 768 + 2 * 768 * 768);
    BOOST_TEST(fusecu::exact_matmul({1024, 768, 768}, 524288)->traffic_words ==
               rule->traffic_words);
}

BOOST_AUTO_TEST_CASE(sizes_out_of_range_are_refused) {
    BOOST_CHECK_THROW((void)fusecu::exact_matmul({0, 1, 1}, 9), std::invalid_argument);
    BOOST_CHECK_THROW((void)fusecu::principles_matmul({1, 1, fusecu::max_rank_size + 1}, 9),
                      std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
