// Reading assignments back from the tables, from the outermost block inwards.
#include <algorithm>

#include "timeloop/optimal/tables.hpp"

namespace tessera::timeloop {

struct Tables::Trace {
    const Tables& t;
    double limit;
    const std::function<bool(const TemporalPlan&)>& visit;
    TemporalPlan plan;
    bool more = true;
    std::size_t steps = 0;

    // The state (open, x) that a block ends in; `later` is the cost of what follows it.
    struct End {
        const OpenEdges& open;
        std::size_t x = 0;
        double later = 0;
    };

    // Reaches the state after block `level`.
    void back(int level, const End& end) {
        const auto& [open, x, later] = end;
        if (level < 0) {
            if (x == 0 && open == OpenEdges{}) {
                plan.bound = t.edges_.constant() + later;
                more = visit(plan);
            }
            return;
        }
        Layers start;
        const Layers* sources = &start;
        if (level > 0) {
            sources = &t.after_[level - 1];
        } else {
            t.layer(start, {}).cost[0] = t.edges_.constant();
        }
        for (const Layer& source : *sources) {
            inner(level, source, end, 0, 0);
        }
    }
    // All lattice points that divide x, dimension by dimension.
    void inner(int level, const Layer& source, const End& end, int d, std::size_t point) {
        if (!more) {
            return;
        }
        t.poll(++steps);
        if (d == t.g_.dimensions) {
            if (source.cost[point] + end.later <= limit) {
                orders(level, source, end, point);
            }
            return;
        }
        const auto& divisors = t.lattice_.divisors[d];
        const std::size_t c = t.lattice_.coordinate(end.x, d);
        for (std::size_t k = 0; k <= c; ++k) {
            if (divisors[c] % divisors[k] == 0 && t.allowed(level, d, divisors[c] / divisors[k])) {
                plan.factors[level][d] = divisors[c] / divisors[k];
                inner(level, source, end, d + 1, point + k * t.lattice_.stride[d]);
            }
        }
    }
    void orders(int level, const Layer& source, const End& end, std::size_t point) {
        const auto& [open, x, later] = end;
        const std::vector<std::int64_t> factors = plan.factors[level];
        std::vector<std::vector<int>> seen;  // orders of the loops that run
        for (const std::vector<int>& order : t.orders_[level]) {
            std::vector<int> running;
            OpenEdges state = source.open;
            std::size_t y = point;
            double added = 0;
            for (const int d : order) {
                if (factors[d] == 1) {
                    continue;
                }
                running.push_back(d);
                added += t.closure(state, y, d, factors[d], level);
                state = t.close(state, level, d);
                y = t.lattice_.times(y, d, factors[d]);
            }
            if (y != x || !(state == open) || source.cost[point] + added + later > limit ||
                std::find(seen.begin(), seen.end(), running) != seen.end()) {
                continue;
            }
            seen.push_back(running);
            plan.order[level] = order;
            back(level - 1, {source.open, point, later + added});
            plan.factors[level] = factors;
            if (!more) {
                return;
            }
        }
    }
};

void Tables::plans(double limit, const std::function<bool(const TemporalPlan&)>& visit) const {
    Trace trace{*this, limit, visit, {}};
    trace.plan.factors.assign(g_.levels, std::vector<std::int64_t>(g_.dimensions, 1));
    trace.plan.order.resize(g_.levels);
    for (const Layer& last : after_.back()) {
        const double end = end_cost(last.open);
        if (last.cost.back() + end <= limit) {
            trace.back(g_.levels - 1, {last.open, lattice_.size - 1, end});
        }
    }
}

Mapping to_mapping(const MapSpace& space, const SpatialChoice& choice,
                   const std::vector<DataSpaceMask>& keep, const TemporalPlan& plan) {
    Mapping mapping = empty_mapping(space.problem(), space.architecture());
    const int dimensions = static_cast<int>(space.problem().dimensions.size());
    for (int level = 0; level < space.architecture().levels(); ++level) {
        LevelMapping& out = mapping.levels[level];
        out.keep = keep[level];
        for (int d = 0; d < dimensions; ++d) {
            const std::int64_t along = choice.factor[level * dimensions + d];
            out.spatial.factors[d] = {along, along};
            out.temporal.factors[d] = {plan.factors[level][d], plan.factors[level][d]};
        }
        if (!choice.order[level].empty()) {
            out.spatial.permutation = choice.order[level];
            out.spatial.split = choice.split[level];
        }
        out.temporal.permutation = plan.order[level];
    }
    set_reuse_limits(space.constraints(), mapping);
    return mapping;
}

}  // namespace tessera::timeloop
