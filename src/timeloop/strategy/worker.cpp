// Map:
//   evaluate   digits to a flat mapping, the compiled model
//   draw, move, cross, repair   change digits, then fit
//   fit        moves factors out of arrays and memories that are too small for them
#include "timeloop/strategy/worker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/base/divisors.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::timeloop {

using search::Move;
using search::Outcome;
using search::Point;
using search::Rng;
using search::Verdict;

namespace {

// Attempts to make a legal point; of them drawn uniformly before factors are moved; steps of one.
constexpr int draw_attempts = 1024, uniform_attempts = 32, move_attempts = 16, fit_steps = 64;
// Work of one evaluation, which ends the rounds of islands: where reuse is switched off, fewer
// evaluations make one.
constexpr std::uint64_t evaluation_work = 3, limited_work = 200;

Verdict verdict_of(const Misfit& misfit) {
    return misfit.level < 0 ? Verdict::constraint : Verdict::fanout;
}

Verdict verdict_of(const Fit& fit) {
    return fit.kind == Fit::Kind::capacity ? Verdict::capacity : Verdict::constraint;
}

}  // namespace

StrategyWorker::StrategyWorker(const StrategySpace& space, const CompiledModel& model,
                               std::vector<Objective> objectives, double cycle_s)
    : space_(space),
      model_(model),
      objectives_(std::move(objectives)),
      cycle_s_(cycle_s),
      dimensions_(space.dimensions()),
      levels_(space.levels()),
      view_(space.mapspace()),
      ends_(static_cast<std::size_t>(levels_)),
      order_(static_cast<std::size_t>(dimensions_)) {
    for (const Dimension& dimension : space.mapspace().problem().dimensions) {
        const std::vector<std::int64_t> primes = base::prime_factors(dimension.bound);
        primes_.emplace_back(primes.begin(), primes.end());
    }
    for (int level = 0; level < levels_; ++level) {
        if (space.mapspace().levels()[level].spatial) {
            spatial_.push_back(level);
        } else if (space.order(level).free > 1) {
            ordered_.push_back(level);
        }
    }
}

StrategyWorker::Failures StrategyWorker::take_failures() {
    return std::exchange(failures_, {});
}

std::uint64_t StrategyWorker::take_work() {
    return std::exchange(work_, 0);
}

Misfit StrategyWorker::build(const Point& point, bool stop_early) {
    ++work_;
    return view_.build(point.tiles.data(), point.tiles.data() + space_.rank_at(0),
                       point.tiles.data() + space_.split_at(0), point.choices.front().tmpl, flat_,
                       stop_early);
}

Mapping StrategyWorker::mapping(const Point& point) {
    build(point, false);
    return view_.mapping(point.choices.front().tmpl);
}

Outcome StrategyWorker::refused(Verdict verdict) {
    Outcome outcome;
    outcome.verdict = verdict;
    return outcome;
}

Outcome StrategyWorker::evaluate(const Point& point) {
    if (!space_.has(point)) {
        return refused(Verdict::tile_shape);
    }
    const Misfit misfit = build(point, true);
    return misfit.ok() ? evaluate_built() : refused(verdict_of(misfit));
}

Outcome StrategyWorker::evaluate_built() {
    work_ += space_.mapspace().limits_reuse() ? limited_work : evaluation_work;
    model_.evaluate(flat_, scratch_, cost_);
    if (!cost_.fit.ok()) {
        return refused(verdict_of(cost_.fit));
    }
    if (cost_.forgets || cost_.wrapped) {
        return refused(Verdict::refused);
    }
    Outcome outcome;
    outcome.verdict = Verdict::legal;
    outcome.energy_j = cost_.energy_pj * 1e-12;
    outcome.latency_s = static_cast<double>(cost_.cycles) * cycle_s_;
    outcome.value = guide(objectives_, 0, cost_, space_.mapspace().architecture().levels());
    return outcome;
}

template <class Change>
Outcome StrategyWorker::make(int attempts, Point& point, const Change& change) {
    for (int i = 0; i < attempts; ++i) {
        base::poll_stop();
        Outcome outcome = refused(change(i));
        if (outcome.legal()) {
            outcome = evaluate_built();
        }
        if (outcome.legal()) {
            point = next_;
            return outcome;
        }
        ++failures_[static_cast<std::size_t>(outcome.verdict)];
    }
    return refused(Verdict::no_point);
}

Outcome StrategyWorker::draw(std::uint64_t seed, Point& point) {
    Rng rng(seed);
    return make(draw_attempts, point, [&](int attempt) {
        draw_all(rng, true);
        if (attempt >= uniform_attempts) {
            return fit(rng);
        }
        const Misfit misfit = build(next_, true);
        return misfit.ok() ? Verdict::legal : verdict_of(misfit);
    });
}

Outcome StrategyWorker::move(Move move, std::uint64_t seed, std::uint32_t part, Point& point) {
    if (!space_.has(point)) {
        return refused(Verdict::tile_shape);
    }
    Rng rng(seed);
    return make(move_attempts, point, [&](int) {
        next_ = point;
        if (!change(rng, move, static_cast<int>(part))) {
            return Verdict::incompatible;
        }
        const Verdict verdict = fit(rng);
        return next_ == point ? Verdict::incompatible : verdict;
    });
}

Outcome StrategyWorker::cross(std::uint64_t seed, const Point& mate, std::uint32_t part,
                              std::uint32_t end, Point& point) {
    if (!space_.has(point) || !space_.has(mate)) {
        return refused(Verdict::tile_shape);
    }
    Rng rng(seed);
    return make(move_attempts, point, [&](int) {
        next_ = point;
        const auto in_row = [&](int i) {
            return static_cast<std::uint32_t>(i) >= part && static_cast<std::uint32_t>(i) < end;
        };
        for (int d = 0; d < dimensions_; ++d) {
            next_.tiles[d] = in_row(d) ? mate.tiles[d] : point.tiles[d];
        }
        for (int level = 0; level < levels_; ++level) {
            if (in_row(dimensions_ + space_.mapspace().levels()[level].storage)) {
                for (const std::size_t digit : {space_.rank_at(level), space_.split_at(level)}) {
                    next_.tiles[digit] = mate.tiles[digit];
                }
            }
        }
        if (rng.below(space_.n_einsums()) + part < end) {
            next_.choices = mate.choices;
        }
        return fit(rng);
    });
}

Outcome StrategyWorker::repair(std::uint64_t seed, Point& point) {
    return cross(seed, point, 0, 0, point);
}

bool StrategyWorker::draw_digit(Rng& rng, std::size_t digit) {
    const std::int64_t count = space_.count(digit);
    if (count > 0) {
        next_.tiles[digit] =
            static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(count)));
    }
    return count > 1;
}

void StrategyWorker::draw_all(Rng& rng, bool factors) {
    next_.choices.resize(1);
    next_.choices.front().tmpl = static_cast<std::uint32_t>(rng.below(space_.n_templates(0)));
    next_.tiles.resize(space_.n_digits());
    for (std::size_t i = factors ? 0 : space_.rank_at(0); i < space_.n_digits(); ++i) {
        draw_digit(rng, i);
    }
}

bool StrategyWorker::change(Rng& rng, Move move, int part) {
    const int dimension =
        part < dimensions_ ? part
                           : static_cast<int>(rng.below(static_cast<std::uint64_t>(dimensions_)));
    switch (move) {
        case Move::factor:
            return move_factor(rng, dimension);
        case Move::tile:
            return draw_digit(rng, static_cast<std::size_t>(dimension));
        case Move::tiles:
            for (int d = 0; d < dimensions_; ++d) {
                draw_digit(rng, static_cast<std::size_t>(d));
            }
            return true;
        case Move::spatial:
            return move_spatial(rng);
        case Move::order:
            return move_loop(rng);
        case Move::keep:
            return flip_bypass(rng, 1);
        case Move::backing:
            return flip_bypass(rng, 2);
        case Move::einsum:
            draw_all(rng, false);
            return true;
        case Move::einsums:
            draw_all(rng, true);
            return true;
    }
    return false;
}

template <class From, class To>
bool StrategyWorker::shift(Rng& rng, const From& from, const To& to, int dimension) {
    shifts_.clear();
    const int first = dimension < 0 ? 0 : dimension;
    const int end = dimension < 0 ? dimensions_ : dimension + 1;
    for (int d = first; d < end; ++d) {
        const std::int32_t* const ends = space_.ends(d, next_.tiles[d]);
        for (int level = 0; level < levels_; ++level) {
            if (ends[level] == 1 || !from(level)) {
                continue;
            }
            for (const std::int32_t prime : primes_[d]) {
                if (ends[level] % prime == 0) {
                    shifts_.push_back(
                        {static_cast<std::uint8_t>(d), static_cast<std::uint8_t>(level), prime});
                }
            }
        }
    }
    targets_.clear();
    for (int level = 0; level < levels_; ++level) {
        if (to(level)) {
            targets_.push_back(level);
        }
    }
    if (targets_.empty()) {
        return false;
    }
    for (; !shifts_.empty(); shifts_.pop_back()) {
        std::swap(shifts_[rng.below(shifts_.size())], shifts_.back());
        const Shift chosen = shifts_.back();
        const std::int32_t* const own =
            space_.ends(chosen.dimension, next_.tiles[chosen.dimension]);
        const std::size_t start = rng.below(targets_.size());
        for (std::size_t i = 0; i < targets_.size(); ++i) {
            const int target = targets_[(start + i) % targets_.size()];
            if (target == chosen.level) {
                continue;
            }
            ends_.assign(own, own + levels_);
            ends_[chosen.level] /= chosen.prime;
            ends_[target] *= chosen.prime;
            const std::int64_t option = space_.option(chosen.dimension, ends_.data());
            if (option >= 0) {
                next_.tiles[chosen.dimension] = option;
                return true;
            }
        }
    }
    return false;
}

bool StrategyWorker::move_factor(Rng& rng, int dimension) {
    const auto any = [](int) { return true; };
    return shift(rng, any, any, dimension) || draw_digit(rng, static_cast<std::size_t>(dimension));
}

bool StrategyWorker::move_spatial(Rng& rng) {
    if (spatial_.empty()) {
        return false;
    }
    const int level = spatial_[rng.below(spatial_.size())];
    const bool split = draw_digit(rng, space_.split_at(level));
    const auto here = [&](int l) { return l == level; };
    const auto temporal = [&](int l) { return !space_.mapspace().levels()[l].spatial; };
    bool moved = false;
    if (rng.below(2) == 0) {
        moved = shift(rng, here, temporal);
    }
    return shift(rng, temporal, here) || moved || split;
}

bool StrategyWorker::move_loop(Rng& rng) {
    if (ordered_.empty()) {
        return false;
    }
    const int level = ordered_[rng.below(ordered_.size())];
    const LevelOrder& order = space_.order(level);
    std::int64_t& rank = next_.tiles[space_.rank_at(level)];
    space_.order_of(level, rank, order_.data());
    std::uint8_t* const free = order_.data() + order.front;
    targets_.clear();
    for (int i = 0; i < order.free; ++i) {
        if (end(free[i], level) > 1) {
            targets_.push_back(i);
        }
    }
    if (targets_.size() < 2) {
        return false;
    }
    // The loop at one place goes to another; those between make room.
    const std::size_t a = rng.below(targets_.size());
    const std::size_t b = (a + 1 + rng.below(targets_.size() - 1)) % targets_.size();
    std::uint8_t *const from = free + targets_[a], *const to = free + targets_[b];
    if (from < to) {
        std::rotate(from, from + 1, to + 1);
    } else {
        std::rotate(to, from, from + 1);
    }
    rank = space_.rank_of(level, order_.data());
    return true;
}

bool StrategyWorker::flip_bypass(Rng& rng, int times) {
    const int bits = space_.bypass_bits();
    for (int i = 0; i < times && bits > 0; ++i) {
        next_.choices.front().tmpl ^= std::uint32_t{1}
                                      << rng.below(static_cast<std::uint64_t>(bits));
    }
    return bits > 0;
}

Verdict StrategyWorker::fit(Rng& rng) {
    Verdict verdict = Verdict::incompatible;
    for (int step = 0; step < fit_steps; ++step) {
        const Misfit misfit = build(next_, true);
        if (!misfit.ok()) {
            verdict = verdict_of(misfit);
            if (!fit_array(rng, misfit)) {
                break;
            }
            continue;
        }
        const Fit found = model_.check_capacity(flat_);
        if (found.ok()) {
            return Verdict::legal;
        }
        verdict = verdict_of(found);
        // A memory that must be fuller takes a factor in; one that overflows gives one away.
        const bool changed =
            found.kind == Fit::Kind::min_utilization
                ? fill_memory(rng, found.level)
                : found.kind == Fit::Kind::capacity && fit_memory(rng, found.level);
        if (!changed) {
            break;
        }
    }
    return verdict;
}

bool StrategyWorker::fit_array(Rng& rng, const Misfit& misfit) {
    const auto& levels = space_.mapspace().levels();
    const auto temporal = [&](int l) { return !levels[l].spatial; };
    if (misfit.level == Misfit::low) {
        return shift(rng, temporal, [&](int l) { return levels[l].spatial; });
    }
    if (misfit.level == Misfit::loops) {
        return shift(rng, temporal, [](int) { return true; });
    }
    int level = 0;
    while (!levels[level].spatial || levels[level].storage != misfit.level) {
        ++level;
    }
    // Another arrangement along the axes may do.
    std::int64_t product = 1;
    for (int d = 0; d < dimensions_; ++d) {
        product *= end(d, level);
    }
    if (product <= levels[level].fanout_x * levels[level].fanout_y && rng.below(4) != 0) {
        const bool order = draw_digit(rng, space_.rank_at(level));
        if (draw_digit(rng, space_.split_at(level)) || order) {
            return true;
        }
    }
    return shift(
        rng, [&](int l) { return l == level; }, temporal);
}

bool StrategyWorker::fit_memory(Rng& rng, int storage) {
    const auto& levels = space_.mapspace().levels();
    return shift(
        rng, [&](int l) { return levels[l].storage <= storage; },
        [&](int l) { return !levels[l].spatial && levels[l].storage > storage; });
}

bool StrategyWorker::fill_memory(Rng& rng, int storage) {
    const auto& levels = space_.mapspace().levels();
    return shift(
        rng, [&](int l) { return levels[l].storage > storage; },
        [&](int l) { return !levels[l].spatial && levels[l].storage <= storage; });
}

}  // namespace tessera::timeloop
