#include "schedule/stages.hpp"

#include <algorithm>
#include <bit>

#include "schedule/graph.hpp"

namespace tessera::schedule {

namespace {

/// Strongly connected components of edges and recurrences, those that others wait for first.
std::vector<std::vector<int>> components(const Dag& dag) {
    const int n = static_cast<int>(dag.tasks.size());
    Graph graph(dag.tasks.size(), dag.edges);
    for (const Edge& edge : dag.recurrences) {
        graph.add(edge);
    }
    std::vector<Set> reached(graph.after);
    for (int k = 0; k < n; ++k) {
        for (int i = 0; i < n; ++i) {
            reached[i] |= reached[i] & bit(k) ? reached[k] : 0;
        }
    }
    std::vector<std::vector<int>> found;
    Set seen = 0;
    for (int i = 0; i < n; ++i) {
        if (seen & bit(i)) {
            continue;
        }
        found.emplace_back();
        for (int j = i; j < n; ++j) {
            if (j == i || ((reached[i] & bit(j)) && (reached[j] & bit(i)))) {
                found.back().push_back(j);
                seen |= bit(j);
            }
        }
    }
    // Who reaches more comes earlier; two that reach equally many do not reach each other.
    std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
        return std::popcount(reached[a[0]] | bit(a[0])) > std::popcount(reached[b[0]] | bit(b[0]));
    });
    return found;
}

/// Stages 0 .. size-1 of the tasks of one component, of which the least is 0.
class Inside {
public:
    Inside(const Dag& dag, const std::vector<int>& tasks, std::size_t limit)
        : dag_(dag), tasks_(tasks), limit_(limit), stage_(dag.tasks.size(), -1) {
        assign(0);
    }
    std::vector<std::vector<int>> found;  ///< stages in the order of `tasks`
    bool complete = true;

private:
    void assign(std::size_t at) {
        if (at == tasks_.size()) {
            std::vector<int> stages;
            for (const int task : tasks_) {
                stages.push_back(stage_[task]);
            }
            if (*std::min_element(stages.begin(), stages.end()) == 0) {
                found.push_back(std::move(stages));
            }
            return;
        }
        for (int k = 0; k < static_cast<int>(tasks_.size()); ++k) {
            if (found.size() >= limit_ || ++visited_ > 64 * limit_) {
                complete = false;
                break;
            }
            stage_[tasks_[at]] = k;
            if (fits()) {
                assign(at + 1);
            }
        }
        stage_[tasks_[at]] = -1;
    }
    bool fits() const {
        const auto both = [&](const Edge& edge) {
            return stage_[edge.from] >= 0 && stage_[edge.to] >= 0;
        };
        return std::none_of(dag_.edges.begin(), dag_.edges.end(),
                            [&](const Edge& edge) {
                                return both(edge) && stage_[edge.to] < stage_[edge.from];
                            }) &&
               std::none_of(dag_.recurrences.begin(), dag_.recurrences.end(),
                            [&](const Edge& edge) {
                                return both(edge) && stage_[edge.from] > stage_[edge.to] + 1;
                            });
    }

    const Dag& dag_;
    const std::vector<int>& tasks_;
    std::size_t limit_, visited_ = 0;
    std::vector<int> stage_;
};

bool contains(const std::vector<Edge>& edges, const std::vector<Edge>& others) {
    return std::all_of(others.begin(), others.end(), [&](const Edge& edge) {
        return std::find(edges.begin(), edges.end(), edge) != edges.end();
    });
}

void add_if_new(std::vector<Overlap>& found, Overlap made) {
    for (const Overlap& other : found) {
        if (contains(made.edges, other.edges)) {
            return;
        }
    }
    std::erase_if(found, [&](const Overlap& other) { return contains(other.edges, made.edges); });
    found.push_back(std::move(made));
}

}  // namespace

std::vector<Overlap> stage_assignments(const Dag& dag, const Limits& limits, bool& complete) {
    const std::vector<std::vector<int>> parts = components(dag);
    std::vector<std::vector<std::vector<int>>> choices;
    complete = true;
    for (const std::vector<int>& part : parts) {
        Inside inside(dag, part, std::max<std::size_t>(limits.overlaps, 1));
        choices.push_back(std::move(inside.found));
        complete = complete && inside.complete;
    }
    std::vector<Overlap> found;
    std::vector<std::size_t> at(parts.size(), 0);
    for (std::size_t tried = 0;; ++tried) {
        if (tried >= std::max<std::size_t>(limits.overlaps, 1)) {
            complete = false;
            return found;
        }
        std::vector<int> stage(dag.tasks.size());
        int base = 0;
        for (std::size_t p = 0; p < parts.size(); ++p) {
            const std::vector<int>& own = choices[p][at[p]];
            for (std::size_t i = 0; i < own.size(); ++i) {
                stage[parts[p][i]] = base + own[i];
            }
            base += *std::max_element(own.begin(), own.end()) + 1;
        }
        add_if_new(found, overlap(dag, std::move(stage)));
        std::size_t p = 0;
        while (p < parts.size() && ++at[p] == choices[p].size()) {
            at[p++] = 0;
        }
        if (p == parts.size()) {
            return found;
        }
    }
}

void lower_stages(const Dag& dag, Schedule& schedule) {
    std::vector<const Placement*> of(dag.tasks.size());
    for (const Placement& placed : schedule.placements) {
        of[placed.task] = &placed;
    }
    const auto in_order = [&](const Edge& edge) {
        return of[edge.from]->end_s <= of[edge.to]->start_s;
    };
    // Least solution of stage[to] >= stage[from] + step: longest paths, which exist because the
    // stages of the schedule are a solution.
    std::vector<int> stage(dag.tasks.size(), 0);
    for (std::size_t pass = 0; pass <= dag.tasks.size(); ++pass) {
        for (const Edge& edge : dag.edges) {
            stage[edge.to] = std::max(stage[edge.to], stage[edge.from] + (in_order(edge) ? 0 : 1));
        }
        for (const Edge& edge : dag.recurrences) {
            stage[edge.to] = std::max(stage[edge.to], stage[edge.from] - (in_order(edge) ? 1 : 0));
        }
    }
    schedule.overlap = overlap(dag, std::move(stage));
}

}  // namespace tessera::schedule
