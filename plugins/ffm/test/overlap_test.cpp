// Weights of the bounds for pipelines, against a grid of all weights.
#include "../pipelines/overlap.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

using tessera::ffm::best_weights;

namespace {

double least(const std::vector<std::vector<double>>& rows, const std::vector<double>& weights) {
    double lowest = 1e300;
    for (const std::vector<double>& row : rows) {
        double sum = 0;
        for (std::size_t u = 0; u < row.size(); ++u) {
            sum += weights[u] * row[u];
        }
        lowest = std::min(lowest, sum);
    }
    return lowest;
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_weights_of_a_grid_give_a_better_bound) {
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
        std::vector<std::vector<double>> rows(1 + random() % 6);
        for (std::vector<double>& row : rows) {
            for (int u = 0; u < 3; ++u) {
                row.push_back(static_cast<double>(random() % 5) * (u == 1 ? 1e-6 : 2e-6));
            }
        }
        const std::vector<double> weights = best_weights(rows);
        BOOST_TEST_REQUIRE(weights.size() == 3u);
        BOOST_TEST(*std::min_element(weights.begin(), weights.end()) >= 0);
        BOOST_TEST(std::abs(weights[0] + weights[1] + weights[2] - 1) <= 1e-12);
        constexpr int parts = 40;
        for (int a = 0; a <= parts; ++a) {
            for (int b = 0; a + b <= parts; ++b) {
                const double x = static_cast<double>(a) / parts, y = static_cast<double>(b) / parts;
                BOOST_TEST(least(rows, {x, y, 1 - x - y}) <= least(rows, weights) + 1e-14);
            }
        }
    }
}
