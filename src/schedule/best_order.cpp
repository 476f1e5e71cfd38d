// Dynamic programming over down-sets of a round's graph.
//
// A layer holds, for every set of k placed tasks that is closed under predecessors, the partial
// schedules that no other dominates. Only the units' free times and the ends of tasks that somebody
// still waits for matter for what follows.
#include "schedule/best_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "schedule/graph.hpp"
#include "tessera/base/error.hpp"
#include "tessera/schedule/dpipe.hpp"

namespace tessera::schedule {

namespace {

struct State {
    /// Free time of each unit, busy time of all, then the ends of tasks that somebody waits for.
    std::vector<double> key;
    std::vector<double> end_s;
    std::vector<Placement> placements;
};

using Layer = std::map<Set, std::vector<State>>;

double length(const State& state, std::size_t units) {
    return *std::max_element(state.key.begin(),
                             state.key.begin() + static_cast<std::ptrdiff_t>(units));
}

/// Shorter, or as short with units that work less. Sums in another order may differ in their last
/// digits.
bool better(const State& a, const State& b, std::size_t units) {
    const double own = length(a, units), other = length(b, units);
    return own < other * (1 - 1e-12) || (own <= other * (1 + 1e-12) && a.key[units] < b.key[units]);
}

bool nowhere_later(const std::vector<double>& a, const std::vector<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return x <= y; });
}

void keep(std::vector<State>& kept, State&& state) {
    for (const State& other : kept) {
        if (nowhere_later(other.key, state.key)) {
            return;
        }
    }
    std::erase_if(kept, [&](const State& other) { return nowhere_later(state.key, other.key); });
    kept.push_back(std::move(state));
}

class Orders {
public:
    Orders(const Dag& dag, const Overlap& overlap, Binding binding, double incumbent_s)
        : dag_(dag),
          graph_(dag.tasks.size(), overlap.edges),
          binding_(binding),
          incumbent_s_(incumbent_s) {
        for (const Task& task : dag.tasks) {
            least_s_.push_back(*std::min_element(task.latency_s.begin(), task.latency_s.end()));
        }
    }

    /// All ways to place one more task.
    Layer after(const Layer& layer, std::size_t& left) const {
        Layer next;
        for (const auto& [done, states] : layer) {
            for (int task = 0; task < graph_.size(); ++task) {
                if ((done & bit(task)) || (graph_.before[task] & ~done)) {
                    continue;
                }
                std::vector<State>& kept = next[done | bit(task)];
                left -= std::min(left, states.size());
                for (const State& state : states) {
                    place(state, task, done | bit(task), kept);
                }
            }
        }
        return next;
    }

private:
    void place(const State& state, int task, Set done, std::vector<State>& kept) const {
        const std::vector<double>& latency = dag_.tasks[task].latency_s;
        double ready = 0;
        for (int i = 0; i < graph_.size(); ++i) {
            if (graph_.before[task] & bit(i)) {
                ready = std::max(ready, state.end_s[i]);
            }
        }
        const auto start = [&](std::size_t unit) { return std::max(state.key[unit], ready); };
        const auto end = [&](std::size_t unit) { return start(unit) + latency[unit]; };
        std::size_t first = 0;
        for (std::size_t unit = 1; unit < latency.size(); ++unit) {
            first = end(unit) < end(first) ? unit : first;
        }
        for (std::size_t unit = 0; unit < latency.size(); ++unit) {
            if ((binding_ == Binding::any || unit == first) &&
                shorter(state, unit, end(unit), done)) {
                keep(kept,
                     with(state, {task, static_cast<int>(unit), start(unit), end(unit)}, done));
            }
        }
    }

    /// Can a round that begins like this beat the incumbent? What is left takes its least time on
    /// units that share it evenly.
    bool shorter(const State& state, std::size_t unit, double end_s, Set done) const {
        if (!(end_s <= incumbent_s_)) {
            return false;
        }
        const std::size_t units = dag_.units.size();
        double sum = end_s - state.key[unit];
        for (std::size_t u = 0; u < units; ++u) {
            sum += state.key[u];
        }
        for (int i = 0; i < graph_.size(); ++i) {
            sum += done & bit(i) ? 0 : least_s_[i];
        }
        return sum / static_cast<double>(units) * (1 - 1e-14) <= incumbent_s_;
    }

    State with(const State& state, Placement placed, Set done) const {
        State made = state;
        made.end_s[placed.task] = placed.end_s;
        made.key.resize(dag_.units.size() + 1);
        made.key[placed.unit] = placed.end_s;
        made.key.back() += placed.end_s - placed.start_s;
        made.placements.push_back(placed);
        for (int i = 0; i < graph_.size(); ++i) {
            if ((done & bit(i)) && (graph_.after[i] & ~done)) {
                made.key.push_back(made.end_s[i]);
            }
        }
        return made;
    }

    const Dag& dag_;
    Graph graph_;
    Binding binding_;
    double incumbent_s_;
    std::vector<double> least_s_;  ///< of each task, on its fastest unit
};

/// Keeps the shortest partial schedules of a layer that has too many.
bool cut(Layer& layer, std::size_t limit, std::size_t units) {
    std::vector<double> lengths;
    for (const auto& [done, states] : layer) {
        for (const State& state : states) {
            lengths.push_back(length(state, units));
        }
    }
    if (lengths.size() <= limit) {
        return false;
    }
    std::nth_element(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(limit) - 1,
                     lengths.end());
    const double longest = lengths[limit - 1];
    auto ties =
        static_cast<std::ptrdiff_t>(limit) -
        std::count_if(lengths.begin(), lengths.end(), [&](double l) { return l < longest; });
    for (auto it = layer.begin(); it != layer.end();) {
        std::erase_if(it->second, [&](const State& state) {
            const double own = length(state, units);
            return own > longest || (own == longest && --ties < 0);
        });
        it = it->second.empty() ? layer.erase(it) : std::next(it);
    }
    return true;
}

}  // namespace

Schedule order_below(const Dag& dag, const Overlap& overlap, Binding binding, const Limits& limits,
                     double incumbent_s, std::size_t& left) {
    const std::size_t n = dag.tasks.size(), units = dag.units.size();
    const Orders orders(dag, overlap, binding, incumbent_s);
    Layer layer;
    layer[0].push_back({std::vector<double>(units + 1), std::vector<double>(n), {}});
    Schedule best;
    best.overlap = overlap;
    for (std::size_t i = 0; i < n; ++i) {
        layer = orders.after(layer, left);
        const std::size_t states = left > 0 ? std::max<std::size_t>(limits.states, 1) : 1;
        best.complete &= !cut(layer, states, units);
    }
    const State* shortest = nullptr;
    for (const auto& [done, states] : layer) {
        for (const State& state : states) {
            if (!shortest || better(state, *shortest, units)) {
                shortest = &state;
            }
        }
    }
    if (shortest) {
        best.interval_s = length(*shortest, units);
        best.placements = shortest->placements;
    }
    return best;
}

Schedule best_order(const Dag& dag, const Overlap& overlap, Binding binding, const Limits& limits) {
    check(dag);
    std::size_t left = limits.placements;
    Schedule best =
        order_below(dag, overlap, binding, limits, std::numeric_limits<double>::infinity(), left);
    if (best.placements.empty()) {
        throw Bug("a round without any order");
    }
    return best;
}

}  // namespace tessera::schedule
