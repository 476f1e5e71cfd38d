// Which unit runs which task so that the fullest unit has least to do: dynamic programming over
// tasks, keeping the load vectors that no other dominates and that can still beat the incumbent.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tessera/schedule/dpipe.hpp"

namespace tessera::schedule {

namespace {

using Loads = std::vector<double>;

struct Partial {
    Loads loads_s;
    std::vector<int> binding;
};

double fullest(const Loads& loads_s) {
    return *std::max_element(loads_s.begin(), loads_s.end());
}

/// Each task in turn goes where it ends first.
Partial greedy(const Dag& dag, const std::vector<int>& order) {
    Partial made{Loads(dag.units.size()), std::vector<int>(dag.tasks.size())};
    for (const int task : order) {
        const std::vector<double>& latency = dag.tasks[task].latency_s;
        std::size_t best = 0;
        for (std::size_t unit = 1; unit < latency.size(); ++unit) {
            if (made.loads_s[unit] + latency[unit] < made.loads_s[best] + latency[best]) {
                best = unit;
            }
        }
        made.loads_s[best] += latency[best];
        made.binding[task] = static_cast<int>(best);
    }
    return made;
}

/// Sorted by the first load, a vector can only be dominated by an earlier one.
void drop_dominated(std::vector<Partial>& partials) {
    std::sort(partials.begin(), partials.end(),
              [](const Partial& a, const Partial& b) { return a.loads_s < b.loads_s; });
    std::vector<Partial> kept;
    double least_second = std::numeric_limits<double>::infinity();
    for (Partial& one : partials) {
        bool dominated = false;
        if (one.loads_s.size() == 1) {
            dominated = !kept.empty();
        } else if (one.loads_s.size() == 2) {
            dominated = one.loads_s[1] >= least_second;
            least_second = std::min(least_second, one.loads_s[1]);
        } else {
            dominated = std::any_of(kept.begin(), kept.end(), [&](const Partial& other) {
                return std::equal(other.loads_s.begin(), other.loads_s.end(), one.loads_s.begin(),
                                  [](double a, double b) { return a <= b; });
            });
        }
        if (!dominated) {
            kept.push_back(std::move(one));
        }
    }
    partials = std::move(kept);
}

}  // namespace

double least_load_s(const Dag& dag, const Limits& limits, std::vector<int>& binding,
                    bool& complete) {
    check(dag);
    const std::size_t n = dag.tasks.size();
    std::vector<double> least(n);
    for (std::size_t i = 0; i < n; ++i) {
        least[i] = *std::min_element(dag.tasks[i].latency_s.begin(), dag.tasks[i].latency_s.end());
    }
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return least[a] > least[b]; });
    Partial best = greedy(dag, order);
    double left = std::accumulate(least.begin(), least.end(), 0.0);
    std::vector<Partial> layer = {{Loads(dag.units.size()), std::vector<int>(n)}};
    complete = true;
    for (const int task : order) {
        left -= least[task];
        std::vector<Partial> next;
        for (const Partial& one : layer) {
            for (std::size_t unit = 0; unit < dag.units.size(); ++unit) {
                Partial made = one;
                made.loads_s[unit] += dag.tasks[task].latency_s[unit];
                made.binding[task] = static_cast<int>(unit);
                const double sum =
                    std::accumulate(made.loads_s.begin(), made.loads_s.end(), 0.0) + left;
                const double bound = sum / static_cast<double>(dag.units.size()) * (1 - 1e-14);
                if (fullest(made.loads_s) < fullest(best.loads_s) &&
                    bound < fullest(best.loads_s)) {
                    next.push_back(std::move(made));
                }
            }
        }
        drop_dominated(next);
        if (next.size() > std::max<std::size_t>(limits.states, 1)) {
            std::stable_sort(next.begin(), next.end(), [](const Partial& a, const Partial& b) {
                return fullest(a.loads_s) < fullest(b.loads_s);
            });
            next.resize(std::max<std::size_t>(limits.states, 1));
            complete = false;
        }
        layer = std::move(next);
    }
    for (const Partial& one : layer) {
        best = fullest(one.loads_s) < fullest(best.loads_s) ? one : best;
    }
    binding = best.binding;
    return fullest(best.loads_s);
}

}  // namespace tessera::schedule
