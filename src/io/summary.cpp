#include "io/summary.hpp"

#include <algorithm>

#include "io/report_json.hpp"

namespace tessera::io {

namespace {

double sum(const std::map<std::string, double>& values) {
    double result = 0;
    for (const auto& [name, value] : values) {
        result += value;
    }
    return result;
}

/// The entry of that name, made if there is none.
template <class Entry>
Entry& entry(std::vector<Entry>& entries, const std::string& name) {
    for (Entry& known : entries) {
        if (known.name == name) {
            return known;
        }
    }
    entries.emplace_back();
    entries.back().name = name;
    return entries.back();
}

const model::ComponentReport* slowest(const model::EinsumReport& einsum) {
    const model::ComponentReport* result = nullptr;
    for (const model::ComponentReport& component : einsum.components) {
        const bool slower = component.has_latency && component.latency_s > 0 &&
                            (result == nullptr || component.latency_s > result->latency_s);
        result = slower ? &component : result;
    }
    return result;
}

/// The share of all computes that work, averaged over the Einsum's time: the share of the time that
/// the computes in use work, times the share of every spatial dimension that is used.
double compute_use(const model::EinsumReport& einsum) {
    double use = 0;
    for (const model::ComponentReport& component : einsum.components) {
        use += component.compute_actions.empty() ? 0 : component.latency_s;
    }
    for (const model::ComponentReport& component : einsum.components) {
        for (const auto& [dim, share] : component.spatial_usage) {
            use *= share;
        }
    }
    return einsum.latency_s > 0 ? use / einsum.latency_s : 0;
}

void add(const model::EinsumReport& einsum, Summary& result) {
    EinsumSummary own;
    own.name = einsum.einsum;
    own.energy_j = einsum.energy_j();
    own.latency_s = einsum.latency_s;
    own.compute_use = compute_use(einsum);
    const model::ComponentReport* const limit = slowest(einsum);
    if (limit != nullptr) {
        own.limit = limit->component;
        entry(result.components, limit->component).limits_s += einsum.latency_s;
    }
    result.einsums.push_back(own);
    for (const model::ComponentReport& component : einsum.components) {
        ComponentSummary& total = entry(result.components, component.component);
        const double compute_j = sum(component.compute_energy_j);
        total.leak_j += component.leak_j;
        total.energy_j += component.leak_j + compute_j;
        total.busy_s += component.has_latency ? component.latency_s : 0;
        total.computes = total.computes || !component.compute_actions.empty();
        result.computes += sum(component.compute_actions);
        entry(result.tensors, "(leakage)").energy_j += component.leak_j;
        entry(result.tensors, "(compute)").energy_j += compute_j;
        for (const model::TensorReport& tensor : component.tensors) {
            const double energy_j = sum(tensor.energy_j);
            total.energy_j += energy_j;
            entry(result.tensors, tensor.tensor).energy_j += energy_j;
        }
    }
}

/// Inputs are read, results are written; what is made and used in between need not leave.
double least_traffic(const workload::Workload& workload) {
    double words = 0;
    for (const workload::Tensor& tensor : workload.tensors) {
        words += tensor.intermediate() ? 0 : tensor.size_values;
    }
    return words * workload.n_instances;
}

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

}  // namespace

Summary summarise(const model::Problem& problem, const model::Report& report) {
    Summary result;
    result.energy_j = report.energy_j();
    result.latency_s = report.latency_s();
    double used_s = 0;
    for (const model::EinsumReport& einsum : report.einsums) {
        add(einsum, result);
        used_s += result.einsums.back().compute_use * einsum.latency_s;
    }
    std::sort(result.tensors.begin(), result.tensors.end(),
              [](const TensorSummary& a, const TensorSummary& b) { return a.name < b.name; });
    for (const auto& [memory, fraction] : report.peak_occupancy) {
        entry(result.components, memory).occupancy = fraction;
    }
    result.compute_use = share(used_s, result.latency_s);
    result.traffic_words = report.traffic_words();
    result.least_traffic_words = least_traffic(*problem.workload);
    return result;
}

base::Json summary_json(const Summary& summary) {
    base::Json root;
    root["components"] = base::Json::object();
    for (const ComponentSummary& component : summary.components) {
        base::Json& one = root["components"][component.name];
        put(one, "energy_j", component.energy_j);
        put(one, "leak_j", component.leak_j);
        put(one, "busy_s", component.busy_s);
        put(one, "limits_s", component.limits_s);
        if (component.occupancy) {
            put(one, "occupancy", *component.occupancy);
        }
    }
    root["einsums"] = base::Json::object();
    for (const EinsumSummary& einsum : summary.einsums) {
        base::Json& one = root["einsums"][einsum.name];
        one["limit"] = einsum.limit.empty() ? base::Json(nullptr) : base::Json(einsum.limit);
        put(one, "compute_use", einsum.compute_use);
    }
    root["tensors"] = base::Json::object();
    for (const TensorSummary& tensor : summary.tensors) {
        put(root["tensors"][tensor.name], "energy_j", tensor.energy_j);
    }
    put(root, "computes", summary.computes);
    put(root, "compute_use", summary.compute_use);
    put(root, "least_traffic_words", summary.least_traffic_words);
    return root;
}

}  // namespace tessera::io
