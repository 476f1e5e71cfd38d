#include "io/summary.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "io/report_json.hpp"
#include "model/working_share.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::io {

namespace {

double sum(const std::map<std::string, double>& values) {
    double result = 0;
    for (const auto& [name, value] : values) {
        result += value;
    }
    return result;
}

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
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

/// Whether the report says of each spatial dimension how much of it is in use, as looptree does.
bool tells_usage(const model::EinsumReport& report, const arch::Path& path) {
    return std::all_of(path.levels.begin(), path.levels.end(), [&](const arch::PathLevel& level) {
        return level.spatial.empty() ||
               std::any_of(report.components.begin(), report.components.end(),
                           [&](const model::ComponentReport& component) {
                               return component.component == level.name &&
                                      component.spatial_usage.size() == level.spatial.size();
                           });
    });
}

double value(const std::map<std::string, double>& values, const char* key) {
    const auto found = values.find(key);
    return found == values.end() ? 0 : found->second;
}

/// Where the traffic of a component and a tensor stands in the summary.
using Places = std::map<std::pair<std::string, std::string>, std::size_t>;

/// One Einsum's part of a summary.
class Adder {
public:
    /// `mapping`: null if it is not known.
    Adder(const mapping::EinsumMapping* mapping, const model::EinsumReport& einsum, Places& places,
          Summary& result)
        : einsum_(einsum),
          places_(places),
          result_(result),
          path_(mapping != nullptr ? &mapping->path : nullptr),
          mapping_(mapping) {}

    void add(arch::Compat compat) {
        own_.name = einsum_.einsum;
        own_.energy_j = einsum_.energy_j();
        own_.latency_s = einsum_.latency_s;
        const double all_s = compute_s(compat);
        own_.compute_use = share(all_s, einsum_.latency_s);
        own_.peak_computes_per_s = share(sum_of_computes(), all_s);
        if (const model::ComponentReport* const limit = slowest(einsum_); limit != nullptr) {
            own_.limit = limit->component;
            entry(result_.components, limit->component).limits_s += einsum_.latency_s;
        }
        for (const model::ComponentReport& component : einsum_.components) {
            add(component);
        }
        roofs();
        result_.einsums.push_back(own_);
    }

private:
    void add(const model::ComponentReport& component) {
        const double compute_j = sum(component.compute_energy_j);
        double tensors_j = 0;
        for (const model::TensorReport& tensor : component.tensors) {
            const double energy_j = sum(tensor.energy_j);
            tensors_j += energy_j;
            entry(result_.tensors, tensor.tensor).energy_j += energy_j;
            TrafficSummary& traffic = this->traffic(component.component, tensor.tensor);
            traffic.reads += value(tensor.actions, "read");
            traffic.writes += value(tensor.actions, "write");
            traffic.hops += value(tensor.actions, "hop");
            traffic.energy_j += energy_j;
        }
        entry(result_.tensors, "(leakage)").energy_j += component.leak_j;
        entry(result_.tensors, "(compute)").energy_j += compute_j;
        own_.computes += sum(component.compute_actions);
        result_.computes += sum(component.compute_actions);
        ComponentSummary& total = entry(result_.components, component.component);
        total.leak_j += component.leak_j;
        total.energy_j += component.leak_j + compute_j + tensors_j;
        total.busy_s += component.has_latency ? component.latency_s : 0;
        total.computes = total.computes || !component.compute_actions.empty();
        for (const auto& [dim, use] : component.spatial_usage) {
            own_.spatial_use[component.component + "." + dim] = use;
            entry(total.dims, dim).use += use * einsum_.latency_s;
        }
        sizes(total);
    }

    void sizes(ComponentSummary& total) const {
        const int level = path_ != nullptr ? path_->find_level(total.name) : -1;
        if (level < 0) {
            return;
        }
        const arch::PathLevel& known = path_->levels[static_cast<std::size_t>(level)];
        if (known.kind == arch::LevelKind::memory) {
            total.size_bits = known.size_bits;
        }
        for (const arch::PathDim& dim : known.spatial) {
            entry(total.dims, dim.name).fanout = static_cast<double>(dim.fanout);
        }
    }

    TrafficSummary& traffic(const std::string& component, const std::string& tensor) {
        const auto [place, added] = places_.try_emplace({component, tensor}, places_.size());
        if (added) {
            result_.traffic.push_back({component, tensor, 0, 0, 0, 0});
        }
        return result_.traffic[place->second];
    }

    double sum_of_computes() const {
        double computes = 0;
        for (const model::ComponentReport& component : einsum_.components) {
            computes += sum(component.compute_actions);
        }
        return computes;
    }

    /// Seconds that all computes together need for what they do: those that the computes in use
    /// take, times the share of every spatial dimension that is used and that of their steps in
    /// which they work.
    double compute_s(arch::Compat compat) const {
        double seconds = 0;
        for (const model::ComponentReport& component : einsum_.components) {
            seconds += component.compute_actions.empty() ? 0 : component.latency_s;
        }
        for (const model::ComponentReport& component : einsum_.components) {
            for (const auto& [dim, use] : component.spatial_usage) {
                seconds *= use;
            }
        }
        const bool partial = path_ != nullptr && tells_usage(einsum_, *path_);
        return partial ? seconds * model::working_share(*mapping_, compat) : seconds;
    }

    /// The pace at which the outermost memory moves what it moves.
    void roofs() {
        const int outermost = path_ != nullptr ? path_->first_memory() : -1;
        if (outermost < 0) {
            return;
        }
        const arch::PathLevel& memory = path_->levels[static_cast<std::size_t>(outermost)];
        result_.outermost = memory.name;
        for (const model::ComponentReport& component : einsum_.components) {
            if (component.component == memory.name) {
                own_.traffic_bits = bits_moved(memory, component);
                own_.memory_bits_per_s = share(*own_.traffic_bits, component.latency_s);
            }
        }
    }

    double bits_moved(const arch::PathLevel& memory, const model::ComponentReport& report) const {
        double bits = 0;
        for (const model::TensorReport& tensor : report.tensors) {
            const int local = path_->einsum.find_tensor(tensor.tensor);
            for (const arch::PathAction& action : memory.actions) {
                const double actions = value(tensor.actions, action.name.c_str());
                if (local >= 0 && actions > 0) {
                    const auto t = static_cast<std::size_t>(local);
                    bits += actions / memory.actions_scale * action.values_per_action[t] *
                            memory.bits_per_value[t];
                }
            }
        }
        return bits;
    }

    const model::EinsumReport& einsum_;
    Places& places_;
    Summary& result_;
    const arch::Path* const path_;
    const mapping::EinsumMapping* const mapping_;
    EinsumSummary own_;
};

/// How often Einsums that use the tensor run: those that run most often.
double times_run(const workload::Workload& workload, const workload::Tensor& tensor) {
    double most = 1;
    for (const std::vector<int>& users : {tensor.producers, tensor.consumers}) {
        for (const int einsum : users) {
            most = std::max(most, workload.einsums[static_cast<std::size_t>(einsum)].n_instances);
        }
    }
    return most;
}

/// Inputs are read, results are written; what is made and used in between need not leave.
double least_traffic(const workload::Workload& workload) {
    double words = 0;
    for (const workload::Tensor& tensor : workload.tensors) {
        words += tensor.intermediate() ? 0 : tensor.size_values * times_run(workload, tensor);
    }
    return words * workload.n_instances;
}

}  // namespace

Summary summarise(const model::Problem& problem, const std::vector<mapping::EinsumMapping>& einsums,
                  const model::Report& report) {
    Summary result;
    result.energy_j = report.energy_j();
    result.latency_s = report.latency_s();
    double used_s = 0;
    std::map<std::string_view, const mapping::EinsumMapping*> mappings;
    for (const mapping::EinsumMapping& einsum : einsums) {
        mappings[einsum.path.einsum.name] = &einsum;
    }
    Places places;
    for (const model::EinsumReport& einsum : report.einsums) {
        Adder(mappings[einsum.einsum], einsum, places, result).add(problem.compat);
        used_s += result.einsums.back().compute_use * einsum.latency_s;
    }
    std::sort(result.tensors.begin(), result.tensors.end(),
              [](const TensorSummary& a, const TensorSummary& b) { return a.name < b.name; });
    for (const auto& [memory, fraction] : report.peak_occupancy) {
        entry(result.components, memory).occupancy = fraction;
    }
    for (ComponentSummary& component : result.components) {
        for (DimSummary& dim : component.dims) {
            dim.use = share(dim.use, result.latency_s);
        }
    }
    // Where computes work at the same time, the mean of those that have work.
    const auto computes = std::count_if(result.components.begin(), result.components.end(),
                                        [](const ComponentSummary& c) { return c.computes; });
    const bool at_once = !report.pipelines.empty() && computes > 0;
    result.compute_use =
        share(used_s, result.latency_s) / static_cast<double>(at_once ? computes : 1);
    result.traffic_words = report.traffic_words();
    result.least_traffic_words = least_traffic(*problem.workload);
    return result;
}

FusionSummary fusion_saved(const std::vector<mapping::EinsumMapping>& einsums) {
    FusionSummary result;
    for (const mapping::EinsumMapping& einsum : einsums) {
        const int outermost = einsum.path.first_memory();
        for (const mapping::PmappingNode& node : einsum.nodes) {
            if (node.kind != mapping::NodeKind::storage || !node.backing ||
                node.level == outermost) {
                continue;
            }
            const auto local = static_cast<std::size_t>(node.tensor);
            const workload::LocalTensor& tensor = einsum.path.einsum.tensors[local];
            const arch::PathLevel& memory = einsum.path.levels[static_cast<std::size_t>(outermost)];
            if (!tensor.intermediate) {
                continue;
            }
            if (std::find(result.tensors.begin(), result.tensors.end(), tensor.name) ==
                result.tensors.end()) {
                result.tensors.push_back(tensor.name);
            }
            const workload::EinsumView& view = einsum.path.einsum;
            const double words = workload::box_values(tensor, view.bounds(), view.n_instances);
            result.words += words;
            for (const arch::PathAction& action : memory.actions) {
                if (action.name == (tensor.output ? "write" : "read")) {
                    result.energy_j += words / action.values_per_action[local] *
                                       memory.actions_scale * action.energy_j;
                }
            }
        }
    }
    return result;
}

base::Json summary_json(const Summary& summary, const FusionSummary& fusion) {
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
        if (component.size_bits) {
            put(one, "size_bytes", *component.size_bits / 8);
        }
        for (const DimSummary& dim : component.dims) {
            put(one["spatial"][dim.name], "instances", dim.fanout);
            put(one["spatial"][dim.name], "use", dim.use);
        }
    }
    root["einsums"] = base::Json::object();
    for (const EinsumSummary& einsum : summary.einsums) {
        base::Json& one = root["einsums"][einsum.name];
        one["limit"] = einsum.limit.empty() ? base::Json(nullptr) : base::Json(einsum.limit);
        put(one, "compute_use", einsum.compute_use);
        put(one, "computes", einsum.computes);
        if (einsum.traffic_bits) {
            put(one, "traffic_bytes", *einsum.traffic_bits / 8);
        }
        put(one, "peak_computes_per_s", einsum.peak_computes_per_s);
        put(one, "memory_bytes_per_s", einsum.memory_bits_per_s / 8);
    }
    root["tensors"] = base::Json::object();
    for (const TensorSummary& tensor : summary.tensors) {
        put(root["tensors"][tensor.name], "energy_j", tensor.energy_j);
    }
    root["traffic"] = base::Json::object();
    for (const TrafficSummary& traffic : summary.traffic) {
        base::Json& one = root["traffic"][traffic.component][traffic.tensor];
        put(one, "reads", traffic.reads);
        put(one, "writes", traffic.writes);
        put(one, "hops", traffic.hops);
        put(one, "energy_j", traffic.energy_j);
    }
    root["fusion"]["tensors"] = fusion.tensors;
    put(root["fusion"], "saved_words", fusion.words);
    put(root["fusion"], "saved_energy_j", fusion.energy_j);
    put(root, "computes", summary.computes);
    put(root, "compute_use", summary.compute_use);
    put(root, "least_traffic_words", summary.least_traffic_words);
    return root;
}

}  // namespace tessera::io
