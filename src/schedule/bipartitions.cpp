// The paper's valid bipartitions: sets closed under predecessors, grown one task at a time.
#include <bit>
#include <set>

#include "schedule/graph.hpp"
#include "tessera/schedule/dpipe.hpp"

namespace tessera::schedule {

namespace {

/// Everything in `within` that `seen` leads to along `after` (and `before`, if undirected).
Set spread(const Graph& graph, Set seen, Set within, bool undirected) {
    for (Set edge = seen; edge;) {
        const int task = std::countr_zero(edge);
        edge &= edge - 1;
        const Set next =
            (graph.after[task] | (undirected ? graph.before[task] : 0)) & within & ~seen;
        seen |= next;
        edge |= next;
    }
    return seen;
}

bool connected(const Graph& graph, Set set) {
    return set && spread(graph, set & -set, set, true) == set;
}

/// Every source of the half reaches every task of it that is no source.
bool sources_reach_all(const Graph& graph, Set half) {
    Set sources = 0;
    for (int i = 0; i < graph.size(); ++i) {
        if ((half & bit(i)) && !(graph.before[i] & half)) {
            sources |= bit(i);
        }
    }
    for (Set rest = sources; rest; rest &= rest - 1) {
        const Set reached = spread(graph, rest & -rest, half, false);
        if ((reached | sources) != half) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::vector<Overlap> bipartitions(const Dag& dag, const Limits& limits, bool& complete) {
    check(dag);
    const std::size_t n = dag.tasks.size();
    const Graph graph(n, dag.edges);
    const Set all = all_tasks(n);
    std::vector<Overlap> found = {overlap(dag, std::vector<int>(n, 0))};
    Set sources = 0, sinks = 0;
    for (int i = 0; i < graph.size(); ++i) {
        sources |= graph.before[i] ? 0 : bit(i);
        sinks |= graph.after[i] ? 0 : bit(i);
    }
    complete = true;
    if (sources & sinks) {
        return found;
    }
    // By size, then as numbers: the order in which the first of equal rounds is chosen.
    for (std::set<Set> layer = {sources}; !layer.empty();) {
        std::set<Set> next;
        for (const Set first : layer) {
            if (found.size() >= limits.overlaps || next.size() >= 16 * limits.overlaps) {
                complete = false;
                return found;
            }
            if (connected(graph, first) && connected(graph, all & ~first) &&
                sources_reach_all(graph, first)) {
                std::vector<int> stage(n);
                for (std::size_t i = 0; i < n; ++i) {
                    stage[i] = first & bit(static_cast<int>(i)) ? 0 : 1;
                }
                found.push_back(overlap(dag, stage));
            }
            for (int i = 0; i < graph.size(); ++i) {
                if (!((first | sinks) & bit(i)) && !(graph.before[i] & ~first)) {
                    next.insert(first | bit(i));
                }
            }
        }
        layer = std::move(next);
    }
    return found;
}

}  // namespace tessera::schedule
