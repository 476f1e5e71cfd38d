#include "pipelines.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "tessera/base/error.hpp"
#include "tessera/model/coexistence.hpp"

namespace tessera::transfusion {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Number of iterations per node, 1 for nodes that are no loops.
std::vector<double> trips_of(const Part& part) {
    std::vector<double> trips;
    std::vector<std::int64_t> open = part.einsum->bounds();
    for (const mapping::PmappingNode& node : *part.nodes) {
        trips.push_back(1);
        if (node.is_loop()) {
            std::int64_t& outer = open[static_cast<std::size_t>(node.rank_variable)];
            trips.back() = static_cast<double>(node.trips(outer));
            outer = node.largest_tile();
        }
    }
    return trips;
}

std::string compute_of(const Part& part) {
    return part.path->compute().name;
}

/// What one Einsum keeps of one tensor in one memory.
struct Kept {
    int tensor = 0;
    std::string memory;
    double share = 0;
    int depth = 0;  ///< loops above
    bool backing = false;
    std::string held_as;  ///< the model's name: copies lie under that of their input
};

/// What a copy makes persistent has a buffer of its own where its input is live for a while.
bool apart(const Part& part, const mapping::PmappingNode& node) {
    const std::vector<workload::LocalTensor>& tensors = part.einsum->tensors;
    return part.einsum->is_copy_operation && node.persistent &&
           std::ranges::any_of(*part.nodes, [&](const mapping::PmappingNode& other) {
               if (other.kind != mapping::NodeKind::storage || other.level != node.level) {
                   return false;
               }
               const workload::LocalTensor& t = tensors[static_cast<std::size_t>(other.tensor)];
               return other.backing && t.fusable && !t.output && !other.persistent;
           });
}

const std::string& input_of(const Part& part) {
    return std::ranges::find(part.einsum->tensors, false, &workload::LocalTensor::output)->name;
}

/// `buffers`: what the Einsum copies into one is added.
std::vector<Kept> kept_by(const Part& part, model::Buffers& buffers) {
    std::vector<Kept> all;
    const std::vector<double> trips = trips_of(part);
    int depth = 0;
    for (std::size_t i = 0; i < part.nodes->size(); ++i) {
        const mapping::PmappingNode& node = (*part.nodes)[i];
        depth += trips[i] > 1;
        if (node.kind != mapping::NodeKind::storage) {
            continue;
        }
        const workload::LocalTensor& tensor =
            part.einsum->tensors[static_cast<std::size_t>(node.tensor)];
        const std::string& memory = part.path->levels[static_cast<std::size_t>(node.level)].name;
        const bool copy = part.einsum->is_copy_operation && !apart(part, node);
        const bool backing = node.backing && tensor.fusable;
        const std::string& held_as = copy ? input_of(part) : tensor.name;
        // A copy holds its tensors once in a memory, under the name of one; others see those that
        // are shared.
        const auto known = std::ranges::find_if(all, [&](const Kept& kept) {
            return copy && kept.memory == memory && kept.held_as == held_as;
        });
        if (known != all.end()) {
            if (backing && known->backing) {
                buffers.unite(memory, known->tensor, tensor.tensor);
            } else if (backing) {
                known->tensor = tensor.tensor;
                known->backing = true;
            }
            continue;
        }
        for (const model::ComponentReport& component : part.report->components) {
            for (const model::TensorReport& one : component.tensors) {
                if (component.component == memory && one.tensor == held_as) {
                    all.push_back({tensor.tensor, memory, one.occupancy,
                                   node.persistent ? -1 : depth, backing, held_as});
                }
            }
        }
    }
    return all;
}

}  // namespace

Unpipelined::Unpipelined(const mapping::Mapping& mapping) : mapping_(mapping) {
    walk(mapping_.root);
}

void Unpipelined::walk(mapping::TreeNode& node) {
    const int first = leaves_;
    leaves_ += node.kind == mapping::TreeKind::compute;
    for (mapping::TreeNode& child : node.children) {
        walk(child);
    }
    if (node.kind == mapping::TreeKind::pipeline) {
        node.kind = mapping::TreeKind::sequential;
        ranges_.push_back({first, leaves_});
    }
}

schedule::Dag dag_of(const workload::Workload& workload, const std::vector<Part>& parts,
                     const Range& range, const std::vector<std::string>& units,
                     const std::vector<std::vector<double>>& latency_s) {
    schedule::Dag dag;
    dag.units = units;
    std::map<int, int> task_of;  // by Einsum of the workload
    for (int i = range.begin; i < range.end; ++i) {
        const workload::EinsumView& einsum = *parts[static_cast<std::size_t>(i)].einsum;
        task_of[einsum.einsum] = i - range.begin;
        dag.tasks.push_back({einsum.name, latency_s[static_cast<std::size_t>(i - range.begin)]});
    }
    for (const workload::Tensor& tensor : workload.tensors) {
        for (const int producer : tensor.producers) {
            const auto from = task_of.find(producer);
            if (from == task_of.end()) {
                continue;
            }
            for (const int consumer : tensor.consumers) {
                if (const auto to = task_of.find(consumer); to != task_of.end()) {
                    dag.edges.push_back({from->second, to->second});
                }
            }
            for (const int reader : tensor.previous_readers) {
                if (const auto to = task_of.find(reader); to != task_of.end()) {
                    dag.recurrences.push_back({from->second, to->second});
                }
            }
        }
    }
    return dag;
}

PipelineCost pipeline_cost(const workload::Workload& workload, const std::vector<Part>& parts,
                           const Range& range, double rounds, schedule::Mode mode) {
    std::vector<std::string> units;
    std::map<std::string, double> memory_s;
    const double instances = parts[static_cast<std::size_t>(range.begin)].einsum->n_instances;
    for (int i = range.begin; i < range.end; ++i) {
        const Part& part = parts[static_cast<std::size_t>(i)];
        if (part.einsum->n_instances != instances) {
            throw UserError("Einsum '" + part.einsum->name +
                            "' stands in a pipeline with others but has another n_instances");
        }
        if (std::find(units.begin(), units.end(), compute_of(part)) == units.end()) {
            units.push_back(compute_of(part));
        }
        for (std::size_t c = 0; c < part.report->components.size(); ++c) {
            const model::ComponentReport& one = part.report->components[c];
            const int level = part.path->find_level(one.component);
            if (level >= 0 && part.path->levels[static_cast<std::size_t>(level)].kind ==
                                  arch::LevelKind::memory) {
                memory_s[one.component] += one.latency_s;
            }
        }
    }
    std::vector<std::vector<double>> latency_s;
    for (int i = range.begin; i < range.end; ++i) {
        const Part& part = parts[static_cast<std::size_t>(i)];
        latency_s.emplace_back(units.size(), never);
        const auto unit = std::find(units.begin(), units.end(), compute_of(part)) - units.begin();
        latency_s.back()[static_cast<std::size_t>(unit)] = part.report->latency_s;
    }
    PipelineCost cost;
    const schedule::Dag dag = dag_of(workload, parts, range, units, latency_s);
    cost.schedule = schedule::pipeline(dag, mode);
    for (const auto& [memory, seconds] : memory_s) {
        if (seconds > cost.memory_s) {
            cost.memory_s = seconds;
            cost.busiest_memory = memory;
        }
    }
    const std::vector<int>& stage = cost.schedule.overlap.stage;
    const int last = *std::max_element(stage.begin(), stage.end());
    cost.pipeline.latency_s =
        std::max(cost.schedule.interval_s, cost.memory_s) * (rounds + last) / rounds;
    for (const schedule::Placement& placed : cost.schedule.placements) {
        cost.pipeline.slots.push_back(
            {range.begin + placed.task, units[static_cast<std::size_t>(placed.unit)],
             stage[static_cast<std::size_t>(placed.task)], placed.start_s, placed.end_s});
    }
    std::stable_sort(cost.pipeline.slots.begin(), cost.pipeline.slots.end(),
                     [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
    return cost;
}

std::vector<int> shared_loops(const std::vector<Part>& parts) {
    std::vector<int> result;
    for (std::size_t e = 0; e + 1 < parts.size(); ++e) {
        const auto loops = [&](const Part& part) {
            const std::vector<double> trips = trips_of(part);
            std::vector<std::pair<int, bool>> found;  // origin, more than one iteration
            for (std::size_t i = 0; i < part.nodes->size(); ++i) {
                if ((*part.nodes)[i].is_loop()) {
                    found.emplace_back((*part.nodes)[i].origin, trips[i] > 1);
                }
            }
            return found;
        };
        const auto a = loops(parts[e]), b = loops(parts[e + 1]);
        int shared = 0;
        for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i].first == b[i].first; ++i) {
            shared += a[i].second;
        }
        result.push_back(shared);
    }
    return result;
}

double rounds_of(const Part& part, int loops) {
    double rounds = 1;
    for (const double trips : trips_of(part)) {
        if (trips > 1 && loops-- > 0) {
            rounds *= trips;
        }
    }
    return rounds;
}

Fullest fullest(const std::vector<Part>& parts, const std::vector<int>& shared, const Range& range,
                const std::vector<int>& stages) {
    model::Buffers buffers;
    std::vector<std::vector<Kept>> all;
    for (const Part& part : parts) {
        all.push_back(kept_by(part, buffers));
    }
    std::map<std::string, double> shares;
    // By memory and buffer.
    std::map<std::pair<std::string, int>, std::vector<model::SharedUse>> exchanged;
    const int n = static_cast<int>(parts.size());
    for (int i = 0; i < n; ++i) {
        for (const Kept& kept : all[static_cast<std::size_t>(i)]) {
            const model::Lifetime life = model::lifetime(
                i, kept.depth, n, [&](int k) { return shared[static_cast<std::size_t>(k)]; });
            if (kept.backing) {
                exchanged[{kept.memory, buffers.of(kept.memory, kept.tensor)}].push_back(
                    {life, kept.share});
            } else if (life.first < range.end && range.begin <= life.last) {
                shares[kept.memory] += kept.share;
            }
        }
    }
    for (const auto& [key, uses] : exchanged) {
        double share = 0;
        model::add_shared(uses, false, [&](int now, double held) {
            share = range.begin <= now && now < range.end ? std::max(share, held) : share;
        });
        int first = std::numeric_limits<int>::max(), last = 0;
        for (int i = range.begin; i < range.end; ++i) {
            const auto in_buffer = [&](const workload::LocalTensor& t) {
                return buffers.of(key.first, t.tensor) == key.second;
            };
            if (std::ranges::any_of(parts[static_cast<std::size_t>(i)].einsum->tensors,
                                    in_buffer)) {
                first = std::min(first, stages[static_cast<std::size_t>(i - range.begin)]);
                last = std::max(last, stages[static_cast<std::size_t>(i - range.begin)]);
            }
        }
        shares[key.first] += share * (first <= last ? last - first + 1 : 1);
    }
    Fullest result;
    for (const auto& [memory, share] : shares) {
        if (share > result.share) {
            result = {memory, share};
        }
    }
    return result;
}

}  // namespace tessera::transfusion
