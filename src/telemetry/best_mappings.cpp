#include "telemetry/best_mappings.hpp"

#include <algorithm>

namespace tessera::telemetry {

namespace {

double metric_value(const std::string& metric, const Incumbent& found) {
    return metric == "energy"    ? found.energy_j
           : metric == "latency" ? found.latency_s
                                 : found.energy_j * found.latency_s;
}

}  // namespace

bool covers(const std::vector<std::string>& metrics, const Incumbent& a, const Incumbent& b) {
    if (metrics.size() <= 1) {
        return a.value <= b.value;
    }
    return std::all_of(metrics.begin(), metrics.end(), [&](const std::string& metric) {
        return metric_value(metric, a) <= metric_value(metric, b);
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
