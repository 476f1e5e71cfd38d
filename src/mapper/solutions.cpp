#include "tessera/mapper/solutions.hpp"

#include <algorithm>

#include "tessera/mapper/order.hpp"

namespace tessera::mapper {

void keep_if_better(std::vector<Solution>& known, const Solution& solution,
                    const std::vector<Metric>& metrics) {
    const auto as_good = [&](const Solution& a, const Solution& b) {
        if (metrics.size() == 1) {
            return !better(metrics.front(), b.report, a.report);
        }
        return std::all_of(metrics.begin(), metrics.end(), [&](Metric metric) {
            return metric_value(metric, a.report) <= metric_value(metric, b.report);
        });
    };
    if (std::any_of(known.begin(), known.end(),
                    [&](const Solution& one) { return as_good(one, solution); })) {
        return;
    }
    std::erase_if(known, [&](const Solution& one) { return as_good(solution, one); });
    const auto first = [&](const Solution& a) { return metric_value(metrics.front(), a.report); };
    known.insert(
        std::upper_bound(known.begin(), known.end(), solution,
                         [&](const Solution& a, const Solution& b) { return first(a) < first(b); }),
        solution);
}

void keep_starts(Result& result, const Options& options) {
    const model::Report own = result.solutions.front().report;
    for (const Solution& given : options.start) {
        keep_if_better(result.solutions, given, options.metrics);
    }
    if (better(options.metrics.front(), result.solutions.front().report, own)) {
        result.reasons.emplace_back(
            "a mapping that was given to begin with is better than what this mapper makes");
    }
}

}  // namespace tessera::mapper
