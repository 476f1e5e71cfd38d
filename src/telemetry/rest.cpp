#include "telemetry/rest.hpp"

#include <algorithm>

namespace tessera::telemetry {

namespace {

/// Before that nothing is said.
constexpr double least_elapsed_s = 1;
constexpr double unknown_length = 4;
/// A search ends up to this much after its limit.
constexpr double late_s = 0.5, late_share = 0.02;

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
    if (!s.bound && !limit) {
        return;
    }
    double least = s.elapsed_s / unknown_length;
    double most = s.bound ? s.elapsed_s * unknown_length : late(*limit);
    if (limit) {
        least = std::min(least, *limit);
        most = std::min(most, late(*limit));
    }
    s.rest = {least, most};
}

}  // namespace tessera::telemetry
