// Timeloop's accounting for single layers: the numbers of timeloop-model. The rules are in
// src/timeloop; this plugin brings native problems to them.
#include <algorithm>

#include "native.hpp"
#include "tessera/base/error.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::model {

namespace {

struct Evaluated {
    NativeCase native;
    timeloop::Stats stats;
};

Evaluated evaluated(const arch::Path& path, std::span<const mapping::PmappingNode> nodes) {
    Evaluated result{native_case(path, nodes), {}};
    const NativeCase& native = result.native;
    timeloop::Evaluation evaluation =
        timeloop::evaluate(native.problem, native.architecture, native.mapping, native.options);
    if (!evaluation.fit.ok()) {
        throw IllegalMapping(
            timeloop::describe(evaluation.fit, native.problem, native.architecture));
    }
    result.stats = std::move(evaluation.stats);
    if (!result.stats.forgotten.empty()) {
        throw IllegalMapping(result.stats.forgotten.front() +
                             ": Timeloop's model charges nothing for the rest");
    }
    if (result.stats.wrapped) {
        throw IllegalMapping(
            "a count of Timeloop's model falls below zero (imperfect tile shapes) or is above 2^63 "
            "(cycles at a bandwidth of almost nothing); its figures mean nothing");
    }
    return result;
}

double vectors(std::uint64_t words, std::int64_t block) {
    const auto size = static_cast<std::uint64_t>(block);
    return static_cast<double>(words / size + (words % size != 0));
}

TensorReport tensor_report(const timeloop::DataSpaceStats& stats,
                           const timeloop::StorageLevel& level, const std::string& name,
                           double actions_per_vector, double n_instances) {
    TensorReport report;
    report.tensor = name;
    const double instances = stats.utilized_instances * n_instances;
    const double reads = vectors(stats.reads, level.block_size) * instances;
    const double writes =
        (vectors(stats.fills, level.block_size) + vectors(stats.updates, level.block_size)) *
        instances;
    report.actions = {{"read", reads * actions_per_vector}, {"write", writes * actions_per_vector}};
    report.energy_j = {{"read", reads * level.energy.read_pj * 1e-12},
                       {"write", writes * level.energy.fill_pj * 1e-12}};
    report.has_occupancy = true;
    report.occupancy =
        level.size ? static_cast<double>(stats.utilized_capacity) / static_cast<double>(*level.size)
                   : 0;
    return report;
}

ComponentReport memory_report(const Evaluated& result, int level, const arch::Path& path) {
    const timeloop::StorageLevel& storage = result.native.architecture.storage[level];
    const timeloop::LevelStats& stats = result.stats.levels[level];
    ComponentReport report;
    report.component = storage.name;
    report.has_latency = true;
    report.latency_s =
        static_cast<double>(stats.cycles) * result.native.cycle_s * path.einsum.n_instances;
    for (std::size_t s = 0; s < stats.data_spaces.size(); ++s) {
        if (stats.data_spaces[s].kept) {
            report.tensors.push_back(
                tensor_report(stats.data_spaces[s], storage, path.einsum.tensors[s].name,
                              result.native.actions_per_vector[level], path.einsum.n_instances));
        }
    }
    return report;
}

ComponentReport compute_report(const Evaluated& result, const arch::Path& path) {
    const timeloop::ArithmeticStats& stats = result.stats.arithmetic;
    const double n = path.einsum.n_instances;
    ComponentReport report;
    report.component = path.compute().name;
    report.has_latency = true;
    report.latency_s = static_cast<double>(stats.cycles) * result.native.cycle_s * n;
    report.compute_actions["compute"] = static_cast<double>(stats.computes) * n;
    report.compute_energy_j["compute"] = stats.energy_pj * 1e-12 * n;
    return report;
}

EinsumReport einsum_report(const Evaluated& result, const arch::Path& path) {
    EinsumReport report;
    report.einsum = path.einsum.name;
    for (int i = result.native.architecture.levels() - 1; i >= 0; --i) {
        report.components.push_back(memory_report(result, i, path));
    }
    report.components.push_back(compute_report(result, path));
    report.dynamic_energy_j = result.stats.energy_pj * 1e-12 * path.einsum.n_instances;
    report.latency_s =
        static_cast<double>(result.stats.cycles) * result.native.cycle_s * path.einsum.n_instances;
    return report;
}

}  // namespace

class TimeloopModel : public CostModel {
public:
    std::string name() const override {
        return "timeloop";
    }
    /// Einsums one after the other. \throws IllegalMapping also where a memory forgets data.
    Report evaluate(const Problem& problem, const mapping::Mapping& mapping) const override {
        Report report;
        bool leaks = false;
        for (const mapping::EinsumMapping& part :
             mapping::split(mapping, *problem.workload, *problem.architecture, problem.compat)) {
            const Evaluated result = evaluated(part.path, part.nodes);
            leaks = leaks || result.native.leaks;
            report.einsums.push_back(einsum_report(result, part.path));
            for (const ComponentReport& component : report.einsums.back().components) {
                double occupancy = 0;
                for (const TensorReport& tensor : component.tensors) {
                    occupancy += tensor.occupancy;
                }
                if (component.compute_actions.empty()) {
                    double& peak = report.peak_occupancy[component.component];
                    peak = std::max(peak, occupancy);
                }
            }
        }
        if (leaks) {
            report.warnings.push_back(
                "leakage is not part of Timeloop's accounting and is left out");
        }
        return report;
    }

    EinsumReport evaluate(const Problem&, const arch::Path& path,
                          std::span<const mapping::PmappingNode> nodes) const override {
        return einsum_report(evaluated(path, nodes), path);
    }
};

TESSERA_PLUGIN(CostModel, TimeloopModel, "timeloop", "single layers as timeloop-model counts them",
               "Timeloop (ISPASS 2019)");

}  // namespace tessera::model
