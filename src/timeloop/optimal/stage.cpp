#include "timeloop/optimal/stage.hpp"

#include <algorithm>

namespace tessera::timeloop {
namespace {

using Kind = Objective::Kind;

/// Of words against the whole cost: mappings of more words than allowed are dropped early.
constexpr double dear = 1e4;

bool is_energy(const Objective& objective) {
    return objective.kind == Kind::energy || objective.kind == Kind::edp;
}
bool is_words(const Objective& objective) {
    return objective.kind == Kind::accesses || objective.kind == Kind::last_level_accesses;
}
int level_of(const Objective& objective, int levels) {
    return objective.kind == Kind::accesses ? objective.level : levels - 1;
}

}  // namespace

Stage::Stage(const Pool& pool, std::size_t objective)
    : pool_(pool),
      objective_(objective),
      geometry_(pool.space, pool.objectives[objective], pool.hooks.model) {
    const auto first = pool.objectives.begin();
    const auto own = first + static_cast<std::ptrdiff_t>(objective);
    for (auto before = first; before != own; ++before) {
        caps_.push_back(objective_value(*before, pool.result.cost, pool.levels) *
                        (1 + tie_of(*before)));
    }
    const auto energy = std::find_if(first, own, is_energy);
    const auto words = std::find_if(first, own, is_words);
    const auto earlier = energy != own ? energy : geometry_.cycles_only ? words : own;
    if (earlier != own) {
        earlier_ = earlier - first;
        other_.emplace(pool.space, *earlier, pool.hooks.model);
        return;
    }
    if (words == own) {
        return;
    }
    other_.emplace(pool.space, *own, pool.hooks.model);
    other_->prices.assign(static_cast<std::size_t>(pool.levels), 0.0);
    const double cost = is_words(*own) ? objective_value(*own, pool.result.cost, pool.levels)
                                       : pool.result.cost.energy_pj;
    for (std::size_t i = 0; i < caps_.size(); ++i) {
        if (is_words(pool.objectives[i])) {
            const double price = dear * std::max(cost, 1.0) / std::max(caps_[i], 1.0);
            other_->prices[level_of(pool.objectives[i], pool.levels)] += price;
            paid_ += price * caps_[i];
        }
    }
}

bool Stage::allows(const Cost& cost) const {
    for (std::size_t i = 0; i < caps_.size(); ++i) {
        if (objective_value(pool_.objectives[i], cost, pool_.levels) > caps_[i]) {
            return false;
        }
    }
    return true;
}

double Stage::value(const Cost& cost) const {
    return allows(cost) ? objective_value(pool_.objectives[objective_], cost, pool_.levels)
                        : HUGE_VAL;
}

double Stage::guide(const Cost& cost) const {
    return allows(cost) ? timeloop::guide(pool_.objectives, objective_, cost, pool_.levels)
                        : HUGE_VAL;
}

double Stage::own_limit(double cycles, double best) const {
    if (best == HUGE_VAL || geometry_.cycles_only) {
        return HUGE_VAL;
    }
    best *= 1 + tie;
    return (geometry_.times_cycles ? best * 1e12 / cycles : best) + paid_;
}

double Stage::limit(double cycles, double best) const {
    if (earlier_ < 0) {
        return own_limit(cycles, best);
    }
    const double cap = caps_[static_cast<std::size_t>(earlier_)];
    return tables().times_cycles ? cap * 1e12 / cycles : cap;
}

double Stage::bound(double linear, double cycles) const {
    if (geometry_.cycles_only) {
        return cycles;
    }
    if (earlier_ >= 0) {
        return 0;
    }
    const double least = geometry_.objective(linear - paid_, cycles);
    // Words are whole.
    return is_words(pool_.objectives[objective_]) ? std::ceil(least * (1 - 1e-12) - 1e-6) : least;
}

}  // namespace tessera::timeloop
