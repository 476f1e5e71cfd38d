// What is minimised: names, keys in JSON, units. Whoever writes or reads a metric takes them from
// here. Thread rule: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tessera::mapper {

/// Several metrics ask for the Pareto set; `edp` stands alone. `traffic` is
/// Report::traffic_words(); energy is the sum of `dynamic_energy` and `leak_energy`. The host asks
/// mappers for energy, latency and edp only: for the others it gives them a model whose energy, or
/// latency where the place of energy is taken, is the metric.
enum class Metric : std::uint8_t { energy, latency, edp, traffic, dynamic_energy, leak_energy };

struct MetricFacts {
    Metric metric;
    const char* name;  ///< on the command line
    const char* key;   ///< in JSON and tables
    const char* unit;  ///< of a hardware in J and s
};

inline constexpr std::array all_metrics{
    MetricFacts{Metric::energy, "energy", "energy_j", "J"},
    MetricFacts{Metric::latency, "latency", "latency_s", "s"},
    MetricFacts{Metric::edp, "edp", "edp_js", "J s"},
    MetricFacts{Metric::traffic, "traffic", "traffic_words", "words"},
    MetricFacts{Metric::dynamic_energy, "dynamic_energy", "dynamic_energy_j", "J"},
    MetricFacts{Metric::leak_energy, "leak_energy", "leak_energy_j", "J"}};

static_assert(all_metrics[0].metric == Metric::energy && all_metrics[1].metric == Metric::latency &&
              all_metrics[2].metric == Metric::edp && all_metrics[3].metric == Metric::traffic &&
              all_metrics[4].metric == Metric::dynamic_energy &&
              all_metrics[5].metric == Metric::leak_energy && all_metrics.size() == 6);

constexpr const MetricFacts& facts(Metric metric) {
    return all_metrics[static_cast<std::size_t>(metric)];
}
/// Null: no metric has this name.
constexpr const MetricFacts* find_metric(std::string_view name) {
    for (const MetricFacts& one : all_metrics) {
        if (name == one.name) {
            return &one;
        }
    }
    return nullptr;
}

/// By which metric mappings are ranked that are equal by this one (order.hpp).
constexpr Metric later_metric(Metric metric) {
    switch (metric) {
        case Metric::energy:
        case Metric::traffic:
        case Metric::dynamic_energy:
        case Metric::leak_energy:
            return Metric::latency;
        case Metric::latency:
        case Metric::edp:
            break;
    }
    return Metric::energy;
}

/// In J, s or J s; NaN for the others, of which these say nothing.
constexpr double metric_value(Metric metric, double energy_j, double latency_s) {
    switch (metric) {
        case Metric::energy:
            return energy_j;
        case Metric::latency:
            return latency_s;
        case Metric::edp:
            return energy_j * latency_s;
        case Metric::traffic:
        case Metric::dynamic_energy:
        case Metric::leak_energy:
            break;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace tessera::mapper
