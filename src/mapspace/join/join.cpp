// Driver of the join: one step an Einsum. Map:
//   orders_of    the sets of Einsums that the allowed orders pass through
//   plan_step    (state, group) pairs that have a plan
//   run_step     combine rows of every pair, in parallel; results merged in task order
//   join         all steps, the final Pareto set, and the loop orders of the chosen pmappings
#include "tessera/mapspace/join.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "base/leave.hpp"
#include "join_later.hpp"
#include "join_rows.hpp"
#include "join_trace.hpp"
#include "mapspace/join_orders.hpp"
#include "mapspace/relaxed/completion_bounds.hpp"
#include "tessera/base/parallel.hpp"
#include "tessera/base/same_cost.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace {
namespace detail {
namespace {

/// One step's output and the plans that made it.
struct Step {
    std::vector<StateGroup> groups;
    std::vector<JoinPlan> plans;
};

struct Task {
    std::uint32_t left = 0, right = 0, plan = 0;
    int set = 0;                 ///< set of joined Einsums afterwards
    std::vector<double> future;  ///< least that the Einsums outside the set add to the joined state
};

struct TaskResult {
    StateGroup group;
    CapacityMiss miss;
    std::uint64_t pairs = 0;
};

/// Tasks that lead to the same joined state, ascending.
struct Target {
    std::vector<std::uint32_t> tasks;
    std::atomic<std::size_t> unfinished{0};
    StateGroup group;
};

StateLayout layout_of(const StateStructure& st, int objectives, int memories) {
    return {objectives, memories, st.n_loops(), static_cast<int>(st.live.size())};
}

StateGroup empty_state(int objectives, int memories) {
    StateGroup g;
    g.layout = layout_of(g.structure, objectives, memories);
    g.values.assign(static_cast<std::size_t>(g.layout.stride()), 0.0);
    g.from.push_back({});
    return g;
}

/// Gives back the memory of pruned rows.
void shrink(StateGroup& g) {
    g.values.shrink_to_fit();
    g.trips.shrink_to_fit();
    g.from.shrink_to_fit();
}

/// In the order of the tasks, whichever of them ended first.
StateGroup merged(const std::vector<std::uint32_t>& tasks, std::vector<TaskResult>& results) {
    StateGroup out = std::move(results[tasks.front()].group);
    if (tasks.size() == 1) {
        return out;
    }
    RowLimit limit;
    for (std::size_t i = 1; i < tasks.size(); ++i) {
        append(out, std::move(results[tasks[i]].group));
        limit.hold(out);
    }
    prune_pareto(out);
    shrink(out);
    return out;
}

/// Everything of one join that does not change from step to step.
struct Context {
    const workload::Workload& workload;
    const std::vector<std::vector<PmappingGroup>>& groups;
    const std::vector<TrackedMemory>& memories;
    const JoinOptions& options;
    int objectives = 1;
    const LaterHolders* holders = nullptr;    ///< null: not asked for
    CompletionBounds* completions = nullptr;  ///< the same
};

/// Least cost of a whole mapping with each row, as far as known. `size`: Einsums joined.
std::vector<double> ranks_of(const Context& c, std::size_t size, const StateGroup& g,
                             const std::vector<double>& future) {
    std::vector<double> out;
    std::vector<double> least(c.completions != nullptr ? c.completions->sums().width() : 0);
    for (std::size_t r = 0; r < g.rows(); ++r) {
        const double* costs = g.row(r);
        if (c.completions != nullptr) {
            c.completions->of_state(size, g.done, g.structure, g.trips_of(r), least.data());
            out.push_back(c.completions->sums().least_value(costs, least.data()));
        } else {
            out.push_back(c.options.goal == JoinGoal::single
                              ? costs[0]
                              : (costs[0] + future[0]) * (costs[1] + future[1]));
        }
    }
    return out;
}

/// Keeps the best rows of each group (at least a few each): the incumbent search need not be exact.
bool keep_beam(const Context& c, std::size_t size, std::vector<StateGroup>& groups,
               const std::vector<Orders::Set>& sets) {
    bool dropped = false;
    const std::size_t share =
        std::max<std::size_t>(8, c.options.beam / std::max<std::size_t>(1, groups.size()));
    for (StateGroup& g : groups) {
        base::poll_stop();
        if (g.rows() <= share) {
            continue;
        }
        dropped = true;
        std::vector<std::uint32_t> order(g.rows());
        std::iota(order.begin(), order.end(), 0u);
        const std::vector<double> rank =
            ranks_of(c, size, g, sets[static_cast<std::size_t>(g.done)].future);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
        order.resize(share);
        StateGroup kept{g.done, g.structure, g.layout, {}, {}, {}};
        for (const std::uint32_t r : order) {
            kept.values.insert(kept.values.end(), g.row(r), g.row(r) + g.layout.stride());
            kept.trips.insert(kept.trips.end(), g.trips_of(r), g.trips_of(r) + g.layout.n);
            kept.from.push_back(g.from[r]);
        }
        g = std::move(kept);
    }
    return dropped;
}

/// Keeps the states with the best rows, and those without open loops.
bool keep_best_states(const Context& c, std::size_t size, std::vector<StateGroup>& groups,
                      const std::vector<Orders::Set>& sets) {
    if (c.options.beam_states == 0 || groups.size() <= c.options.beam_states) {
        return false;
    }
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::vector<double> ranks =
            ranks_of(c, size, groups[i], sets[static_cast<std::size_t>(groups[i].done)].future);
        order.emplace_back(*std::ranges::min_element(ranks), i);
    }
    std::ranges::sort(order);
    std::vector<char> dropped(groups.size(), 0);
    for (std::size_t k = c.options.beam_states; k < order.size(); ++k) {
        const std::size_t i = order[k].second;
        dropped[i] = groups[i].structure.n_loops() > 0 ? 1 : 0;
    }
    std::vector<StateGroup> kept;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (dropped[i] == 0) {
            kept.push_back(std::move(groups[i]));
        }
    }
    const bool any = kept.size() < groups.size();
    groups = std::move(kept);
    return any;
}

/// What a step begins with: states of so many Einsums.
struct StepInput {
    const Context& c;
    const Orders& orders;
    Lookahead& lookahead;
    std::size_t size = 0;
    const std::vector<StateGroup>& left;
};

/// Pairs of state and group that can be joined at this step.
std::vector<Task> plan_step(const StepInput& in, Step& step) {
    const auto& [c, orders, lookahead, size, left] = in;
    std::vector<Task> tasks;
    for (std::size_t l = 0; l < left.size(); ++l) {
        const Orders::Set& set = orders.by_size[size][static_cast<std::size_t>(left[l].done)];
        for (const Orders::Next& next : set.next) {
            const std::vector<char>& needed =
                orders.by_size[size + 1][static_cast<std::size_t>(next.set)].needed;
            const auto& groups = c.groups[static_cast<std::size_t>(next.einsum)];
            for (std::size_t r = 0; r < groups.size(); ++r) {
                for (JoinPlan& plan : match(left[l].structure, groups[r].structure, needed,
                                            c.options.reference_rules)) {
                    const Orders::Set& after =
                        orders.by_size[size + 1][static_cast<std::size_t>(next.set)];
                    std::vector<double> future = after.future;
                    if (c.options.lookahead && !lookahead.future(plan.structure, after, future)) {
                        continue;
                    }
                    plan.einsum = next.einsum;
                    tasks.push_back({static_cast<std::uint32_t>(l), static_cast<std::uint32_t>(r),
                                     static_cast<std::uint32_t>(step.plans.size()), next.set,
                                     std::move(future)});
                    step.plans.push_back(std::move(plan));
                }
            }
        }
    }
    return tasks;
}

std::deque<Target> targets_of(const std::vector<Task>& tasks, const std::vector<JoinPlan>& plans) {
    std::deque<Target> out;
    std::map<std::pair<int, StateStructure>, Target*> where;
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
        const auto [it, fresh] =
            where.try_emplace({tasks[i].set, plans[tasks[i].plan].structure}, nullptr);
        if (fresh) {
            it->second = &out.emplace_back();
        }
        it->second->tasks.push_back(i);
        ++it->second->unfinished;
    }
    return out;
}

/// What may still be held after each of the sets; empty if that is not asked for.
std::vector<LaterBits> later_bits(const Context& c, const std::vector<Orders::Set>& sets) {
    std::vector<LaterBits> out;
    for (std::size_t i = 0; c.holders != nullptr && i < sets.size(); ++i) {
        out.push_back(c.holders->outside(sets[i].done));
    }
    return out;
}

/// All rows of one task.
void run_task(const StepInput& in, const Task& task, const JoinPlan& plan,
              const std::vector<LaterBits>& later, TaskResult& out) {
    const Context& c = in.c;
    out.group.done = task.set;
    out.group.structure = plan.structure;
    out.group.layout = layout_of(plan.structure, c.objectives, static_cast<int>(c.memories.size()));
    StepBound bound{c.options.goal,
                    task.future,
                    &c.options.incumbents,
                    c.options.reference_rules,
                    later.empty() ? nullptr : &later[static_cast<std::size_t>(task.set)],
                    nullptr,
                    nullptr};
    const Pairing pairing{in.left[task.left],
                          c.groups[static_cast<std::size_t>(plan.einsum)][task.right],
                          plan,
                          task.left,
                          task.right,
                          task.plan};
    std::vector<double> least;
    if (c.completions != nullptr) {
        c.completions->of_rows(in.size + 1, task.set, plan, pairing.right, least);
        bound.completions = c.completions;
        bound.least = &least;
    }
    out.pairs = combine(pairing, c.memories, bound, out.group, out.miss);
    prune_pareto(out.group);
    shrink(out.group);
}

Step run_step(const StepInput& in, JoinResult& result, CapacityMiss& miss) {
    const Context& c = in.c;
    Step step;
    const std::vector<Orders::Set>& sets = in.orders.by_size[in.size + 1];
    const std::vector<Task> tasks = plan_step(in, step);
    const std::vector<LaterBits> later = later_bits(c, sets);
    for (std::size_t i = 0; c.completions != nullptr && i < tasks.size(); ++i) {
        c.completions->prepare(in.size + 1, tasks[i].set);
    }
    // Tasks of one target follow each other; their rows are merged as soon as all are there.
    base::LeftOnStop<std::deque<Target>> all_targets(targets_of(tasks, step.plans));
    std::deque<Target>& targets = *all_targets;
    std::vector<std::pair<Target*, std::uint32_t>> queue;
    for (Target& target : targets) {
        for (const std::uint32_t i : target.tasks) {
            queue.emplace_back(&target, i);
        }
    }
    base::LeftOnStop<std::vector<TaskResult>> all_results(tasks.size());
    std::vector<TaskResult>& results = *all_results;
    // Whether all pairs of a step are too many does not depend on which task counts the last one.
    std::atomic<std::uint64_t> pairs{result.rows_joined};
    const std::uint64_t most_pairs =
        c.options.most_pairs > 0 ? c.options.most_pairs : std::numeric_limits<std::uint64_t>::max();
    base::parallel_for(queue.size(), c.options.threads, [&](std::size_t at, int) {
        if (pairs > most_pairs) {
            return;
        }
        const auto& [target, i] = queue[at];
        run_task(in, tasks[i], step.plans[tasks[i].plan], later, results[i]);
        pairs += results[i].pairs;
        if (--target->unfinished == 0) {
            target->group = merged(target->tasks, results);
        }
    });
    for (const TaskResult& r : results) {
        result.rows_joined += r.pairs;
        if (r.miss.memory >= 0 && (miss.memory < 0 || r.miss.bits < miss.bits)) {
            miss = r.miss;
        }
    }
    result.given_up = pairs > most_pairs;
    for (Target& target : targets) {
        if (target.group.rows() > 0) {
            step.groups.push_back(std::move(target.group));
        }
    }
    if (c.options.beam > 0) {
        const bool states = keep_best_states(c, in.size + 1, step.groups, sets);
        const bool rows = keep_beam(c, in.size + 1, step.groups, sets);
        result.complete = result.complete && !states && !rows;
    }
    return step;
}

/// Of steps that are passed only the way back is needed.
void forget_costs(Step& step) {
    for (StateGroup& g : step.groups) {
        g.values = {};
        g.trips = {};
    }
}

/// The pmappings behind one final row.
JoinedMapping trace(const Context& c, const std::vector<Step>& steps, std::size_t group,
                    std::size_t row) {
    JoinedMapping out;
    const StateGroup& last = steps.back().groups[group];
    out.objectives.assign(last.row(row), last.row(row) + c.objectives);
    std::vector<TracedStep> path(steps.size());
    for (std::size_t e = steps.size(); e-- > 0;) {
        const BackPointer& from = steps[e].groups[group].from[row];
        path[e] = {&steps[e].plans[from.plan], from.right_group, from.right_row};
        group = from.left_group;
        row = from.left_row;
    }
    out.einsums = traced(path);
    return out;
}

/// Final candidates in the order of the goal, dominated and repeated ones dropped.
std::vector<std::pair<std::size_t, std::size_t>> final_rows(const Context& c, const Step& last) {
    std::vector<std::pair<std::size_t, std::size_t>> all;
    for (std::size_t g = 0; g < last.groups.size(); ++g) {
        for (std::size_t r = 0; r < last.groups[g].rows(); ++r) {
            all.emplace_back(g, r);
        }
    }
    auto objective = [&](const auto& at, int k) { return last.groups[at.first].row(at.second)[k]; };
    auto scalar = [&](const auto& at) {
        return c.options.goal == JoinGoal::edp ? objective(at, 0) * objective(at, 1)
                                               : objective(at, 0);
    };
    if (c.options.goal != JoinGoal::pareto) {
        const auto best =
            std::min_element(all.begin(), all.end(),
                             [&](const auto& a, const auto& b) { return scalar(a) < scalar(b); });
        if (best == all.end()) {
            return all;
        }
        // Of equal products that of the least energy.
        const double least = scalar(*best);
        std::pair<std::size_t, std::size_t> chosen = *best;
        for (const auto& at : all) {
            if (c.options.goal == JoinGoal::edp && base::same_cost(scalar(at), least) &&
                objective(at, 0) < objective(chosen, 0)) {
                chosen = at;
            }
        }
        return {chosen};
    }
    std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
        return std::pair(objective(a, 0), objective(a, 1)) <
               std::pair(objective(b, 0), objective(b, 1));
    });
    std::vector<std::pair<std::size_t, std::size_t>> front;
    for (const auto& at : all) {
        // Rounding alone does not make a point of its own.
        if (front.empty() || objective(at, 1) < objective(front.back(), 1) * (1 - 1e-12)) {
            front.push_back(at);
        }
    }
    return front;
}

}  // namespace
}  // namespace detail

namespace {

/// All steps. \throws base::Stopped
void join_all(const workload::Workload& workload,
              const std::vector<std::vector<PmappingGroup>>& groups,
              const std::vector<TrackedMemory>& memories, const JoinOptions& options,
              JoinResult& result) {
    using namespace detail;
    const int objectives = options.goal == JoinGoal::single ? 1 : 2;
    Context c{workload, groups, memories, options, objectives};
    std::optional<LaterHolders> holders;
    if (options.settle) {
        holders.emplace(groups, static_cast<int>(memories.size()));
        c.holders = &*holders;
    }
    const std::vector<std::vector<double>> least = least_costs(groups, objectives);
    const Orders orders = orders_of(workload, least, options.order);
    Lookahead lookahead(workload, groups, least);
    std::optional<CompletionBounds> completions;
    if (options.completion_sums > 0 && !options.incumbents.empty()) {
        completions.emplace(groups, orders, workload.tensors.size(), options.goal,
                            options.incumbents, options.completion_sums);
        c.completions = &*completions;
    }
    result.all_orders = orders.complete;
    base::LeftOnStop<std::vector<Step>> all_steps;
    std::vector<Step>& steps = *all_steps;
    steps.reserve(groups.size());
    std::vector<StateGroup> first{empty_state(objectives, static_cast<int>(memories.size()))};
    const std::vector<StateGroup>* left = &first;
    for (std::size_t size = 0; size < groups.size(); ++size) {
        CapacityMiss miss;
        Step step = run_step({c, orders, lookahead, size, *left}, result, miss);
        if (size > 0) {
            forget_costs(steps.back());
        }
        steps.push_back(std::move(step));
        left = &steps.back().groups;
        std::size_t rows = 0;
        for (const StateGroup& g : *left) {
            rows += g.rows();
        }
        result.rows_kept += rows;
        if (options.progress) {
            options.progress(static_cast<int>(size) + 1, left->size(), rows);
        }
        if (result.given_up || (options.most_rows > 0 && rows > options.most_rows)) {
            result.given_up = true;
            result.complete = false;
            return;
        }
        if (rows == 0) {
            result.failed_at = static_cast<int>(size);
            result.failed_capacity = miss.memory >= 0;
            if (miss.memory >= 0) {
                result.failed_memory = memories[static_cast<std::size_t>(miss.memory)].name;
                result.failed_needed_bits = miss.bits;
            }
            return;
        }
    }
    for (const auto& [group, row] : final_rows(c, steps.back())) {
        result.mappings.push_back(trace(c, steps, group, row));
    }
}

}  // namespace

JoinResult join(const workload::Workload& workload,
                const std::vector<std::vector<PmappingGroup>>& groups,
                const std::vector<TrackedMemory>& memories, const JoinOptions& options) {
    JoinResult result;
    if (options.stop == nullptr) {
        join_all(workload, groups, memories, options, result);
        return result;
    }
    const base::StopScope scope({options.stop});
    try {
        join_all(workload, groups, memories, options, result);
    } catch (const base::Stopped&) {
        result.mappings.clear();
        result.complete = false;
    }
    return result;
}

void prune_pareto(PmappingGroup& g) {
    g.keep(detail::pareto_rows(g.values.data(), g.stride(), g.n_compared(), g.trips.data(),
                               g.n_loops(), g.rows()));
    g.values.shrink_to_fit();
    g.trips.shrink_to_fit();
}

}  // namespace tessera::mapspace
