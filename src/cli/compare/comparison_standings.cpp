// Map:
//   Ties          values that are equal up to rounding
//   Costs         what a trial costs by the metric and by its later metric, with ties
//   u_test()      are two contenders' values drawn from the same distribution?
//   standings()   what the trials of a contender come to
#include <algorithm>
#include <cmath>

#include "comparison_report.hpp"
#include "tessera/base/same_cost.hpp"
#include "tessera/mapper/metric.hpp"

namespace tessera::cli {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Gives all values that are equal up to rounding one value, the least of them: mappers add up
/// costs in orders of their own.
class Ties {
public:
    explicit Ties(std::vector<double> values) : least_(std::move(values)) {
        std::sort(least_.begin(), least_.end());
        least_.erase(std::unique(least_.begin(), least_.end(), base::same_cost), least_.end());
    }
    /// Of one of the values.
    double operator()(double value) const {
        return *(std::upper_bound(least_.begin(), least_.end(), value) - 1);
    }

private:
    std::vector<double> least_;  ///< ascending
};

using Later = std::optional<double> Trial::*;

/// Where a trial has the later metric. What Timeloop counts besides is followed by energy.
Later later_of(const Comparison& comparison) {
    const std::vector<std::string>& names = comparison.run.metrics;
    const mapper::MetricFacts* metric = names.empty() ? nullptr : mapper::find_metric(names[0]);
    return metric != nullptr && mapper::later_metric(metric->metric) == mapper::Metric::latency
               ? &Trial::latency
               : &Trial::energy_j;
}

/// Compared in this order: base::better() for many.
using Pair = std::pair<double, double>;

/// What trials cost; infinity: none found.
class Costs {
public:
    explicit Costs(const Comparison& comparison)
        : later_(later_of(comparison)),
          values_(all(comparison, &Trial::value)),
          laters_(all(comparison, later_)) {}

    double value(const Trial& trial) const {
        return trial.found() ? values_(*trial.value) : infinity;
    }
    /// By the metric and the later one.
    Pair of(const Trial& trial) const {
        const bool known = trial.found() && trial.*later_;
        return {value(trial), known ? laters_(*(trial.*later_)) : infinity};
    }

private:
    static Ties all(const Comparison& comparison, Later member) {
        std::vector<double> values;
        for (const auto& contender : comparison.contenders) {
            for (const Trial& trial : contender->trials) {
                if (trial.found() && trial.*member) {
                    values.push_back(*(trial.*member));
                }
            }
        }
        return Ties(std::move(values));
    }

    const Later later_;
    const Ties values_, laters_;
};

/// The later metric of the trials in the middle; infinity if there are none.
double median_later(std::vector<Pair> costs) {
    if (costs.empty()) {
        return infinity;
    }
    std::sort(costs.begin(), costs.end());
    const std::size_t half = costs.size() / 2;
    return median(costs.size() % 2 != 0 ? std::vector{costs[half].second}
                                        : std::vector{costs[half - 1].second, costs[half].second});
}

/// Mann and Whitney's test, two-sided, normal approximation with corrections for ties and
/// continuity. Infinity is a value like others.
double u_test(const std::vector<double>& a, const std::vector<double>& b) {
    double u = 0;
    for (const double x : a) {
        for (const double y : b) {
            u += x < y ? 1 : x == y ? 0.5 : 0;
        }
    }
    std::vector<double> all = a;
    all.insert(all.end(), b.begin(), b.end());
    std::sort(all.begin(), all.end());
    const auto n = static_cast<double>(all.size());
    const double product = static_cast<double>(a.size()) * static_cast<double>(b.size());
    double ties = 0;
    for (std::size_t i = 0, j = 0; i < all.size(); i = j) {
        while (j < all.size() && all[j] == all[i]) {
            ++j;
        }
        const auto t = static_cast<double>(j - i);
        ties += t * t * t - t;
    }
    const double variance = product / 12 * (n + 1 - ties / (n * (n - 1)));
    const double distance = std::max(0.0, std::abs(u - product / 2) - 0.5);
    return variance > 0 ? std::erfc(distance / std::sqrt(2 * variance)) : 1;
}

std::vector<double> values_of(const Contender& contender, const Costs& costs) {
    std::vector<double> result;
    for (const Trial& trial : contender.trials) {
        if (trial.status != Trial::Status::not_run) {
            result.push_back(costs.value(trial));
        }
    }
    return result;
}

Standing standing(const Contender& contender, const Costs& costs) {
    Standing s;
    s.contender = &contender;
    std::vector<double> wall, best, evaluated, gaps;
    std::vector<Pair> all;
    for (const Trial& trial : contender.trials) {
        if (trial.status == Trial::Status::not_run) {
            continue;
        }
        ++s.ran;
        s.found += trial.found();
        s.proven += trial.status == Trial::Status::optimal;
        s.failed += trial.status == Trial::Status::failed;
        wall.push_back(trial.wall_s);
        best.push_back(trial.curve.empty() ? infinity : trial.curve.back().time_s);
        evaluated.push_back(static_cast<double>(trial.evaluated));
        if (trial.bound && (!s.bound || *trial.bound > *s.bound)) {
            s.bound = trial.bound;
        }
        if (const auto gap = trial.gap()) {
            gaps.push_back(*gap);
        }
        if (trial.found() && (s.best == nullptr || costs.of(trial) < costs.of(*s.best))) {
            s.best = &trial;
        }
        all.push_back(costs.of(trial));
    }
    const std::vector<double> values = values_of(contender, costs);
    s.median = median(values);
    s.later = median_later(all);
    s.least = values.empty() ? infinity : *std::min_element(values.begin(), values.end());
    s.most = values.empty() ? infinity : *std::max_element(values.begin(), values.end());
    s.wall_s = wall.empty() ? 0 : median(wall);
    s.best_s = median(best);
    s.evaluated = evaluated.empty() ? 0 : median(evaluated);
    if (!gaps.empty()) {
        s.gap = median(gaps);
    }
    return s;
}

/// Shares the point of each seed among those who were best at it.
void count_wins(const Comparison& comparison, const Costs& costs, std::vector<Standing>& all) {
    for (std::uint64_t seed = 0; seed < comparison.n_seeds; ++seed) {
        const auto cost = [&](const Standing& s) {
            const std::vector<Trial>& trials = s.contender->trials;
            return trials.empty()
                       ? Pair{infinity, infinity}
                       : costs.of(trials[std::min<std::size_t>(seed, trials.size() - 1)]);
        };
        Pair best{infinity, infinity};
        int sharers = 0;
        for (const Standing& s : all) {
            best = std::min(best, cost(s));
        }
        for (const Standing& s : all) {
            sharers += std::isfinite(best.first) && cost(s) == best;
        }
        for (Standing& s : all) {
            if (sharers > 0 && cost(s) == best) {
                s.wins += 1.0 / sharers;
            }
        }
    }
}

}  // namespace

double median(std::vector<double> values) {
    if (values.empty()) {
        return infinity;
    }
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    const double upper = values[half];
    if (values.size() % 2 != 0 || !std::isfinite(upper)) {
        return upper;
    }
    return (values[half - 1] + upper) / 2;
}

std::vector<Standing> standings(const Comparison& comparison) {
    const Costs costs(comparison);
    std::vector<Standing> all;
    for (const auto& contender : comparison.contenders) {
        all.push_back(standing(*contender, costs));
    }
    count_wins(comparison, costs, all);
    const auto cost = [](const Standing& s) { return Pair{s.median, s.later}; };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Standing& a, const Standing& b) { return cost(a) < cost(b); });
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool tied = i > 0 && cost(all[i]) == cost(all[i - 1]);
        all[i].rank = tied ? all[i - 1].rank : static_cast<int>(i) + 1;
        if (tied) {
            all[i].tied = all[i - 1].tied = true;
        }
    }
    const std::vector<double> first = values_of(*all.front().contender, costs);
    for (Standing& s : all) {
        const std::vector<double> own = values_of(*s.contender, costs);
        if (&s != &all.front() && own.size() >= fewest_seeds_for_test &&
            first.size() >= fewest_seeds_for_test) {
            s.p = u_test(first, own);
        }
    }
    return all;
}

std::vector<double> moments(const Comparison& comparison) {
    double longest = 0;
    for (const auto& contender : comparison.contenders) {
        for (const Trial& trial : contender->trials) {
            longest = std::max(longest, trial.wall_s);
        }
    }
    std::vector<double> result;
    for (double decade = 1e-3; decade < longest && decade < 1e9; decade *= 10) {
        result.push_back(decade);
        if (3 * decade < longest) {
            result.push_back(3 * decade);
        }
    }
    if (longest > 0) {
        result.push_back(longest);
    }
    constexpr std::size_t most = 8;
    if (result.size() > most) {
        result.erase(result.begin(), result.end() - most);
    }
    return result;
}

}  // namespace tessera::cli
