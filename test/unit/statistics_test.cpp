// Statistics of comparisons against numbers worked out by hand and against enumeration.
#include "base/statistics.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

using namespace tessera::base;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool near(double a, double b) {
    return std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(b));
}

/// The test by its definition: all signs of the differences.
double enumerated_p(const std::vector<double>& differences) {
    std::vector<double> sizes;
    for (const double d : differences) {
        if (d != 0) {
            sizes.push_back(std::abs(d));
        }
    }
    std::vector<double> ranks;
    for (const double size : sizes) {
        double rank = 0.5;
        for (const double other : sizes) {
            rank += other < size ? 1 : other == size ? 0.5 : 0;
        }
        ranks.push_back(rank);
    }
    double total = 0, plus = 0;
    for (std::size_t i = 0, k = 0; i < differences.size(); ++i) {
        if (differences[i] != 0) {
            total += ranks[k];
            plus += differences[i] > 0 ? ranks[k] : 0;
            ++k;
        }
    }
    const double least = std::min(plus, total - plus);
    double extreme = 0;
    const std::size_t all = std::size_t{1} << ranks.size();
    for (std::size_t signs = 0; signs < all; ++signs) {
        double sum = 0;
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            sum += (signs >> i) % 2 == 1 ? ranks[i] : 0;
        }
        extreme += sum <= least;
    }
    return std::min(1.0, 2 * extreme / static_cast<double>(all));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(statistics)

BOOST_AUTO_TEST_CASE(signed_ranks_by_hand) {
    // Five of one sign: one of 2^5 choices is as extreme on each side.
    const SignedRanks five = signed_rank_test({1, 2, 3, 4, 5});
    BOOST_TEST(five.n == 5U);
    BOOST_TEST(five.plus == 15);
    BOOST_TEST(five.minus == 0);
    BOOST_TEST(near(five.p, 2.0 / 32));
    BOOST_TEST(five.effect == 1);
    // Six with the smallest negative: sums 0 and 1 are at most 1, so 2 * 2 / 64.
    const SignedRanks six = signed_rank_test({-1, 2, 3, 4, 5, 6});
    BOOST_TEST(near(six.p, 4.0 / 64));
    BOOST_TEST(near(six.effect, 19.0 / 21));
    // Zeros do not count; nothing is left.
    const SignedRanks none = signed_rank_test({0, 0});
    BOOST_TEST(none.n == 0U);
    BOOST_TEST(none.p == 1);
    BOOST_TEST(none.effect == 0);
    // Sizes 1, 1, 2 have ranks 1.5, 1.5, 3.
    const SignedRanks ties = signed_rank_test({1, -1, 2});
    BOOST_TEST(ties.plus == 4.5);
    BOOST_TEST(ties.minus == 1.5);
    // A search that found nothing against one that did: the largest difference.
    const SignedRanks endless = signed_rank_test({infinity, -1, 2});
    BOOST_TEST(endless.plus == 5);
}

BOOST_AUTO_TEST_CASE(signed_ranks_are_those_of_the_enumeration) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::vector<double> differences(1 + random() % 11);
        for (double& d : differences) {
            d = static_cast<double>(random() % 13) - 6;
        }
        BOOST_TEST(near(signed_rank_test(differences).p, enumerated_p(differences)));
    }
}

BOOST_AUTO_TEST_CASE(many_signed_ranks_are_nearly_normal) {
    std::vector<double> exact, more;
    for (int i = 1; i <= 60; ++i) {
        exact.push_back(i % 3 == 0 ? -i : i);
    }
    for (int i = 1; i <= 61; ++i) {
        more.push_back(i % 3 == 0 ? -i : i);
    }
    // 61 differences: plus 1261 of 1891, mean 945.5, variance 61 * 62 * 123 / 24.
    const SignedRanks normal = signed_rank_test(more);
    BOOST_TEST(normal.plus == 1261);
    const double z = (1261 - 945.5 - 0.5) / std::sqrt(61 * 62 * 123 / 24.0);
    BOOST_TEST(near(normal.p, std::erfc(z / std::sqrt(2.0))));
    // 60 are counted exactly; the approximation is close: plus 1200 of 1830.
    const double z60 = (1200 - 915 - 0.5) / std::sqrt(60 * 61 * 121 / 24.0);
    const double p60 = std::erfc(z60 / std::sqrt(2.0));
    BOOST_TEST(signed_rank_test(exact).p != p60);
    BOOST_TEST(std::abs(signed_rank_test(exact).p - p60) < 1e-3);
}

BOOST_AUTO_TEST_CASE(holm_corrects_for_the_number_of_tests) {
    // Ordered 0.01, 0.02, 0.03, 0.5: times 4, 3, 2, 1, never below the one before.
    const std::vector<double> adjusted = holm({0.03, 0.01, 0.5, 0.02});
    const double expected[] = {0.06, 0.04, 0.5, 0.06};
    for (std::size_t i = 0; i < 4; ++i) {
        BOOST_TEST(near(adjusted[i], expected[i]));
    }
    BOOST_TEST(holm({0.6, 0.7})[0] == 1);
    BOOST_TEST(holm({}).empty());
}

BOOST_AUTO_TEST_CASE(shifted_geometric_means) {
    BOOST_TEST(near(shifted_geometric_mean({1, 7}, 1), 3));  // sqrt(2 * 8) - 1
    BOOST_TEST(near(shifted_geometric_mean({5}, 10), 5));
    BOOST_TEST(near(shifted_geometric_mean({0, 0}, 1), 0));
    BOOST_TEST(std::isinf(shifted_geometric_mean({1, infinity}, 1)));
}

BOOST_AUTO_TEST_CASE(quantiles_lie_on_straight_lines) {
    BOOST_TEST(quantile({3, 1, 2}, 0.5) == 2);
    BOOST_TEST(quantile({4, 1}, 0.5) == 2.5);
    BOOST_TEST(quantile({0, 10, 20, 30, 40}, 0.1) == 4);
    BOOST_TEST(quantile({7, 9}, 1) == 9);
    BOOST_TEST(std::isinf(quantile({1, infinity}, 0.5)));
    BOOST_TEST(quantile({1, infinity}, 0) == 1);
    BOOST_TEST(std::isinf(quantile({}, 0.5)));
}

BOOST_AUTO_TEST_CASE(profiles_count_who_is_close_to_the_best) {
    // Best of the columns: 1, 2, none, 4.
    const std::vector<std::vector<double>> values = {{1, 4, infinity, 4},
                                                     {1.5, 2, infinity, infinity}};
    const std::vector<double> best = performance_profile(values, 1);
    BOOST_TEST(best[0] == 0.5);
    BOOST_TEST(best[1] == 0.25);
    const std::vector<double> twice = performance_profile(values, 2);
    BOOST_TEST(twice[0] == 0.75);
    BOOST_TEST(twice[1] == 0.5);
}

BOOST_AUTO_TEST_SUITE_END()
