#include "support/random_dag.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace tessera::test {

using namespace schedule;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Enumeration {
    const Dag& dag;
    const Overlap& overlap;
    Binding binding;
    double best = infinity;

    void go(std::uint64_t done, const std::vector<double>& free, const std::vector<double>& end) {
        bool last = true;
        for (int i = 0; i < static_cast<int>(dag.tasks.size()); ++i) {
            if (done >> i & 1) {
                continue;
            }
            last = false;
            double ready = 0;
            bool waits = false;
            for (const Edge& edge : overlap.edges) {
                if (edge.to == i) {
                    waits = waits || !(done >> edge.from & 1);
                    ready = std::max(ready, end[edge.from]);
                }
            }
            if (!waits) {
                place(i, ready, done, free, end);
            }
        }
        if (last) {
            best = std::min(best, *std::max_element(free.begin(), free.end()));
        }
    }
    void place(int i, double ready, std::uint64_t done, const std::vector<double>& free,
               const std::vector<double>& end) {
        const auto& latency = dag.tasks[i].latency_s;
        std::vector<double> ends;
        for (std::size_t u = 0; u < latency.size(); ++u) {
            ends.push_back(std::max(free[u], ready) + latency[u]);
        }
        const auto first = std::min_element(ends.begin(), ends.end()) - ends.begin();
        for (std::size_t u = 0; u < latency.size(); ++u) {
            if (ends[u] < infinity &&
                (binding == Binding::any || static_cast<std::ptrdiff_t>(u) == first)) {
                auto free_then = free, end_then = end;
                free_then[u] = end_then[i] = ends[u];
                go(done | std::uint64_t{1} << i, free_then, end_then);
            }
        }
    }
};

}  // namespace

Dag random_dag(std::mt19937& random, int n, bool recurrences) {
    const auto below = [&](int limit) {
        return static_cast<int>(random() % static_cast<unsigned>(limit));
    };
    Dag dag;
    dag.units = {"2D", "1D"};
    for (int i = 0; i < n; ++i) {
        Task task{"T" + std::to_string(i),
                  {static_cast<double>(below(12)), static_cast<double>(1 + below(12))}};
        if (below(6) == 0) {
            task.latency_s[static_cast<std::size_t>(below(2))] = infinity;
        }
        dag.tasks.push_back(task);
    }
    const int density = 1 + below(4);
    for (int i = 0; i < n; ++i) {
        for (int j = i + 1; j < n; ++j) {
            if (below(5) < density) {
                dag.edges.push_back({i, j});
            }
            if (recurrences && below(4) == 0) {
                dag.recurrences.push_back({j, i});
            }
        }
    }
    return dag;
}

double shortest_round(const Dag& dag, const Overlap& overlap, Binding binding) {
    Enumeration all{dag, overlap, binding};
    all.go(0, std::vector<double>(dag.units.size()), std::vector<double>(dag.tasks.size()));
    return all.best;
}

double shortest_round_of_all_stages(const Dag& dag) {
    const int n = static_cast<int>(dag.tasks.size());
    std::vector<int> stage(dag.tasks.size(), 0);
    std::set<std::vector<std::pair<int, int>>> seen;
    double best = infinity;
    for (;;) {
        bool valid = true;
        std::vector<std::pair<int, int>> edges;
        for (const Edge& e : dag.edges) {
            valid = valid && stage[e.from] <= stage[e.to];
            if (stage[e.from] == stage[e.to]) {
                edges.emplace_back(e.from, e.to);
            }
        }
        for (const Edge& e : dag.recurrences) {
            valid = valid && stage[e.from] <= stage[e.to] + 1;
            if (stage[e.from] == stage[e.to] + 1) {
                edges.emplace_back(e.from, e.to);
            }
        }
        if (valid && seen.insert(edges).second) {
            Overlap overlap{stage, {}};
            for (const auto& [from, to] : edges) {
                overlap.edges.push_back({from, to});
            }
            best = std::min(best, shortest_round(dag, overlap, Binding::any));
        }
        int at = 0;
        while (at < n && ++stage[at] == n) {
            stage[at++] = 0;
        }
        if (at == n) {
            return best;
        }
    }
}

double least_load(const Dag& dag) {
    double best = infinity;
    const std::size_t n = dag.tasks.size();
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << n; ++bits) {
        double load[2] = {0, 0};
        for (std::size_t i = 0; i < n; ++i) {
            load[bits >> i & 1] += dag.tasks[i].latency_s[bits >> i & 1];
        }
        best = std::min(best, std::max(load[0], load[1]));
    }
    return best;
}

std::vector<std::uint64_t> defined_bipartitions(const Dag& dag) {
    const int n = static_cast<int>(dag.tasks.size());
    const auto in = [](std::uint64_t set, int i) { return (set >> i & 1) != 0; };
    const auto walk = [&](std::uint64_t seen, std::uint64_t within, bool back) {
        for (int pass = 0; pass < n; ++pass) {
            for (const Edge& e : dag.edges) {
                if (in(within, e.from) && in(within, e.to)) {
                    seen |= in(seen, e.from) ? std::uint64_t{1} << e.to : 0;
                    seen |= back && in(seen, e.to) ? std::uint64_t{1} << e.from : 0;
                }
            }
        }
        return seen;
    };
    const std::uint64_t all = (std::uint64_t{1} << n) - 1;
    const auto sources = [&](std::uint64_t half) {
        std::uint64_t found = half;
        for (const Edge& e : dag.edges) {
            found &= in(half, e.from) && in(half, e.to) ? ~(std::uint64_t{1} << e.to) : ~0ULL;
        }
        return found;
    };
    std::uint64_t sinks = all;
    for (const Edge& e : dag.edges) {
        sinks &= ~(std::uint64_t{1} << e.from);
    }
    std::vector<std::uint64_t> found;
    for (std::uint64_t s1 = 1; s1 < all; ++s1) {
        const std::uint64_t s2 = all & ~s1;
        bool valid = (sources(all) & s2) == 0 && (sinks & s1) == 0;
        for (const Edge& e : dag.edges) {
            valid = valid && !(in(s1, e.to) && in(s2, e.from));
        }
        valid = valid && walk(s1 & -s1, s1, true) == s1 && walk(s2 & -s2, s2, true) == s2;
        for (int i = 0; valid && i < n; ++i) {
            if (in(sources(s1), i)) {
                valid = (walk(std::uint64_t{1} << i, s1, false) | sources(s1)) == s1;
            }
        }
        if (valid) {
            found.push_back(s1);
        }
    }
    return found;
}

}  // namespace tessera::test
