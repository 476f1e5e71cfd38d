// Where the energy and the time of a mapping go, and what limits it: sums over its report.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/json.hpp"
#include "tessera/mapping/pmapping.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::io {

/// One spatial dimension of a component.
struct DimSummary {
    std::string name;
    double fanout = 1;
    double use = 0;  ///< share of the instances in use, averaged over the time
};

struct ComponentSummary {
    std::string name;
    double energy_j = 0, leak_j = 0;  ///< leakage included in energy
    double busy_s = 0;                ///< sum of its own latencies
    double limits_s = 0;              ///< time of the Einsums whose slowest component it is
    bool computes = false;            ///< else it stores or moves
    std::optional<double> occupancy;  ///< highest fraction in use
    std::optional<double> size_bits;  ///< of one instance of a memory; empty: no memory
    std::vector<DimSummary> dims;
};

struct EinsumSummary {
    std::string name;
    double energy_j = 0, latency_s = 0;
    std::string limit;       ///< the slowest component; empty: nothing takes time
    double compute_use = 0;  ///< of all computes, averaged over the Einsum's time; 0: no time
    double computes = 0;
    /// Moved at the outermost memory; empty: the report does not tell.
    std::optional<double> traffic_bits;
    /// The roofs: computes per second with all instances at work, and bits per second that the
    /// outermost memory moves while it is busy. 0: unlimited.
    double peak_computes_per_s = 0, memory_bits_per_s = 0;
    /// Share of the instances in use of "component.dimension".
    std::map<std::string, double> spatial_use;
};

struct TensorSummary {
    std::string name;  ///< "(compute)", "(leakage)" for what belongs to no tensor
    double energy_j = 0;
};

/// Actions of one tensor in one component, all Einsums and instances together.
struct TrafficSummary {
    std::string component, tensor;
    double reads = 0, writes = 0, hops = 0;
    double energy_j = 0;
};

/// What fusion keeps from the outermost memory: an intermediate that stays below it is not written
/// there once and not read by each consumer once. At least that, as tiles may be fetched again.
struct FusionSummary {
    std::vector<std::string> tensors;
    double words = 0;
    double energy_j = 0;  ///< of these words at the outermost memory
};

/// Every list adds up to the report's totals. Components and Einsums in the report's order, tensors
/// by name.
struct Summary {
    double energy_j = 0, latency_s = 0;
    std::vector<ComponentSummary> components;
    std::vector<EinsumSummary> einsums;
    std::vector<TensorSummary> tensors;
    std::vector<TrafficSummary> traffic;  ///< by component in the report's order, then by tensor
    std::string outermost;                ///< memory; empty: unknown
    double computes = 0;                  ///< actions of all compute components
    /// Averaged over the whole time; 0: no time. With pipelines the mean of the computes in use.
    double compute_use = 0;
    std::optional<double> traffic_words;
    double least_traffic_words = 0;  ///< every input and every result of the workload once
};

/// `einsums`: a whole mapping, split; `report`: of it. Thread rule: pure.
Summary summarise(const model::Problem& problem, const std::vector<mapping::EinsumMapping>& einsums,
                  const model::Report& report);

/// Of a whole mapping, split.
FusionSummary fusion_saved(const std::vector<mapping::EinsumMapping>& einsums);

base::Json summary_json(const Summary& summary, const FusionSummary& fusion);

}  // namespace tessera::io
