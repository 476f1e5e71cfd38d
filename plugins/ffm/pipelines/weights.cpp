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

/// By Einsum and compute.
std::vector<std::vector<double>> least_busy_s(const model::Problem& problem) {
    const std::shared_ptr<arch::Paths> paths = problem.paths_or_new();
    std::vector<std::vector<double>> einsums(problem.workload->einsums.size());
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        for (const std::string& compute : problem.architecture->compute_names()) {
            einsums[e].push_back(least_busy_s(paths->of(static_cast<int>(e), compute)));
        }
    }
    return einsums;
}

/// Infinite where the compute cannot run the Einsum, whatever the weight.
double weighted(double seconds, double weight) {
    return std::isfinite(seconds) ? seconds * weight : seconds;
}

double weighted(const std::vector<double>& row, const std::vector<double>& weights) {
    return std::inner_product(row.begin(), row.end(), weights.begin(), 0.0);
}

/// Busy times of the computes, each Einsum on the one where it weighs least.
std::vector<double> least_row(const std::vector<std::vector<double>>& einsums,
                              const std::vector<double>& weights) {
    std::vector<double> row(weights.size(), 0);
    for (const std::vector<double>& seconds : einsums) {
        std::size_t best = 0;
        for (std::size_t c = 1; c < seconds.size(); ++c) {
            best = weighted(seconds[c], weights[c]) < weighted(seconds[best], weights[best]) ? c
                                                                                             : best;
        }
        row[best] += seconds[best];
    }
    return row;
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
    const std::vector<std::vector<double>> einsums = least_busy_s(problem);
    std::vector<double> weights(computes.size(), 1.0 / static_cast<double>(computes.size()));
    std::vector<std::vector<double>> rows;
    for (int game = 0; game < most_games; ++game) {
        std::vector<double> row = least_row(einsums, weights);
        const double worth = weighted(row, weights);
        if (!std::isfinite(worth)) {
            return {};
        }
        if (std::ranges::any_of(rows, [&](const std::vector<double>& known) {
                return weighted(known, weights) <= worth * (1 + same);
            })) {
            break;
        }
        rows.push_back(std::move(row));
        weights = best_weights(rows);
    }
    Weights result;
    for (std::size_t c = 0; c < computes.size(); ++c) {
        if (weights[c] > 0) {
            result[computes[c]] = weights[c];
        }
    }
    return result;
}

}  // namespace tessera::ffm
