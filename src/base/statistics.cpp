#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera::base {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Ranked {
    bool plus = false;
    long twice_rank = 0;  ///< whole for mean ranks, too
};

/// \returns with them the sum of t^3 - t over groups of t equal sizes
std::pair<std::vector<Ranked>, double> ranked(std::vector<double> differences) {
    std::erase(differences, 0.0);
    std::sort(differences.begin(), differences.end(),
              [](double a, double b) { return std::abs(a) < std::abs(b); });
    std::vector<Ranked> result;
    double ties = 0;
    for (std::size_t i = 0, j = 0; i < differences.size(); i = j) {
        while (j < differences.size() && std::abs(differences[j]) == std::abs(differences[i])) {
            ++j;
        }
        const auto t = static_cast<double>(j - i);
        ties += t * t * t - t;
        for (std::size_t k = i; k < j; ++k) {
            result.push_back({differences[k] > 0, static_cast<long>(i + 1 + j)});
        }
    }
    return {result, ties};
}

/// Share of all choices of signs whose sum of positive ranks is at most `least`.
double share_of_signs(const std::vector<Ranked>& all, long least) {
    const long total = std::accumulate(
        all.begin(), all.end(), 0L, [](long sum, const Ranked& r) { return sum + r.twice_rank; });
    std::vector<double> ways(static_cast<std::size_t>(total) + 1);  // as shares of all signs
    ways[0] = 1;
    for (const Ranked& one : all) {
        const auto rank = static_cast<std::size_t>(one.twice_rank);
        for (std::size_t sum = ways.size(); sum-- > 0;) {
            ways[sum] = ways[sum] / 2 + (sum >= rank ? ways[sum - rank] / 2 : 0);
        }
    }
    return std::accumulate(ways.begin(), ways.begin() + least + 1, 0.0);
}

double normal_p(double plus, double n, double ties) {
    const double mean = n * (n + 1) / 4;
    const double variance = n * (n + 1) * (2 * n + 1) / 24 - ties / 48;
    const double distance = std::max(0.0, std::abs(plus - mean) - 0.5);
    return variance > 0 ? std::erfc(distance / std::sqrt(2 * variance)) : 1;
}

}  // namespace

double quantile(std::vector<double> values, double fraction) {
    if (values.empty()) {
        return infinity;
    }
    std::sort(values.begin(), values.end());
    const double place = fraction * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const double share = place - static_cast<double>(below);
    if (share == 0) {
        return values[below];
    }
    const double low = values[below], high = values[below + 1];
    return std::isfinite(high) ? low + share * (high - low) : infinity;
}

double shifted_geometric_mean(const std::vector<double>& values, double shift) {
    double sum = 0;
    for (const double value : values) {
        sum += std::log(value + shift);
    }
    return std::exp(sum / static_cast<double>(values.size())) - shift;
}

SignedRanks signed_rank_test(const std::vector<double>& differences) {
    const auto [all, ties] = ranked(differences);
    SignedRanks result;
    result.n = all.size();
    long plus = 0, minus = 0;
    for (const Ranked& one : all) {
        (one.plus ? plus : minus) += one.twice_rank;
    }
    result.plus = static_cast<double>(plus) / 2;
    result.minus = static_cast<double>(minus) / 2;
    if (all.empty()) {
        return result;
    }
    result.effect = static_cast<double>(plus - minus) / static_cast<double>(plus + minus);
    result.p = all.size() <= most_exact
                   ? std::min(1.0, 2 * share_of_signs(all, std::min(plus, minus)))
                   : normal_p(result.plus, static_cast<double>(all.size()), ties);
    return result;
}

std::vector<double> holm(const std::vector<double>& p) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
    std::vector<double> adjusted(p.size());
    double most = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        most = std::max(most, p[order[i]] * static_cast<double>(p.size() - i));
        adjusted[order[i]] = std::min(1.0, most);
    }
    return adjusted;
}

std::vector<double> performance_profile(const std::vector<std::vector<double>>& values,
                                        double factor) {
    std::vector<double> shares(values.size());
    const std::size_t columns = values.empty() ? 0 : values.front().size();
    for (std::size_t c = 0; c < columns; ++c) {
        double best = infinity;
        for (const std::vector<double>& row : values) {
            best = std::min(best, row[c]);
        }
        for (std::size_t r = 0; r < values.size(); ++r) {
            const bool within = std::isfinite(best) && values[r][c] <= best * factor;
            shares[r] += within ? 1.0 / static_cast<double>(columns) : 0;
        }
    }
    return shares;
}

}  // namespace tessera::base
