// Driver of the join of pipelines: one step an Einsum, as join.cpp. Map:
//   plans_of       how an Einsum may follow a state: by itself, or as one more branch
//   plan_step      (state, group) pairs that have a plan
//   run_step       combine rows of every pair, in parallel; results merged in task order
//   join_pipelines all steps, the best mapping, and what of it runs at once
#include "mapspace/pipeline_join.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "base/leave.hpp"
#include "mapspace/join/join_trace.hpp"
#include "mapspace/join_orders.hpp"
#include "mapspace/relaxed/completion_bounds.hpp"
#include "pipeline_rows.hpp"
#include "tessera/base/parallel.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace {
namespace detail {
namespace {

std::size_t at(int index) {
    return static_cast<std::size_t>(index);
}

struct Task {
    std::uint32_t left = 0, right = 0, plan = 0;
    int set = 0;
    std::vector<double> future;
};

struct Step {
    std::vector<PipelineState> states;
    std::vector<PipelinePlan> plans;
};

/// Everything of one join that does not change from step to step.
struct Context {
    const workload::Workload& workload;
    const std::vector<std::vector<PmappingGroup>>& groups;
    const std::vector<TrackedMemory>& memories;
    const PipelineJoinOptions& options;
    const Stages& stages;
    const Orders& orders;
    Lookahead& lookahead;
    CompletionBounds* completions = nullptr;
    const std::vector<std::vector<double>>& known;
    int components = 0;
};

/// Whose buffer a tensor of the right group lies in.
int owner_of(const StateStructure& left, const BackedTensor& own) {
    int tensor = own.shares_buffer_of < 0 ? own.tensor : own.shares_buffer_of;
    for (;;) {
        const auto live = std::ranges::find(left.live, tensor, &LiveTensor::tensor);
        if (live == left.live.end() || live->shares_buffer_of < 0) {
            return tensor;
        }
        tensor = live->shares_buffer_of;
    }
}

/// The pipeline's buffers with those of one branch more, and where their sizes come from.
void add_buffers(const PipelineState& left, const GroupStructure& right, PipelinePlan& plan) {
    std::vector<PipelineBuffer>& buffers = plan.open.buffers;
    buffers = left.open.buffers;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
        plan.tile_left.push_back(static_cast<int>(b));
    }
    plan.tile_right.resize(buffers.size());
    const int stage = plan.stages.back();
    for (std::size_t i = 0; i < right.tensors.size(); ++i) {
        const BackedTensor& own = right.tensors[i];
        if (own.tracked < 0) {
            continue;
        }
        const int owner = owner_of(left.structure, own);
        auto known = std::ranges::find_if(buffers, [&](const PipelineBuffer& buffer) {
            return buffer.tensor == owner && buffer.tracked == own.tracked;
        });
        if (known == buffers.end()) {
            buffers.push_back({owner, own.tracked, own.shared_loops(), stage, stage});
            plan.tile_left.push_back(-1);
            plan.tile_right.emplace_back();
            known = buffers.end() - 1;
        }
        known->depth = std::max(known->depth, own.shared_loops());
        known->first = std::min(known->first, stage);
        known->last = std::max(known->last, stage);
        plan.tile_right[static_cast<std::size_t>(known - buffers.begin())].push_back(
            static_cast<int>(i));
    }
}

/// By itself, which begins a pipeline, after a closed state; as one more branch after another one.
std::optional<PipelinePlan> plan_of(const Context& c, const PipelineState& left,
                                    const GroupStructure& right, JoinPlan join) {
    PipelinePlan plan;
    plan.branch = !left.open.branches.empty();
    plan.open.branches = left.open.branches;
    plan.open.branches.push_back(join.einsum);
    plan.open.before = plan.branch ? left.open.before : join.n_left;
    const int after = join.n_open;
    if (plan.branch) {
        const workload::Einsum& first = c.workload.einsums[at(left.open.branches.front())];
        plan.open.split = join.n_left;
        const bool same_split = left.open.split < 0 || left.open.split == join.n_left;
        if (!same_split || left.open.before > plan.open.split || after > plan.open.split ||
            first.n_instances != c.workload.einsums[at(join.einsum)].n_instances) {
            return std::nullopt;
        }
    }
    plan.stages = c.stages.of(plan.open.branches);
    add_buffers(left, right, plan);
    plan.outside = plan.branch ? std::max(plan.open.before, after) : 0;
    plan.may_go_on = plan.branch ? after == plan.open.split : after >= plan.open.before;
    plan.join = std::move(join);
    return plan;
}

/// Pairs of state and group that can be joined at this step.
std::vector<Task> plan_step(const Context& c, std::size_t size,
                            const std::vector<PipelineState>& left, Step& step) {
    std::vector<Task> tasks;
    for (std::size_t l = 0; l < left.size(); ++l) {
        for (const Orders::Next& next : c.orders.by_size[size][at(left[l].done)].next) {
            const Orders::Set& after = c.orders.by_size[size + 1][at(next.set)];
            const auto& groups = c.groups[at(next.einsum)];
            for (std::size_t r = 0; r < groups.size(); ++r) {
                for (JoinPlan& join :
                     match(left[l].structure, groups[r].structure, after.needed, false)) {
                    std::vector<double> future = after.future;
                    if (!c.lookahead.future(join.structure, after, future)) {
                        continue;
                    }
                    join.einsum = next.einsum;
                    auto plan = plan_of(c, left[l], groups[r].structure, std::move(join));
                    if (!plan) {
                        continue;
                    }
                    plan->may_go_on = plan->may_go_on && !after.next.empty();
                    tasks.push_back({static_cast<std::uint32_t>(l), static_cast<std::uint32_t>(r),
                                     static_cast<std::uint32_t>(step.plans.size()), next.set,
                                     std::move(future)});
                    step.plans.push_back(std::move(*plan));
                }
            }
        }
    }
    return tasks;
}

PipelineLayout layout_of(const Context& c, const StateStructure& structure, int stages,
                         std::size_t buffers) {
    return {c.options.goal == JoinGoal::edp ? 2 : 1,
            stages,
            c.components,
            static_cast<int>(c.memories.size()),
            static_cast<int>(buffers),
            structure.n_loops(),
            static_cast<int>(structure.live.size())};
}

std::vector<const OwnSize*> own_sizes(const Context& c, int einsum) {
    std::vector<const OwnSize*> out(c.memories.size(), nullptr);
    for (std::size_t m = 0; m < c.options.own_sizes.size(); ++m) {
        const std::vector<OwnSize>& sizes = c.options.own_sizes[m];
        out[m] = sizes.empty() ? nullptr : &sizes[at(einsum)];
    }
    return out;
}

void run_task(const Context& c, std::size_t size, const std::vector<PipelineState>& left,
              const Task& task, const PipelinePlan& plan, PipelineRows& out) {
    out.closed.done = out.open.done = task.set;
    out.closed.structure = out.open.structure = plan.join.structure;
    out.open.open = plan.open;
    out.closed.layout = layout_of(c, plan.join.structure, 0, 0);
    out.open.layout = layout_of(c, plan.join.structure, plan.n_stages(), plan.open.buffers.size());
    const PipelinePairing pairing{left[task.left],
                                  c.groups[at(plan.join.einsum)][task.right],
                                  plan,
                                  task.left,
                                  task.right,
                                  task.plan,
                                  c.options.match_tile_shapes,
                                  own_sizes(c, plan.join.einsum)};
    StepBound bound{c.options.goal, task.future, &c.known, false, nullptr, nullptr, nullptr};
    std::vector<double> least;
    if (c.completions != nullptr) {
        c.completions->of_rows(size + 1, task.set, plan.join, pairing.right, least);
        bound.completions = c.completions;
        bound.least = &least;
    }
    combine(pairing, c.memories, bound, out);
}

/// Rows of equal states together, in the order of the tasks.
std::vector<PipelineState> merged(std::vector<PipelineRows>& results, int threads) {
    std::map<std::tuple<int, StateStructure, OpenPipeline>, std::size_t> where;
    std::vector<PipelineState> out;
    for (PipelineRows& rows : results) {
        for (PipelineState* const state : {&rows.closed, &rows.open}) {
            if (state->rows() == 0) {
                continue;
            }
            const auto [it, fresh] =
                where.try_emplace({state->done, state->structure, state->open}, out.size());
            if (fresh) {
                out.push_back(std::move(*state));
            } else {
                append<PipelineLayout>(out[it->second], std::move(*state));
            }
        }
    }
    base::parallel_for(out.size(), threads, [&](std::size_t i, int) { prune_pareto(out[i]); });
    return out;
}

Step run_step(const Context& c, std::size_t size, const std::vector<PipelineState>& left,
              PipelineJoinResult& result) {
    Step step;
    const std::vector<Task> tasks = plan_step(c, size, left, step);
    for (std::size_t i = 0; c.completions != nullptr && i < tasks.size(); ++i) {
        c.completions->prepare(size + 1, tasks[i].set);
    }
    base::LeftOnStop<std::vector<PipelineRows>> all(tasks.size());
    std::vector<PipelineRows>& results = *all;
    std::atomic<std::uint64_t> pairs{result.rows_joined};
    base::parallel_for(tasks.size(), c.options.threads, [&](std::size_t i, int) {
        if (c.options.most_pairs > 0 && pairs > c.options.most_pairs) {
            return;
        }
        run_task(c, size, left, tasks[i], step.plans[tasks[i].plan], results[i]);
        pairs += results[i].pairs;
    });
    result.rows_joined = pairs;
    result.given_up = c.options.most_pairs > 0 && pairs > c.options.most_pairs;
    step.states = merged(results, c.options.threads);
    return step;
}

PipelineState empty_state(const Context& c) {
    PipelineState state;
    state.layout = layout_of(c, state.structure, 0, 0);
    state.values.assign(at(state.layout.stride()), 0.0);
    state.from.push_back({});
    return state;
}

PipelinedMapping trace(const std::vector<Step>& steps, std::size_t state, std::size_t row) {
    PipelinedMapping out;
    const PipelineState& last = steps.back().states[state];
    out.mapping.objectives.assign(last.row(row), last.row(row) + last.layout.costs);
    std::vector<TracedStep> path(steps.size());
    std::vector<char> branch(steps.size());
    for (std::size_t e = steps.size(); e-- > 0;) {
        const BackPointer& from = steps[e].states[state].from[row];
        const PipelinePlan& plan = steps[e].plans[from.plan];
        path[e] = {&plan.join, from.right_group, from.right_row};
        branch[e] = plan.branch ? 1 : 0;
        state = from.left_group;
        row = from.left_row;
    }
    out.mapping.einsums = traced(path);
    for (std::size_t e = 0; e < steps.size(); ++e) {
        if (branch[e] != 0 && branch[e - 1] != 0) {
            ++out.at_once.back().second;
        } else if (branch[e] != 0) {
            out.at_once.emplace_back(static_cast<int>(e) - 1, static_cast<int>(e) + 1);
        }
    }
    return out;
}

void take_best(const std::vector<Step>& steps, JoinGoal goal, PipelineJoinResult& result) {
    double least = std::numeric_limits<double>::infinity();
    std::pair<std::size_t, std::size_t> best;
    const std::vector<PipelineState>& states = steps.back().states;
    for (std::size_t i = 0; i < states.size(); ++i) {
        for (std::size_t r = 0; r < states[i].rows(); ++r) {
            const double* costs = states[i].row(r);
            const double value = goal == JoinGoal::edp ? costs[0] * costs[1] : costs[0];
            if (value < least) {
                least = value;
                best = {i, r};
            }
        }
    }
    if (std::isfinite(least)) {
        result.best = trace(steps, best.first, best.second);
    }
}

}  // namespace
}  // namespace detail

PipelineJoinResult join_pipelines(const workload::Workload& workload,
                                  const std::vector<std::vector<PmappingGroup>>& groups,
                                  const std::vector<TrackedMemory>& memories,
                                  const PipelineJoinOptions& options) {
    using namespace detail;
    PipelineJoinResult result;
    const int costs = options.goal == JoinGoal::edp ? 2 : 1;
    const std::vector<std::vector<double>> known{costs == 2
                                                     ? std::vector<double>{options.cutoff, 1.0}
                                                     : std::vector<double>{options.cutoff}};
    const std::vector<std::vector<double>> least = least_costs(groups, costs);
    const Orders orders = orders_of(workload, least, options.order);
    result.all_orders = orders.complete;
    Lookahead lookahead(workload, groups, least);
    const Stages stages(workload);
    std::optional<CompletionBounds> completions;
    if (options.completion_sums > 0) {
        completions.emplace(groups, orders, workload.tensors.size(), options.goal, known,
                            options.completion_sums);
    }
    Context c{workload, groups, memories,  options,
              stages,   orders, lookahead, completions ? &*completions : nullptr,
              known};
    for (const auto& einsum : groups) {
        for (const PmappingGroup& group : einsum) {
            c.components = group.n_busy;
        }
    }
    base::LeftOnStop<std::vector<Step>> all;
    std::vector<Step>& steps = *all;
    steps.reserve(groups.size());
    const std::vector<PipelineState> first{empty_state(c)};
    for (std::size_t size = 0; size < groups.size(); ++size) {
        steps.push_back(run_step(c, size, size == 0 ? first : steps[size - 1].states, result));
        std::size_t rows = 0;
        for (const PipelineState& state : steps.back().states) {
            rows += state.rows();
        }
        result.rows_kept += rows;
        if (options.progress) {
            options.progress(static_cast<int>(size) + 1, steps.back().states.size(), rows);
        }
        result.given_up = result.given_up || (options.most_rows > 0 && rows > options.most_rows);
        if (result.given_up || rows == 0) {
            return result;
        }
    }
    take_best(steps, options.goal, result);
    return result;
}

}  // namespace tessera::mapspace
