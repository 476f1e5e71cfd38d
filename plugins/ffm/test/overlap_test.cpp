// Weights of the bounds for pipelines, against a grid of all weights; memories that count from the
// start.
#include "../pipelines/overlap.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../pipelines/relaxation.hpp"
#include "../pipelines/weights.hpp"
#include "spec/reader.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

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

// A register of 16 bits holds one value of 16 bits or one of 9, but two of 8. Where Einsums have
// different values, one that fits twice is enough.
BOOST_AUTO_TEST_CASE(memories_of_one_value_hold_no_two_of_any_tensor) {
    const auto memories = [](const std::string& bits) {
        const std::string text = R"(
arch:
  nodes:
  - !Memory {name: Main, size: inf, tensors: {keep: All},
             component_class: Dummy}
  - !Memory {name: Buffer, size: 4096, tensors: {may_keep: All},
             component_class: Dummy}
  - !Memory {name: Register, size: 16, tensors: {may_keep: All},
             component_class: Dummy}
  - !Compute {name: MAC, component_class: Dummy}
workload:
  rank_sizes: {M: 4, N: 4, K: 4}
  einsums:
  - {einsum: "Z[m, n] = A[m, k] * B[k, n]"}
  bits_per_value: )" + bits;
        const auto read = [&] { return tessera::spec::read_text(text, "one.yaml"); };
        const auto w = tessera::workload::read_workload(tessera::spec::expand_document(read(), {}));
        const tessera::arch::Architecture a(read(), {});
        return tessera::ffm::memories_of_one_value({&w, &a, tessera::arch::Compat::none});
    };
    using Names = std::set<std::string>;
    BOOST_TEST((memories("{All: 16}") == Names{"Register"}));
    BOOST_TEST((memories("{All: 9}") == Names{"Register"}));
    BOOST_TEST((memories("{All: 8}") == Names{}));
    BOOST_TEST((memories("{A: 8, B | Z: 16}") == Names{}));
}
