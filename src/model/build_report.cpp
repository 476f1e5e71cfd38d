#include <cmath>

#include "model/analysis/einsum_analysis.hpp"
#include "model/working_share.hpp"

namespace tessera::model {

namespace {

using arch::LevelKind;

class Builder {
public:
    explicit Builder(const EinsumAnalysis& einsum)
        : e_(einsum), tables_(einsum.tables), instances_(einsum.tables.n_instances) {}

    EinsumReport build();

private:
    ComponentReport component(int level) const;
    void add_holders(int level, ComponentReport& report) const;
    void add_routes(int level, ComponentReport& report) const;
    void add_leaks(EinsumReport& report) const;
    TensorReport& tensor(ComponentReport& report, int tensor) const;
    void count(TensorReport& report, const arch::PathLevel& level, int action, const char* name,
               double total) const;

    const EinsumAnalysis& e_;
    const PathTables& tables_;
    double instances_;
};

TensorReport& Builder::tensor(ComponentReport& report, int tensor) const {
    const std::string& name = e_.einsum().tensors[tensor].name;
    for (TensorReport& known : report.tensors) {
        if (known.tensor == name) {
            return known;
        }
    }
    report.tensors.push_back({});
    report.tensors.back().tensor = name;
    return report.tensors.back();
}

void Builder::count(TensorReport& report, const arch::PathLevel& level, int action,
                    const char* name, double total) const {
    const double actions = total * level.actions_scale * instances_;
    report.actions[name] += actions;
    report.energy_j[name] += action < 0 ? 0 : actions * level.actions[action].energy_j;
}

void Builder::add_holders(int level, ComponentReport& report) const {
    const arch::PathLevel& component = tables_.path().levels[level];
    const LevelFacts& facts = tables_.levels[level];
    for (const HolderCounts<double>& holder : e_.analysis.holders) {
        if (holder.level != level) {
            continue;
        }
        TensorReport& tensor = this->tensor(report, holder.tensor);
        count(tensor, component, facts.read, "read", holder.reads);
        count(tensor, component, facts.write, "write", holder.writes);
        if (component.kind == LevelKind::memory) {
            const double bits = holder.bits * (holder.persistent ? instances_ : 1);
            tensor.has_occupancy = true;
            tensor.occupancy = std::isinf(component.size_bits) ? 0 : bits / component.size_bits;
        }
    }
}

void Builder::add_routes(int level, ComponentReport& report) const {
    for (const NetworkCounts<double>& route : e_.analysis.networks) {
        if (route.level == level) {
            count(tensor(report, route.tensor), tables_.path().levels[level], 0, "hop", route.hops);
        }
    }
}

ComponentReport Builder::component(int level) const {
    const arch::PathLevel& component = tables_.path().levels[level];
    ComponentReport report;
    report.component = component.name;
    report.has_latency = e_.costs.has_latency[level];
    report.latency_s = e_.costs.level_latency_s[level] * instances_;
    for (std::size_t d = 0; d < component.spatial.size(); ++d) {
        const int dim = tables_.levels[level].first_dim + static_cast<int>(d);
        report.spatial_usage[component.spatial[d].name] =
            arch::share_in_use(component.spatial[d], e_.analysis.average_used(dim));
    }
    if (component.kind == LevelKind::compute) {
        const double actions = e_.analysis.operations * component.actions_scale * instances_;
        report.compute_actions["compute"] = actions;
        report.compute_energy_j["compute"] = actions * component.actions[0].energy_j;
    } else if (component.kind == LevelKind::network) {
        add_routes(level, report);
    } else {
        add_holders(level, report);
    }
    return report;
}

void Builder::add_leaks(EinsumReport& report) const {
    for (const arch::Leak& leak : tables_.path().leaks) {
        ComponentReport* target = nullptr;
        for (ComponentReport& known : report.components) {
            if (known.component == leak.component) {
                target = &known;
            }
        }
        if (target == nullptr) {
            if (leak.leak_power_w == 0) {
                continue;
            }
            report.components.push_back({});
            target = &report.components.back();
            target->component = leak.component;
        }
        target->leak_j = leak.leak_power_w * Costs<double>::powered(tables_, e_.analysis, leak) *
                         e_.costs.latency_s;
    }
}

EinsumReport Builder::build() {
    EinsumReport report;
    report.einsum = e_.einsum().name;
    for (int l = 0; l < tables_.n_levels; ++l) {
        const bool shown =
            tables_.path().levels[l].has_latency || !tables_.path().levels[l].spatial.empty();
        if (shown) {
            report.components.push_back(component(l));
        }
    }
    add_leaks(report);
    report.dynamic_energy_j = e_.costs.dynamic_energy_j;
    report.leak_energy_j = e_.costs.leak_energy_j;
    report.latency_s = e_.costs.latency_s;
    return report;
}

}  // namespace

double working_share(const mapping::EinsumMapping& einsum, arch::Compat compat) {
    const EinsumAnalysis analysed(einsum.path, einsum.nodes, compat);
    const Analysis<double>& analysis = analysed.analysis;
    if (!analysis.has_partial_tiles() || analysed.tables.copy) {
        return 1;
    }
    double share = analysis.operations / analysis.steps;
    for (std::size_t d = 0; d < analysed.tables.dims.size(); ++d) {
        share /= analysis.average_used(static_cast<int>(d));
    }
    return share;
}

EinsumReport build_report(const EinsumAnalysis& einsum) {
    return Builder(einsum).build();
}

}  // namespace tessera::model
