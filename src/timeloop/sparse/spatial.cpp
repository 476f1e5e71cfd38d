// Spatial skipping: instances whose share of the condition is empty do nothing, and those in use
// are packed into fewer. "Architecture levels" are the arithmetic (0) and the storage levels (i+1);
// the spatial loops of a storage level decide about the instances of the one inside it.
#include <algorithm>

#include "state.hpp"
#include "timeloop/model/counters.hpp"

namespace tessera::timeloop::sparse {

namespace {

std::uint64_t scaled(std::uint64_t count, double ratio) {
    return counter(real(count) * ratio);
}

class SpatialSaving {
public:
    explicit SpatialSaving(State& state) : state_(state), levels_(state.levels + 1) {}

    void run() {
        initialize();
        for (int i = 0; i < state_.levels; ++i) {
            for (const OptimizationGroup& group :
                 state_.design.levels[static_cast<std::size_t>(i)].spatial_skipping) {
                skip(i, group.front());
            }
        }
        summarize();
        check_fanout();
    }

private:
    // Per data space and architecture level.
    struct Use {
        Expanded most;
        double share = 1;  ///< of instances in use on average
        bool reduced = false;
    };

    Use& use(int space, int level) {
        return uses_[static_cast<std::size_t>(space * levels_ + level)];
    }
    bool depends(int space, int dimension) const {
        return state_.uses[static_cast<std::size_t>(space)][static_cast<std::size_t>(dimension)];
    }

    /// The extents of the tile inside loop `q` of a level.
    Extents inside(int level, std::size_t q) const {
        if (q > 0) {
            return state_.loops[static_cast<std::size_t>(level)][q - 1].extents;
        }
        return level == 0 ? state_.scalar()
                          : state_.loops[static_cast<std::size_t>(level - 1)].back().extents;
    }

    /// Of the instances along a loop, the share that can be in use at once.
    double packed(int space, const NestLoop& loop, const Extents& element) const {
        Extents fiber = element;
        fiber[static_cast<std::size_t>(loop.dimension)] *= loop.end;
        const std::uint64_t most = state_.density(space).most_elements(
            state_.project(space, fiber), state_.project(space, element));
        return real(most) / static_cast<double>(loop.end);
    }

    void pack(Expanded& most, LoopKind kind, double ratio) const {
        std::uint64_t& along = kind == LoopKind::spatial_x ? most.x : most.y;
        along = scaled(along, ratio);
    }

    double held_share(int space, const Extents& element) const {
        return 1 - state_.density(space).probability(state_.project(space, element), 0);
    }

    /// What formats alone, without any skipping, tell about each data space.
    void initialize() {
        uses_.assign(static_cast<std::size_t>(state_.spaces * levels_), {});
        for (int s = 0; s < state_.spaces; ++s) {
            use(s, 0).most = {state_.computes.max_x, state_.computes.max_y};
            for (int i = 0; i < state_.levels; ++i) {
                of_format(s, i);
                use(s, i + 1).most = {state_.of(i, s).max_x, state_.of(i, s).max_y};
            }
        }
        for (int s = 0; s < state_.spaces; ++s) {
            for (int a = levels_ - 1; a >= 1; --a) {
                hand_down(s, a);
            }
            state_.computes.max_x = use(s, 0).most.x;
            state_.computes.max_y = use(s, 0).most.y;
            state_.computes.average_instances = use(s, 0).share;
        }
    }

    void of_format(int space, int level) {
        int source = level;
        while (!state_.of(source, space).kept && source < state_.levels - 1) {
            ++source;
        }
        if (state_.of(source, space).format == nullptr) {
            return;
        }
        Use& inner = use(space, level);
        bool first = true;
        double share = 1;
        const auto& nest = state_.loops[static_cast<std::size_t>(level)];
        for (std::size_t q = 0; q < nest.size(); ++q) {
            if (!nest[q].spatial() || nest[q].trivial() || !depends(space, nest[q].dimension)) {
                continue;
            }
            const Extents element = inside(level, q);
            if (first) {
                share = held_share(space, element);
                first = false;
            }
            pack(inner.most, nest[q].kind, packed(space, nest[q], element));
        }
        inner.share = share;
        inner.reduced = share != 1;
    }

    void hand_down(int space, int level) {
        Held& held = state_.of(level - 1, space);
        const Expanded most = use(space, level).most;
        const double x = real(most.x) / real(held.max_x), y = real(most.y) / real(held.max_y);
        if (x == 1 && y == 1) {
            return;
        }
        held.max_x = most.x;
        held.max_y = most.y;
        held.average_instances = real(held.replication) * use(space, level - 1).share;
        bool crossed = false;
        for (int inner = level - 1; inner >= 0; --inner) {
            Use& below = use(space, inner);
            below.most = {scaled(below.most.x, x), scaled(below.most.y, y)};
            crossed = crossed || below.reduced;
            if (!crossed) {
                below.share *= use(space, level).share;
            }
        }
    }

    void skip(int level, const ActionOptimization& action) {
        const int target = action.target, condition = action.conditions.front();
        state_.spatial[state_.place(level, target)] = 1;
        Use& inner = use(target, level);
        int source = level;
        while (source < state_.levels && !state_.of(source, condition).kept) {
            ++source;
        }
        if (source == state_.levels || state_.of(source, condition).format == nullptr) {
            inner.share = 1;
            return;
        }
        int child = level - 1;
        while (child >= 0 && !state_.of(child, target).kept) {
            --child;
        }
        bool first = true;
        double share = 1;
        const auto& nest = state_.loops[static_cast<std::size_t>(level)];
        for (std::size_t q = 0; q < nest.size(); ++q) {
            const NestLoop& loop = nest[q];
            if (!loop.spatial() || loop.trivial() || !depends(condition, loop.dimension)) {
                continue;
            }
            Extents element = inside(level, q);
            if (child >= 0 && depends(target, loop.dimension)) {
                stay(level, target, element);
            }
            if (first) {
                share = held_share(condition, element);
                first = false;
            }
            pack(inner.most, loop.kind, packed(condition, loop, element));
        }
        inner.share = share;
    }

    /// The target's tile stays through the temporal loops up to the first over it.
    void stay(int level, int target, Extents& element) const {
        int source = level;
        while (!state_.of(source, target).kept && source < state_.levels - 1) {
            ++source;
        }
        for (int i = level; i <= source; ++i) {
            for (const NestLoop& loop : state_.loops[static_cast<std::size_t>(i)]) {
                if (loop.spatial() || loop.trivial()) {
                    continue;
                }
                if (depends(target, loop.dimension)) {
                    return;
                }
                element[static_cast<std::size_t>(loop.dimension)] *= loop.end;
            }
        }
    }

    void summarize() {
        Computes& computes = state_.computes;
        for (int s = 0; s < state_.spaces; ++s) {
            std::vector<Expanded> before;
            for (int i = 0; i < state_.levels; ++i) {
                before.push_back({state_.of(i, s).max_x, state_.of(i, s).max_y});
            }
            for (int a = levels_ - 1; a >= 0; --a) {
                const Expanded most = use(s, a).most;
                const double share = use(s, a).share;
                double x = 1, y = 1;
                if (a > 0) {
                    Held& held = state_.of(a - 1, s);
                    held.max_x = most.x;
                    held.max_y = most.y;
                    held.average_instances = real(held.replication) * share;
                    x = real(most.x) / real(before[static_cast<std::size_t>(a - 1)].x);
                    y = real(most.y) / real(before[static_cast<std::size_t>(a - 1)].y);
                } else {
                    const double average = real(computes.replication) * share;
                    computes.max_x = s == 0 ? most.x : std::max(computes.max_x, most.x);
                    computes.max_y = s == 0 ? most.y : std::max(computes.max_y, most.y);
                    computes.average_instances =
                        s == 0 ? average : std::max(computes.average_instances, average);
                }
                if (a < state_.levels) {
                    state_.spatially_saved[state_.place(a, s)] = 1 - share;
                }
                if (x != 1 || y != 1) {
                    spread(s, a, x, y, share);
                }
            }
        }
    }

    void spread(int space, int level, double x, double y, double share) {
        bool crossed = false;
        for (int inner = level - 1; inner >= 0; --inner) {
            Use& below = use(space, inner);
            crossed = crossed || state_.spatial[state_.place(inner, space)] != 0;
            if (!crossed) {
                below.share *= share;
            }
            below.most = {scaled(below.most.x, x), scaled(below.most.y, y)};
        }
    }

    void check_fanout() {
        for (int s = 0; s < state_.spaces; ++s) {
            for (int a = levels_ - 2; a >= 0; --a) {
                const Expanded inner = use(s, a).most, outer = use(s, a + 1).most;
                if (outer.x == 0 || outer.y == 0) {
                    misfit(Fit::Kind::density, a);  // Timeloop divides by zero
                }
                const auto most_x = static_cast<std::uint64_t>(state_.architecture.fanout_x(a));
                const auto most_y = static_cast<std::uint64_t>(state_.architecture.fanout_y(a));
                if (inner.x / outer.x > most_x) {
                    misfit(Fit::Kind::fanout, a, inner.x / outer.x, real(most_x));
                }
                if (inner.y / outer.y > most_y) {
                    misfit(Fit::Kind::fanout, a, inner.y / outer.y, real(most_y));
                }
            }
        }
    }

    State& state_;
    int levels_;
    std::vector<Use> uses_;
};

}  // namespace

void save_in_space(State& state) {
    if (state.design.packs_instances()) {
        SpatialSaving(state).run();
    }
}

}  // namespace tessera::timeloop::sparse
