#include "learning/quality.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/statistics.hpp"

namespace tessera::learning {

namespace {

std::vector<double> ranks(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> result(values.size());
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i;
        while (end < order.size() && values[order[end]] == values[order[i]]) {
            ++end;
        }
        for (std::size_t k = i; k < end; ++k) {
            result[order[k]] = static_cast<double>(i + end - 1) / 2;
        }
        i = end;
    }
    return result;
}

/// log2 of the EDP of each sample.
std::vector<double> true_costs(const Samples& samples) {
    const std::size_t n = samples.outputs.size();
    std::vector<double> costs(samples.raw.size(), 0.0);
    for (std::size_t k = 0; k < n; ++k) {
        const Output& output = samples.outputs[k];
        if (output.name != "edp" && output.name != "energy" && output.name != "latency") {
            continue;
        }
        for (std::size_t i = 0; i < costs.size(); ++i) {
            const double value = samples.raw.outputs[i * n + k];
            costs[i] += output.log ? value : std::log2(std::max(value, 0x1p-40));
        }
    }
    return costs;
}

}  // namespace

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const std::vector<double> x = ranks(a), y = ranks(b);
    const double middle = static_cast<double>(a.size() - 1) / 2;
    double both = 0, own = 0, other = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        both += (x[i] - middle) * (y[i] - middle);
        own += (x[i] - middle) * (x[i] - middle);
        other += (y[i] - middle) * (y[i] - middle);
    }
    return own > 0 && other > 0 ? both / std::sqrt(own * other) : 0;
}

Quality quality(const Surrogate& surrogate, const Samples& samples) {
    constexpr std::size_t block = 256;
    const std::vector<double> wanted = true_costs(samples);
    std::vector<double> predicted(wanted.size());
    Surrogate::Scratch scratch;
    const std::size_t width = samples.raw.n_inputs;
    for (std::size_t at = 0; at < wanted.size(); at += block) {
        const std::size_t n = std::min(block, wanted.size() - at);
        surrogate.costs(std::span(samples.raw.inputs).subspan(at * width, n * width), scratch,
                        std::span(predicted).subspan(at, n));
    }
    Quality result;
    result.rank_correlation = rank_correlation(predicted, wanted);
    std::vector<double> each;
    auto from = std::ptrdiff_t{0};
    for (const std::size_t n : samples.per_problem) {
        const auto to = from + static_cast<std::ptrdiff_t>(n);
        if (n > 1) {
            each.push_back(rank_correlation({predicted.begin() + from, predicted.begin() + to},
                                            {wanted.begin() + from, wanted.begin() + to}));
        }
        from = to;
    }
    result.median_rank_correlation = each.empty() ? 0 : base::quantile(each, 0.5);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double off = predicted[i] - wanted[i];
        result.squared_error += off * off / static_cast<double>(wanted.size());
    }
    return result;
}

}  // namespace tessera::learning
