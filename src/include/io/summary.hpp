// Where the energy and the time of a mapping go, and what limits it: sums over its report.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/json.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::io {

struct ComponentSummary {
    std::string name;
    double energy_j = 0, leak_j = 0;  ///< leakage included in energy
    double busy_s = 0;                ///< sum of its own latencies
    double limits_s = 0;              ///< time of the Einsums whose slowest component it is
    bool computes = false;            ///< else it stores or moves
    std::optional<double> occupancy;  ///< highest fraction in use
};

struct EinsumSummary {
    std::string name;
    double energy_j = 0, latency_s = 0;
    std::string limit;  ///< the slowest component; empty: nothing takes time
    double compute_use = 0;  ///< of all computes, averaged over the Einsum's time; 0: no time
};

struct TensorSummary {
    std::string name;  ///< "(compute)", "(leakage)" for what belongs to no tensor
    double energy_j = 0;
};

/// Every list adds up to the report's totals. Components and Einsums in the report's order, tensors
/// by name.
struct Summary {
    double energy_j = 0, latency_s = 0;
    std::vector<ComponentSummary> components;
    std::vector<EinsumSummary> einsums;
    std::vector<TensorSummary> tensors;
    double computes = 0;     ///< actions of all compute components
    double compute_use = 0;  ///< averaged over the whole time; 0: no time
    std::optional<double> traffic_words;
    double least_traffic_words = 0;  ///< every input and every result of the workload once
};

/// Thread rule: pure.
Summary summarise(const model::Problem& problem, const model::Report& report);

base::Json summary_json(const Summary& summary);

}  // namespace tessera::io
