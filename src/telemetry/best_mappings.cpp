#include "telemetry/best_mappings.hpp"

#include <algorithm>

#include "order.hpp"
#include "tessera/base/same_cost.hpp"

namespace tessera::telemetry {

namespace {

/// Metrics such as traffic take the place of the energy, or of the latency if that place is taken.
double metric_value(const std::vector<std::string>& metrics, const std::string& metric,
                    const Incumbent& found) {
    if (metric == "edp") {
        return found.energy_j * found.latency_s;
    }
    const bool energy = std::find(metrics.begin(), metrics.end(), "energy") != metrics.end();
    const bool first = energy                         ? metric == "energy"
                       : metrics.front() == "latency" ? metric != "latency"
                                                      : metric == metrics.front();
    return first ? found.energy_j : found.latency_s;
}

/// By mapper::later_metric() of the only metric.
base::Cost cost_of(const std::vector<std::string>& metrics, const Incumbent& found) {
    const std::string metric = metrics.empty() ? "" : metrics.front();
    const bool energy = metric.empty() || metric == "latency" || metric == "edp";
    return {found.value, energy ? found.energy_j : found.latency_s};
}

}  // namespace

bool is_better(const std::vector<std::string>& metrics, const Incumbent& a, const Incumbent& b) {
    return metrics.size() <= 1 ? base::better(cost_of(metrics, a), cost_of(metrics, b))
                               : a.value < b.value;
}

bool covers(const std::vector<std::string>& metrics, const Incumbent& a, const Incumbent& b) {
    if (metrics.size() <= 1) {
        return !is_better(metrics, b, a);
    }
    return std::all_of(metrics.begin(), metrics.end(), [&](const std::string& metric) {
        return metric_value(metrics, metric, a) <= metric_value(metrics, metric, b);
    });
}

bool BestMappings::take(const std::vector<Event>& events) {
    bool changed = false;
    for (const Event& event : events) {
        if (event.kind != Event::Kind::incumbent || !event.incumbent->mapping) {
            continue;
        }
        const Incumbent& found = *event.incumbent;
        std::erase_if(all_, [&](const Incumbent& old) { return covers(metrics_, found, old); });
        const auto place = std::upper_bound(
            all_.begin(), all_.end(), found,
            [](const Incumbent& a, const Incumbent& b) { return a.value < b.value; });
        all_.insert(place, found);
        changed = true;
    }
    return changed;
}

}  // namespace tessera::telemetry
