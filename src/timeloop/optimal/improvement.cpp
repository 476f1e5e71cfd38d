#include "timeloop/optimal/improvement.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/base/divisors.hpp"
#include "timeloop/optimal/tables.hpp"

namespace tessera::timeloop {

ImprovementHeuristic::ImprovementHeuristic(Pool& pool, const Stage& stage)
    : pool_(pool),
      stage_(stage),
      g_(stage.geometry()),
      dimensions_(g_.dimensions),
      levels_(static_cast<int>(g_.space.levels().size())) {}

bool ImprovementHeuristic::rearrange(Point& point, int level) const {
    return arrange(g_.space.levels()[level], &point.factor[level * dimensions_], dimensions_,
                   point.order[level], point.split[level]);
}

bool ImprovementHeuristic::parallel_enough(Point& point) const {
    if (g_.space.min_parallelism() <= 0) {
        return true;
    }
    double parallelism = 1;
    for (int level = 0; level < levels_; ++level) {
        const TilingLevel& tiling = g_.space.levels()[level];
        if (tiling.spatial) {
            double used = 1;
            for (int d = 0; d < dimensions_; ++d) {
                used *= static_cast<double>(factor(point, level, d));
            }
            parallelism *= used / static_cast<double>(tiling.fanout_x * tiling.fanout_y);
        }
    }
    return parallelism >= g_.space.min_parallelism();
}

Mapping ImprovementHeuristic::to_mapping(Point& point) const {
    Mapping mapping = empty_mapping(g_.space.problem(), g_.space.architecture());
    for (int level = 0; level < levels_; ++level) {
        const TilingLevel& tiling = g_.space.levels()[level];
        LoopBlock& block = block_of(mapping, tiling);
        for (int d = 0; d < dimensions_; ++d) {
            block.factors[d] = {factor(point, level, d), factor(point, level, d)};
        }
        block.permutation = point.order[level];
        block.split = tiling.spatial ? point.split[level] : block.split;
        mapping.levels[tiling.storage].keep = point.keep[tiling.storage];
    }
    set_reuse_limits(g_.space.constraints(), mapping);
    return mapping;
}

// HUGE_VAL if the point is no mapping.
double ImprovementHeuristic::judge(Point& point) {
    ++evals_;
    ++pool_.evaluated;
    if ((evals_ & 255) == 0) {
        pool_.over();
    }
    flat_.loop_count = 0;
    flat_.level_count = g_.levels;
    for (int level = 0; level < levels_; ++level) {
        const TilingLevel& tiling = g_.space.levels()[level];
        const std::vector<int>& order = point.order[level];
        for (int i = 0; i < dimensions_; ++i) {
            const std::int64_t end = factor(point, level, order[i]);
            if (end > 1) {
                flat_.add(order[i], kind_of(tiling.spatial, i < point.split[level]), end, end);
            }
        }
        if (!tiling.spatial) {
            flat_.level_end[tiling.storage] = flat_.loop_count;
            flat_.keep[tiling.storage] = point.keep[tiling.storage];
        }
    }
    pool_.model.evaluate(flat_, scratch_, cost_);
    if (!cost_.fit.ok() || cost_.forgets || cost_.wrapped) {
        return HUGE_VAL;
    }
    return stage_.guide(cost_);
}

// Keeps the best neighbour seen.
bool ImprovementHeuristic::try_point(Point& point) {
    const double value = judge(point);
    if (value < candidate_value_) {
        candidate_value_ = value;
        candidate_ = point;
        return true;
    }
    return false;
}

bool ImprovementHeuristic::shift(Point& point, int from, int to, int d, std::int64_t prime) const {
    std::int64_t &source = factor(point, from, d), &target = factor(point, to, d);
    const auto& levels = g_.space.levels();
    if (source % prime != 0 || !levels[from].allows(d, source / prime) ||
        !levels[to].allows(d, target * prime)) {
        return false;
    }
    source /= prime;
    target *= prime;
    for (const int level : {from, to}) {
        if (levels[level].spatial && !rearrange(point, level)) {
            return false;
        }
    }
    return parallel_enough(point);
}

bool ImprovementHeuristic::move_factors(bool twice) {
    const double before = candidate_value_;
    for (int d = 0; d < dimensions_; ++d) {
        for (int from = 0; from < levels_; ++from) {
            const std::int64_t own = factor(best_, from, d);
            for (std::int64_t prime = 2; own > 1 && prime <= own; ++prime) {
                if (own % prime != 0 || (prime > 3 && prime % 2 == 0)) {
                    continue;
                }
                for (int to = 0; to < levels_ && !spent(); ++to) {
                    if (to == from) {
                        continue;
                    }
                    scratch_point_ = best_;
                    // A spatial block that is full needs its partner's move first.
                    const bool fits = shift(scratch_point_, from, to, d, prime);
                    if (fits) {
                        try_point(scratch_point_);
                    }
                    for (int other = 0; twice && other < dimensions_ && !spent(); ++other) {
                        for (const std::int64_t q : {2, 3, 5, 7}) {
                            if (other == d || factor(best_, to, other) % q != 0) {
                                continue;
                            }
                            scratch_point_ = best_;
                            if (shift(scratch_point_, to, from, other, q) &&
                                shift(scratch_point_, from, to, d, prime)) {
                                try_point(scratch_point_);
                            }
                            scratch_point_ = best_;
                        }
                    }
                }
            }
        }
    }
    return candidate_value_ < before;
}

bool ImprovementHeuristic::move_loops() {
    const double before = candidate_value_;
    for (int level = 1; level < levels_; ++level) {
        const TilingLevel& tiling = g_.space.levels()[level];
        if (tiling.spatial || tiling.canonical) {
            continue;
        }
        const int first = static_cast<int>(tiling.prefix.size());
        const int last = dimensions_ - static_cast<int>(tiling.suffix.size());
        for (int i = first; i < last; ++i) {
            for (int j = first; j < last && !spent(); ++j) {
                if (i == j || factor(best_, level, best_.order[level][i]) == 1) {
                    continue;
                }
                scratch_point_ = best_;
                auto& order = scratch_point_.order[level];
                const int d = order[i];
                order.erase(order.begin() + i);
                order.insert(order.begin() + j, d);
                try_point(scratch_point_);
            }
        }
    }
    return candidate_value_ < before;
}

bool ImprovementHeuristic::move_bypass() {
    const auto& all = g_.space.bypasses();
    const double before = candidate_value_;
    for (std::size_t i = 0; i < all.size() && i < 64 && !spent(); ++i) {
        if (all[i] != best_.keep) {
            scratch_point_ = best_;
            scratch_point_.keep = all[i];
            try_point(scratch_point_);
        }
    }
    return candidate_value_ < before;
}

double ImprovementHeuristic::run(const Mapping& mapping, std::uint64_t max_evals) {
    best_.factor.assign(static_cast<std::size_t>(levels_) * dimensions_, 1);
    best_.order.resize(levels_);
    best_.split.assign(levels_, 0);
    best_.keep.clear();
    for (const LevelMapping& level : mapping.levels) {
        best_.keep.push_back(level.keep);
    }
    for (int level = 0; level < levels_; ++level) {
        const TilingLevel& tiling = g_.space.levels()[level];
        const LoopBlock& block = block_of(mapping, tiling);
        for (int d = 0; d < dimensions_; ++d) {
            factor(best_, level, d) = block.factors[d].end;
        }
        best_.order[level] = block.permutation;
        best_.split[level] = block.split;
    }
    flatten(mapping, flat_);  // for the masks; judge() sets all else
    evals_ = 0;
    max_evals_ = max_evals;
    value_ = judge(best_);
    if (value_ < HUGE_VAL) {
        pool_.offer(to_mapping(best_), cost_);
    }
    while (!spent()) {
        candidate_value_ = value_;
        move_factors(false);
        move_loops();
        move_bypass();
        if (candidate_value_ >= value_) {
            move_factors(true);
        }
        if (candidate_value_ >= value_) {
            break;
        }
        best_ = candidate_;
        value_ = judge(best_);
        pool_.offer(to_mapping(best_), cost_);
    }
    return value_;
}

std::optional<Mapping> ImprovementHeuristic::simple(const SpatialChoice& choice,
                                                    const std::vector<DataSpaceMask>& keep) const {
    TemporalPlan plan;
    plan.factors.assign(g_.levels, std::vector<std::int64_t>(dimensions_, 1));
    for (int d = 0; d < dimensions_; ++d) {
        std::int64_t rest = g_.bounds[d];
        for (int level = 0; level < g_.levels; ++level) {
            rest /= choice.factor[level * dimensions_ + d];
        }
        for (int level = 0; level < g_.levels && rest > 1; ++level) {
            const TilingLevel& tiling = g_.space.levels()[g_.temporal[level]];
            const std::int64_t fixed =
                std::max<std::int64_t>({1, tiling.fixed[d], tiling.at_least[d]});
            if (fixed > 1 && rest % fixed == 0) {
                plan.factors[level][d] = fixed;
                rest /= fixed;
            }
        }
        for (int level = g_.levels - 1; level >= 0 && rest > 1; --level) {
            const std::int64_t own = plan.factors[level][d] * rest;
            if (g_.space.levels()[g_.temporal[level]].allows(d, own)) {
                plan.factors[level][d] = own;
                rest = 1;
            }
        }
        // No level takes all of it: each takes what it may.
        for (int level = g_.levels - 1; level >= 0 && rest > 1; --level) {
            const TilingLevel& tiling = g_.space.levels()[g_.temporal[level]];
            const std::vector<std::int64_t> all = base::divisors(rest);
            const auto most = std::find_if(all.rbegin(), all.rend(), [&](std::int64_t more) {
                return tiling.allows(d, plan.factors[level][d] * more);
            });
            if (most != all.rend()) {
                plan.factors[level][d] *= *most;
                rest /= *most;
            }
        }
        for (int level = 0; level < g_.levels; ++level) {
            const std::int64_t own = plan.factors[level][d];
            if (rest > 1 || !g_.space.levels()[g_.temporal[level]].allows(d, own)) {
                return std::nullopt;
            }
        }
    }
    for (int level = 0; level < g_.levels; ++level) {
        const TilingLevel& tiling = g_.space.levels()[g_.temporal[level]];
        std::vector<int> order = tiling.prefix;
        order.insert(order.end(), tiling.free.begin(), tiling.free.end());
        order.insert(order.end(), tiling.suffix.begin(), tiling.suffix.end());
        plan.order.push_back(std::move(order));
    }
    return timeloop::to_mapping(g_.space, choice, keep, plan);
}

}  // namespace tessera::timeloop
