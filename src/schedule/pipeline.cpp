// The two modes of DPipe.
#include <algorithm>
#include <limits>

#include "schedule/best_order.hpp"
#include "schedule/graph.hpp"
#include "schedule/stages.hpp"
#include "tessera/base/error.hpp"
#include "tessera/schedule/dpipe.hpp"

namespace tessera::schedule {

namespace {

double busy_s(const Schedule& schedule) {
    double sum = 0;
    for (const Placement& placed : schedule.placements) {
        sum += placed.end_s - placed.start_s;
    }
    return sum;
}

/// Shorter, or as short with units that work less.
bool better(const Schedule& a, const Schedule& b) {
    return a.interval_s < b.interval_s * (1 - 1e-12) ||
           (a.interval_s <= b.interval_s * (1 + 1e-12) && busy_s(a) < busy_s(b));
}

Schedule two_stages(const Dag& dag, const Limits& limits) {
    bool complete = true;
    std::size_t left = limits.placements;
    Schedule best;
    best.interval_s = std::numeric_limits<double>::infinity();
    for (const Overlap& one : bipartitions(dag, limits, complete)) {
        if (left == 0 && !best.placements.empty()) {
            complete = false;
            break;
        }
        Schedule made = order_below(dag, one, Binding::greedy, limits, best.interval_s, left);
        complete = complete && made.complete;
        if (!made.placements.empty() && better(made, best)) {
            best = std::move(made);
        }
    }
    best.complete = complete;
    return best;
}

/// Longest way from the start of each task to the end of the round.
std::vector<double> tails(const Dag& dag, const Graph& graph, const std::vector<int>& binding) {
    std::vector<double> tail(dag.tasks.size());
    for (int pass = 0; pass < graph.size(); ++pass) {
        for (int i = 0; i < graph.size(); ++i) {
            double longest = 0;
            for (int j = 0; j < graph.size(); ++j) {
                longest = std::max(longest, graph.after[i] & bit(j) ? tail[j] : 0);
            }
            tail[i] = longest + dag.tasks[i].latency_s[binding[i]];
        }
    }
    return tail;
}

/// A round with a given binding: tasks that others wait for first, tasks that wait last. What has
/// no edge fills the time between.
Schedule fill(const Dag& dag, const Overlap& overlap, const std::vector<int>& binding) {
    const Graph graph(dag.tasks.size(), overlap.edges);
    const std::vector<double> tail = tails(dag, graph, binding);
    std::vector<double> free(dag.units.size()), end(dag.tasks.size());
    Schedule made;
    made.overlap = overlap;
    for (Set done = 0; made.placements.size() < dag.tasks.size();) {
        int next = -1;
        const auto rank = [&](int i) {
            return std::pair(graph.after[i] ? 0 : (graph.before[i] ? 2 : 1), -tail[i]);
        };
        for (int i = 0; i < graph.size(); ++i) {
            if (!(done & bit(i)) && !(graph.before[i] & ~done) &&
                (next < 0 || rank(i) < rank(next))) {
                next = i;
            }
        }
        double start = free[binding[next]];
        for (int i = 0; i < graph.size(); ++i) {
            start = graph.before[next] & bit(i) ? std::max(start, end[i]) : start;
        }
        end[next] = start + dag.tasks[next].latency_s[binding[next]];
        free[binding[next]] = end[next];
        made.placements.push_back({next, binding[next], start, end[next]});
        made.interval_s = std::max(made.interval_s, end[next]);
        done |= bit(next);
    }
    return made;
}

/// Sums in another order may differ in their last digits.
bool reaches(const Schedule& schedule, double bound_s) {
    return schedule.interval_s <= bound_s * (1 + 1e-12);
}

Schedule any_stages(const Dag& dag, const Limits& limits) {
    bool bound_complete = true, listed = true;
    std::vector<int> binding;
    const double bound_s = least_load_s(dag, limits, binding, bound_complete);
    const std::vector<Overlap> overlaps = stage_assignments(dag, limits, listed);
    Schedule best;
    best.interval_s = std::numeric_limits<double>::infinity();
    for (const Overlap& one : overlaps) {
        Schedule made = fill(dag, one, binding);
        best = made.interval_s < best.interval_s ? std::move(made) : best;
    }
    if (!reaches(best, bound_s)) {
        Schedule made = two_stages(dag, limits);
        best = made.interval_s < best.interval_s ? std::move(made) : best;
    }
    bool all = listed;
    std::size_t left = limits.placements;
    for (const Overlap& one : overlaps) {
        if (reaches(best, bound_s)) {
            break;
        }
        if (left == 0) {
            all = false;
            break;
        }
        Schedule made = order_below(dag, one, Binding::any, limits, best.interval_s, left);
        all = all && made.complete;
        if (!made.placements.empty() && better(made, best)) {
            best = std::move(made);
        }
    }
    best.complete = reaches(best, bound_s) ? bound_complete : all;
    lower_stages(dag, best);
    return best;
}

}  // namespace

Schedule pipeline(const Dag& dag, Mode mode, const Limits& limits) {
    check(dag);
    return mode == Mode::paper ? two_stages(dag, limits) : any_stages(dag, limits);
}

}  // namespace tessera::schedule
