#include "weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tessera/arch/path.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::ffm {

namespace {

/// Games that follow each other at most; each adds the row that was worth least.
constexpr int most_games = 64;
constexpr double same = 1e-6;

/// With all lanes busy; infinite where the compute cannot run the Einsum, or if that is not known.
double least_busy_s(const arch::Path& path) {
    const arch::PathLevel& compute = path.compute();
    const double rate = compute.actions.empty() ? 0 : compute.actions.front().throughput_per_s;
    double computes = path.einsum.n_instances * compute.actions_scale;
    for (const std::int64_t bound : path.einsum.bounds()) {
        computes *= static_cast<double>(bound);
    }
    const double seconds = computes / (rate * compute.cumulative_fanout);
    return compute.enabled && seconds > 0 ? seconds : std::numeric_limits<double>::infinity();
}

}  // namespace

// With x = weights / (value of the game): least sum of x so that no row weighs less than 1. Its
// dual begins feasible: most sum of y so that no column weighs more than 1. The simplex method on
// that one, with Bland's rule, which never goes in circles; x are the prices of its slacks.
std::vector<double> best_weights(const std::vector<std::vector<double>>& rows) {
    const std::size_t columns = rows.front().size(), m = rows.size();
    double largest = 0;
    for (const std::vector<double>& row : rows) {
        largest = std::max(largest, *std::max_element(row.begin(), row.end()));
        if (*std::max_element(row.begin(), row.end()) <= 0) {  // weighs nothing, whatever counts
            return std::vector<double>(columns, 1.0 / static_cast<double>(columns));
        }
    }
    // Of a column: m variables, its slack among `columns`, and the right side.
    const std::size_t width = m + columns + 1;
    std::vector<std::vector<double>> table(columns, std::vector<double>(width, 0));
    std::vector<double> gain(width, 0);
    for (std::size_t u = 0; u < columns; ++u) {
        for (std::size_t k = 0; k < m; ++k) {
            table[u][k] = rows[k][u] / largest;
        }
        table[u][m + u] = table[u][width - 1] = 1;
    }
    std::fill_n(gain.begin(), m, 1.0);
    std::vector<std::size_t> basis(columns);
    std::iota(basis.begin(), basis.end(), m);
    constexpr double nothing = 1e-12;
    for (int step = 0; step < 1000; ++step) {
        const auto enters = static_cast<std::size_t>(
            std::find_if(gain.begin(), gain.end() - 1, [](double g) { return g > nothing; }) -
            gain.begin());
        std::size_t leaves = columns;
        for (std::size_t u = 0; enters + 1 < width && u < columns; ++u) {
            if (table[u][enters] <= nothing) {
                continue;
            }
            const double own = table[u].back() / table[u][enters];
            const double least =
                leaves == columns ? 0 : table[leaves].back() / table[leaves][enters];
            if (leaves == columns || own < least || (own == least && basis[u] < basis[leaves])) {
                leaves = u;
            }
        }
        if (leaves == columns) {
            break;
        }
        basis[leaves] = enters;
        const double pivot = table[leaves][enters];
        for (double& one : table[leaves]) {
            one /= pivot;
        }
        const auto eliminate = [&](std::vector<double>& row) {
            const double factor = row[enters];
            for (std::size_t i = 0; i < width; ++i) {
                row[i] -= factor * table[leaves][i];
            }
        };
        for (std::size_t u = 0; u < columns; ++u) {
            if (u != leaves) {
                eliminate(table[u]);
            }
        }
        eliminate(gain);
    }
    std::vector<double> weights;
    double sum = 0;
    for (std::size_t u = 0; u < columns; ++u) {
        weights.push_back(std::max(0.0, -gain[m + u]));
        sum += weights.back();
    }
    for (double& weight : weights) {
        weight /= sum;
    }
    return weights;
}

Weights balanced_weights(const model::Problem& problem) {
    const std::vector<std::string>& computes = problem.architecture->compute_names();
    const std::size_t n = computes.size();
    const std::shared_ptr<arch::Paths> paths = problem.paths_or_new();
    std::vector<std::vector<double>> einsums;  // seconds by compute
    for (int e = 0; e < static_cast<int>(problem.workload->einsums.size()); ++e) {
        std::vector<double>& seconds = einsums.emplace_back();
        for (const std::string& compute : computes) {
            seconds.push_back(least_busy_s(paths->of(e, compute)));
        }
        if (!std::isfinite(*std::ranges::min_element(seconds))) {
            return {};
        }
    }
    std::vector<double> weights(n, 1.0 / static_cast<double>(n));
    std::vector<std::vector<double>> rows;
    for (int game = 0; game < most_games; ++game) {
        std::vector<double> row(n, 0);  // each Einsum where it weighs least
        for (const std::vector<double>& seconds : einsums) {
            std::size_t best = n;
            for (std::size_t c = 0; c < n; ++c) {
                const bool less =
                    best == n || weights[c] * seconds[c] < weights[best] * seconds[best];
                best = std::isfinite(seconds[c]) && less ? c : best;
            }
            row[best] += seconds[best];
        }
        const auto worth = [&](const std::vector<double>& one) {
            return std::inner_product(one.begin(), one.end(), weights.begin(), 0.0);
        };
        const bool last = std::ranges::any_of(
            rows, [&](const auto& one) { return worth(one) <= worth(row) * (1 + same); });
        if (last) {
            break;
        }
        rows.push_back(std::move(row));
        weights = best_weights(rows);
    }
    Weights result;
    for (std::size_t c = 0; c < n; ++c) {
        if (weights[c] > 0) {
            result[computes[c]] = weights[c];
        }
    }
    return result;
}

}  // namespace tessera::ffm
