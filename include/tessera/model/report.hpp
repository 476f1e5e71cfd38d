// What a cost model says about a mapping. SI units: J, s, bit. Totals are derived, never stored
// twice.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::model {

/// Action counts and energies of one tensor in one component (tensor "" where there is none).
struct TensorReport {
    std::string tensor;
    std::map<std::string, double>
        actions;  ///< read, write, hop: net counts, all instances and n_instances
    std::map<std::string, double> energy_j;  ///< same keys
    double occupancy = 0;  ///< fraction of the memory's size; 0 for an infinite one
    bool has_occupancy = false;
};

struct ComponentReport {
    std::string component;
    double latency_s = 0;
    bool has_latency = false;
    double leak_j = 0;
    std::map<std::string, double> compute_actions;  ///< compute: count
    std::map<std::string, double> compute_energy_j;
    std::map<std::string, double>
        spatial_usage;  ///< dimension -> average of instances in use / fan-out * usage_scale
    std::vector<TensorReport> tensors;
};

struct EinsumReport {
    std::string einsum;
    std::vector<ComponentReport> components;
    double dynamic_energy_j = 0, leak_energy_j = 0, latency_s = 0;  ///< n_instances included
    /// Words (values of their tensors) read from and written to the outermost memory, n_instances
    /// included. Empty: the model does not count them.
    std::optional<double> traffic_words;
    double energy_j() const {
        return dynamic_energy_j + leak_energy_j;
    }
};

/// One Einsum in the steady state of a pipeline.
struct PipelineSlot {
    int einsum = 0;                 ///< index into Report::einsums
    std::string unit;               ///< compute component
    int stage = 0;                  ///< works on the tile that stage 0 worked on so many rounds ago
    double start_s = 0, end_s = 0;  ///< in its round, times the number of rounds
};

/// Einsums of one fused group that run at the same time on several computes. Every round runs each
/// of them once.
struct Pipeline {
    std::vector<PipelineSlot> slots;  ///< by start
    /// In place of the sum of its Einsums: of all rounds, those that fill and drain it included,
    /// and no less than any memory's transfers take.
    double latency_s = 0;
};

/// A whole mapping.
struct Report {
    std::vector<EinsumReport> einsums;
    /// Empty for models in which Einsums run one after the other. An Einsum is in one at most.
    std::vector<Pipeline> pipelines;
    /// Highest fraction of each memory in use at any time (0 for an infinite one).
    std::map<std::string, double> peak_occupancy;
    std::vector<std::string> warnings;  ///< violated mapper constraints: keep, reuse, usage, ...

    double energy_j() const;
    double dynamic_energy_j() const;
    double leak_energy_j() const;
    double latency_s() const;  ///< pipelines and all other Einsums run one after the other
    double edp_js() const {
        return energy_j() * latency_s();
    }
    std::optional<double> traffic_words() const;  ///< empty if some Einsum has none
};

}  // namespace tessera::model
