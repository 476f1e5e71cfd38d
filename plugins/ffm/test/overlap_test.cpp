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

// Y is twice as fast as X. What may run on both is balanced by weights 1 : 2; what X alone may run
// shifts them to X, and where it is most of the work, X has all the weight.
BOOST_AUTO_TEST_CASE(balanced_weights_make_computes_worth_the_same) {
    const auto weights = [](const std::string& y_runs, int n) {
        const std::string text = R"(
arch:
  nodes:
  - !Memory {name: Main, size: inf, tensors: {keep: All}, component_class: Dummy}
  - !Fork
    nodes:
    - !Compute
      name: X
      actions: [{name: compute, energy: 1, throughput: 1}]
  - !Compute
    name: Y
    enabled: )" + y_runs + R"(
    actions: [{name: compute, energy: 1, throughput: 2}]
workload:
  rank_sizes: {M: 8, N: )" + std::to_string(n) +
                                 R"(}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "T[m] = A[m]"}
  - {einsum: "Z[n] = B[n]"}
)";
        const auto read = [&] { return tessera::spec::read_text(text, "two.yaml"); };
        const auto w = tessera::workload::read_workload(tessera::spec::expand_document(read(), {}));
        const tessera::arch::Architecture a(read(), {});
        return tessera::ffm::balanced_weights({&w, &a, tessera::arch::Compat::none});
    };
    const auto both = weights("True", 8);
    BOOST_TEST_REQUIRE(both.size() == 2u);
    BOOST_TEST(std::abs(both.at("X") - 1.0 / 3) <= 1e-6);
    BOOST_TEST(std::abs(both.at("Y") - 2.0 / 3) <= 1e-6);
    // Z (2 s) on X alone, T 8 s on X or 4 s on Y: 2 x + min(8 x, 4 - 4 x) is largest for x = 1/3.
    const auto some = weights("len(A) == 1", 2);
    BOOST_TEST(std::abs(some.at("X") - 1.0 / 3) <= 1e-6);
    const auto most = weights("len(A) == 1", 64);
    BOOST_TEST((most == tessera::ffm::Weights{{"X", 1.0}}));
}
