// Map of this file: a Walk goes over the nodes with all spatial instances at once. Temporal loops
// advance every instance, spatial loops multiply the instances, a holder or the compute asks its
// parent for its elements (ask), lets the rest run, and gives outputs back (give_back). An instance
// that nothing is left for takes no part in an iteration.
#include "oracle/step_simulator.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace tessera::oracle {

namespace {

using arch::Path;
using mapping::NodeKind;
using mapping::PmappingNode;
using workload::LocalTensor;
using Element = std::vector<std::int64_t>;
using Elements = std::set<Element>;
using Coordinates = Simulation::Coordinates;

// One spatial instance: where its part of the iteration space begins, how far it goes, and where it
// sits.
struct Instance {
    std::vector<std::int64_t> begin, size;
    Coordinates place;
};

using Counters = Simulation::Instance;

class Walk {
public:
    Walk(const Path& path, std::span<const PmappingNode> nodes, int tensor)
        : path_(path),
          nodes_(nodes),
          t_(tensor),
          tensor_(path.einsum.tensors[static_cast<std::size_t>(tensor)]) {
        for (const auto& v : path.einsum.rank_variables) {
            bound_.push_back(v.bound);
        }
    }

    void run(Simulation& result) {
        step(0, {{std::vector<std::int64_t>(bound_.size(), 0), bound_, {}}}, -1, 0);
        for (const auto& [level, instances] : counters_) {
            StepCounts& c = result.holders[{level, t_}];
            for (const auto& [place, n] : instances) {
                Counters& all = result.instances[level][place];
                all.reads += n.reads * actions_per_value(level, 0);
                all.writes += n.writes * actions_per_value(level, 1);
                c.reads += n.reads;
                c.writes += n.writes;
                c.unit_reads = std::max(c.unit_reads, n.reads);
                c.unit_writes = std::max(c.unit_writes, n.writes);
            }
            c.largest = largest_[level];
        }
        result.computes = computes_;
        result.compute_steps = 0;
        for (const auto& [place, n] : computes_of_) {
            result.compute_steps = std::max(result.compute_steps, n);
        }
    }

private:
    // `parent`: level of the holder above, -1 if none; `parent_loops`: spatial loops above it.
    void step(std::size_t i, const std::vector<Instance>& instances, int parent,
              std::size_t parent_loops) {
        const PmappingNode& n = nodes_[i];
        if (n.kind == NodeKind::temporal || n.kind == NodeKind::spatial) {
            loop(i, instances, parent, parent_loops);
        } else if (n.kind == NodeKind::storage && n.tensor == t_) {
            counters_[n.level];
            if (parent >= 0) {
                ask(instances, n.level, parent, parent_loops);
            }
            measure(i, instances);
            step(i + 1, instances, n.level, instances.front().place.size());
            if (parent >= 0 && tensor_.output) {
                give_back(instances, n.level, parent, parent_loops);
            }
        } else if (n.kind == NodeKind::compute) {
            const int level = static_cast<int>(path_.levels.size()) - 1;
            ask(instances, level, parent, parent_loops);
            if (tensor_.output) {
                give_back(instances, level, parent, parent_loops);
            }
            for (const Instance& instance : instances) {
                touched_.merge(elements(instance));
                ++computes_of_[instance.place];
            }
            computes_ += static_cast<double>(instances.size());
        } else {
            step(i + 1, instances, parent, parent_loops);
        }
    }

    void loop(std::size_t i, const std::vector<Instance>& instances, int parent,
              std::size_t parent_loops) {
        const PmappingNode& n = nodes_[i];
        const auto v = static_cast<std::size_t>(n.rank_variable);
        if (n.base > 0) {
            add_prologue(i, instances, parent, parent_loops);
            return;
        }
        std::int64_t trips = 0;
        for (const Instance& instance : instances) {
            trips = std::max(trips, (instance.size[v] + n.tile - 1) / n.tile);
        }
        if (n.kind == NodeKind::temporal) {
            const bool only_last = path_.einsum.rank_variables[v].only_last;
            for (std::int64_t k = only_last ? trips - 1 : 0; k < trips; ++k) {
                std::vector<Instance> now;
                for (const Instance& instance : instances) {
                    add_part(instance, v, k, n.tile, now);
                }
                step(i + 1, now, parent, parent_loops);
            }
        } else {
            const auto& dim = path_.levels[static_cast<std::size_t>(n.level)]
                                  .spatial[static_cast<std::size_t>(n.dim)];
            std::vector<Instance> all;
            for (const Instance& instance : instances) {
                for (std::int64_t k = 0; k < trips; ++k) {
                    Instance own = instance;
                    own.place.push_back(static_cast<int>(k));
                    add_part(own, v, k, n.tile, all);
                }
            }
            may_share_.push_back((dim.may_reuse >> t_ & 1) != 0);
            step(i + 1, all, parent, parent_loops);
            may_share_.pop_back();
        }
    }

    // The k-th tile of the instance's values of a variable, if there is anything in it.
    static void add_part(const Instance& instance, std::size_t v, std::int64_t k, std::int64_t tile,
                         std::vector<Instance>& to) {
        const std::int64_t left = instance.size[v] - k * tile;
        if (left <= 0) {
            return;
        }
        to.push_back(instance);
        to.back().begin[v] += k * tile;
        to.back().size[v] = std::min(tile, left);
    }

    // The first iteration covers more values than the others, the last ones what is left.
    void add_prologue(std::size_t i, const std::vector<Instance>& instances, int parent,
                      std::size_t parent_loops) {
        const PmappingNode& n = nodes_[i];
        const auto v = static_cast<std::size_t>(n.rank_variable);
        const std::int64_t values = instances.front().size[v];
        std::int64_t done = 0;
        for (std::int64_t k = 0; k < n.base / n.tile; ++k) {
            const std::int64_t next = std::min(values, (k + 1) * n.tile + n.prologue);
            std::vector<Instance> now = instances;
            for (Instance& instance : now) {
                instance.begin[v] += done;
                instance.size[v] = next - done;
            }
            if (next > done) {
                step(i + 1, now, parent, parent_loops);
            }
            done = next;
        }
    }

    // The elements of the tensor that the instance touches in its part of the iteration space.
    Elements elements(const Instance& instance) const {
        Elements found;
        std::vector<std::int64_t> point = instance.begin;
        for (;;) {
            Element e;
            for (const auto& rank : tensor_.ranks) {
                std::int64_t value = rank.constant;
                for (const auto& term : rank.terms) {
                    value += term.coefficient * point[static_cast<std::size_t>(term.rank_variable)];
                }
                e.push_back(value);
            }
            found.insert(e);
            std::size_t v = 0;
            for (; v < point.size(); ++v) {
                const bool used =
                    ((tensor_.directly_indexing | tensor_.expression_indexing) >> v & 1) != 0;
                if (used && ++point[v] < instance.begin[v] + instance.size[v]) {
                    break;
                }
                point[v] = instance.begin[v];
            }
            if (v == point.size()) {
                return found;
            }
        }
    }

    /// Values that need not be fetched: nothing has been written yet. What an update fetches is the
    /// state before the one that it writes.
    double fresh(const Elements& set) const {
        return static_cast<double>(std::count_if(set.begin(), set.end(), [&](Element e) {
            if (tensor_.state == workload::StateAccess::update) {
                const auto v = static_cast<std::size_t>(tensor_.state_variable);
                const auto rank = static_cast<std::size_t>(tensor_.rank_of_variable[v]);
                if (touched_.contains(e)) {
                    return false;
                }
                --e[rank];
            }
            return !touched_.contains(e);
        }));
    }

    bool skips(int level) const {
        return tensor_.output &&
               path_.levels[static_cast<std::size_t>(level)].skip_initial_output_write;
    }

    // What the parent sees of the instances' sets: those of instances that may share are one.
    // Keyed by the parent's place, the coordinates that keep requests apart, and the set.
    using Requests = std::set<std::tuple<Coordinates, Coordinates, Elements>>;
    Requests requests(const std::vector<Instance>& instances, std::size_t parent_loops) const {
        Requests all;
        for (const Instance& instance : instances) {
            const auto middle = instance.place.begin() + static_cast<std::ptrdiff_t>(parent_loops);
            Coordinates apart;
            for (std::size_t s = parent_loops; s < instance.place.size(); ++s) {
                apart.push_back(may_share_[s] ? 0 : instance.place[s]);
            }
            all.emplace(Coordinates(instance.place.begin(), middle), apart, elements(instance));
        }
        return all;
    }

    void ask(const std::vector<Instance>& instances, int level, int parent,
             std::size_t parent_loops) {
        for (const auto& [place, apart, set] : requests(instances, parent_loops)) {
            const double skipped = skips(level) && skips(parent) ? fresh(set) : 0;
            counters_[parent][place].reads += static_cast<double>(set.size()) - skipped;
        }
        if (level + 1 == static_cast<int>(path_.levels.size())) {
            return;
        }
        for (const Instance& instance : instances) {
            const Elements set = elements(instance);
            counters_[level][instance.place].writes +=
                static_cast<double>(set.size()) - (skips(level) ? fresh(set) : 0);
        }
    }

    void give_back(const std::vector<Instance>& instances, int level, int parent,
                   std::size_t parent_loops) {
        for (const auto& [place, apart, set] : requests(instances, parent_loops)) {
            counters_[parent][place].writes += static_cast<double>(set.size());
        }
        if (level + 1 == static_cast<int>(path_.levels.size())) {
            return;
        }
        for (const Instance& instance : instances) {
            counters_[level][instance.place].reads +=
                static_cast<double>(elements(instance).size());
        }
    }

    // Holder `i` need only keep what its subtree touches before the first loop that comes back to
    // the same elements: go down past loops whose iterations touch disjoint parts, and past one
    // whose iterations overlap without being equal.
    void measure(std::size_t i, const std::vector<Instance>& instances) {
        const PmappingNode& holder = nodes_[i];
        std::vector<std::pair<std::size_t, std::int64_t>> inside;  // variables and sizes
        if (holder.line_buffer) {
            // All that one iteration of the next loop reaches.
            std::size_t j = i + 1;
            while (nodes_[j].kind != NodeKind::temporal) {
                ++j;
            }
            inside.emplace_back(nodes_[j].rank_variable, nodes_[j].largest_tile());
        }
        for (std::size_t j = i + 1; !holder.backing && holder.lower; ++j) {
            const PmappingNode& n = nodes_[j];
            if (n.kind != NodeKind::temporal) {
                break;
            }
            const auto v = static_cast<std::size_t>(n.rank_variable);
            Instance first = reduced(instances.front(), inside);
            first.size[v] = std::min(first.size[v], n.tile);
            Instance second = first;
            second.begin[v] += n.tile;
            const Elements a = elements(first), b = elements(second);
            if (a == b) {
                break;
            }
            inside.emplace_back(v, n.tile);
            const bool overlap =
                std::any_of(a.begin(), a.end(), [&](const Element& e) { return b.contains(e); });
            if (overlap || (tensor_.partially_relevant >> v & 1) != 0) {
                break;
            }
        }
        double& largest = largest_[holder.level];
        for (const Instance& instance : instances) {
            largest =
                std::max(largest, static_cast<double>(elements(reduced(instance, inside)).size()));
        }
    }

    static Instance reduced(Instance instance,
                            const std::vector<std::pair<std::size_t, std::int64_t>>& inside) {
        for (const auto& [v, size] : inside) {
            instance.size[v] = std::min(instance.size[v], size);
        }
        return instance;
    }

    double actions_per_value(int level, std::size_t action) const {
        return 1 / path_.levels[static_cast<std::size_t>(level)]
                       .actions[action]
                       .values_per_action[static_cast<std::size_t>(t_)];
    }

    const Path& path_;
    std::span<const PmappingNode> nodes_;
    int t_;
    const LocalTensor& tensor_;
    std::vector<std::int64_t> bound_;
    std::vector<bool> may_share_;
    std::map<int, std::map<Coordinates, Counters>> counters_;
    std::map<int, double> largest_;
    Elements touched_;
    std::map<Coordinates, double> computes_of_;
    double computes_ = 0;
};

}  // namespace

Simulation simulate(const Path& path, std::span<const PmappingNode> nodes) {
    Simulation result;
    for (int t = 0; t < static_cast<int>(path.einsum.tensors.size()); ++t) {
        Walk(path, nodes, t).run(result);
    }
    return result;
}

}  // namespace tessera::oracle
