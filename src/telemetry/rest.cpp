#include "telemetry/rest.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::telemetry {

namespace {

/// Before that nothing is said.
constexpr double least_elapsed_s = 1;
constexpr double unknown_length = 4, by_gap = 4;
/// A gap that fell by less over the second half of the time leads nowhere.
constexpr double least_decline = 0.1;
/// A search ends up to this much after its limit.
constexpr double late_s = 0.5, late_share = 0.02;

/// (best - bound) / best at that time, from the histories; nothing before there are both.
std::optional<double> gap_at(const Snapshot& s, double time_s) {
    std::optional<double> best, bound;
    for (const IncumbentView& found : s.incumbents) {
        if (found.time_s <= time_s && (!best || found.value < *best)) {
            best = found.value;
        }
    }
    for (const Step& step : s.bounds) {
        if (step.time_s <= time_s) {
            bound = step.value;
        }
    }
    return best && bound && *best > 0 ? std::optional((*best - *bound) / *best) : std::nullopt;
}

/// Until the gap is as small as is asked for, if it goes on to fall as it did. A proof of the
/// optimum does not end by that: its gap stays open and then closes at once.
std::optional<double> rest_by_gap(const Snapshot& s) {
    const auto asked = std::find_if(s.budgets.begin(), s.budgets.end(),
                                    [](const BudgetView& budget) { return budget.name == "gap"; });
    if (asked == s.budgets.end()) {
        return std::nullopt;
    }
    const std::optional<double> then = gap_at(s, s.elapsed_s / 2), now = gap_at(s, s.elapsed_s);
    if (!then || !now || !(*now > 0) || *now > *then * (1 - least_decline)) {
        return std::nullopt;
    }
    const double per_s = std::log(*then / *now) / (s.elapsed_s / 2);
    return std::max(0.0, std::log(*now / asked->limit) / per_s);
}

/// Until the first limit of time or of evaluations.
std::optional<double> rest_by_limits(const Snapshot& s) {
    std::optional<double> rest;
    const auto at_most = [&](double value) { rest = std::min(rest.value_or(value), value); };
    for (const BudgetView& budget : s.budgets) {
        const double open = std::max(0.0, budget.limit - budget.used);
        if (budget.name == "max-time") {
            at_most(open);
        } else if (budget.name == "max-cpu-time" && s.cpu_s > 0) {
            at_most(open * s.elapsed_s / s.cpu_s);
        } else if (budget.name == "max-evals" && s.rate_per_s > 0) {
            at_most(open / s.rate_per_s);
        }
    }
    return rest;
}

}  // namespace

void estimate_rest(Snapshot& s) {
    s.rest = {};
    if (s.state != RunState::running || s.elapsed_s < least_elapsed_s) {
        return;
    }
    const std::optional<double> limit = rest_by_limits(s);
    const auto late = [](double rest_s) { return rest_s * (1 + late_share) + late_s; };
    if (!s.bound) {
        if (limit) {
            s.rest = {*limit, late(*limit)};
        }
        return;
    }
    double least = s.elapsed_s / unknown_length, most = s.elapsed_s * unknown_length;
    if (const std::optional<double> rest_s = rest_by_gap(s)) {
        const double from = *rest_s / by_gap, to = *rest_s * by_gap;
        // Where the two have nothing in common, the range reaches from one to the other.
        const double low = to < least ? from : from > most ? most : std::max(least, from);
        most = to < least ? least : from > most ? to : std::min(most, to);
        least = low;
    }
    if (limit) {
        least = std::min(least, *limit);
        most = std::min(most, late(*limit));
    }
    s.rest = {least, most};
}

}  // namespace tessera::telemetry
