// What mappings cost, as base::better() compares it. Thread rule: any.
#pragma once

#include "tessera/base/same_cost.hpp"
#include "tessera/mapper/mapper.hpp"

namespace tessera::mapper {

/// By a metric and its later metric; in J, s, J s or words.
inline base::Cost cost_of(Metric metric, double energy_j, double latency_s) {
    return {metric_value(metric, energy_j, latency_s),
            metric_value(later_metric(metric), energy_j, latency_s)};
}
/// \copydoc cost_of(Metric, double, double)
inline base::Cost cost_of(Metric metric, const model::Report& report) {
    return {metric_value(metric, report), metric_value(later_metric(metric), report)};
}

/// Whether nothing is left to be found: proven by all metrics that it speaks of.
inline bool ended(const Result& result) {
    return result.status != Status::feasible && (!result.later || result.later->proven);
}

/// Whether a mapping with report `a` is better than one with `b`.
inline bool better(Metric metric, const model::Report& a, const model::Report& b) {
    return base::better(cost_of(metric, a), cost_of(metric, b));
}

}  // namespace tessera::mapper
