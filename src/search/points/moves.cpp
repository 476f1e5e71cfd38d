// Map:
//   attempt       Einsums before the one that is changed stay; it is changed; the others follow
//   move_factor   factors of trip counts go to other loops of their chains
//   change_tile   another value between its neighbours of the chain
//   draw_tiles    all or the spatial tile shapes of an Einsum, fused loops as they are
//   relative      another template that differs in one attribute, tile shapes carried over
#include "moves.hpp"

#include <algorithm>
#include <bit>

namespace tessera::search {

namespace {

// Templates that are tried in place of one.
constexpr int most_relatives = 4, most_backings = 8;
constexpr std::size_t most_einsums = 4;
// Factors that go together with a first one.
constexpr int most_factors = 3;

/// One of `primes` that divides n > 1, each of those equally often.
std::uint32_t prime_of(std::uint32_t n, std::span<const std::int64_t> primes, Rng& rng) {
    std::uint32_t found[10], count = 0;
    for (const std::int64_t prime : primes) {
        found[count] = static_cast<std::uint32_t>(prime);
        count += n % found[count] == 0 ? 1 : 0;
    }
    return found[rng.below(count)];
}

}  // namespace

Outcome Moves::begin(const Point& from) {
    if (of_base_.legal() && from == base_) {
        evaluation_.count_known();
        return of_base_;
    }
    of_base_ = {};  // until it is taken apart: memory may run out
    const Outcome outcome = evaluation_.evaluate(from);
    if (outcome.legal()) {
        base_ = from;
        parts_ = evaluation_.links();
        starts_.assign(1, 0);
        for (const Link& part : parts_) {
            starts_.push_back(starts_.back() + part.tiles.size());
        }
        of_base_ = outcome;
    }
    return outcome;
}

std::pair<std::size_t, int> Moves::opener(std::size_t einsum, int symbol) const {
    for (; einsum > 0; --einsum) {
        const Link& part = parts_[einsum];
        const std::uint32_t running = part.pattern->loops;
        const int fused = data(einsum).fused_of_symbol[symbol];
        if (fused < 0 || !(running >> fused & 1u)) {
            break;
        }
        const int loop = std::popcount(running & ((1u << fused) - 1));
        const mapspace::detail::JoinPlan& plan = part.way->plan;
        const auto end = plan.right_of_left.begin() + plan.n_left;
        const auto at = std::find(plan.right_of_left.begin(), end, loop);
        if (at == end) {
            break;
        }
        // The same loop is the n-th running fused loop of the Einsum before.
        const Link& before = parts_[einsum - 1];
        int n = before.way->plan.order[at - plan.right_of_left.begin()];
        std::uint32_t left = before.pattern->loops;
        for (; n > 0; --n) {
            left &= left - 1;
        }
        const int there = data(einsum - 1).fused[std::countr_zero(left)].symbol;
        if (there < 0) {
            break;  // its tile shape is 1 for good
        }
        symbol = there;
    }
    return {einsum, symbol};
}

/// The Einsum with tiles_, if they are legal.
bool Moves::add_changed(std::size_t einsum) {
    const Link& part = parts_[einsum];
    return repair_.keep(part.tmpl, part.join, tiles_.data());
}

bool Moves::change_tile(Rng& rng, std::size_t einsum, int symbol) {
    const Link& part = parts_[einsum];
    TileChooser& chooser = drawing_.followers().walk(einsum, part.tmpl).chooser();
    chooser.between(symbol, part.tiles.data(), values_);
    const std::int64_t own = part.tiles[symbol];
    std::erase(values_, static_cast<double>(own));
    if (values_.empty()) {
        return false;
    }
    tiles_ = part.tiles;
    tiles_[symbol] = static_cast<std::int64_t>(values_[rng.below(values_.size())]);
    return add_changed(einsum);
}

/// One factor, in tiles_. False: the chain has none to give, or tile shapes that do not divide.
bool Moves::shift_factor(Rng& rng, const TileChooser& chooser, int symbol) {
    const TileChooser::Chain& chain = chooser.chain(symbol);
    const std::vector<int>& symbols = chain.symbols;
    if (!chain.divisors) {
        return false;
    }
    // Loop i hands on tile(i); one loop after the last symbol hands on 1.
    const auto tile = [&](std::size_t i) {
        return static_cast<std::uint32_t>(i < symbols.size() ? tiles_[symbols[i]] : 1);
    };
    const auto trips = [&](std::size_t i) {
        return (i == 0 ? static_cast<std::uint32_t>(chain.bound) : tile(i - 1)) / tile(i);
    };
    const auto own = static_cast<std::size_t>(std::find(symbols.begin(), symbols.end(), symbol) -
                                              symbols.begin());
    std::size_t donor = own, taker = rng.below(symbols.size());
    taker += taker >= own ? 1 : 0;
    std::uint32_t given = trips(donor);
    const std::uint32_t taken = trips(taker);
    if (given == 1 || (taken > 1 && rng.below(2) == 0)) {
        std::swap(donor, taker);
        given = taken;
    }
    if (given <= 1) {
        return false;
    }
    // One prime; every other time any power of it, so that a loop can go as a whole.
    const std::uint32_t p = prime_of(given, chain.primes, rng);
    std::uint32_t f = p;
    const bool powers = rng.below(2) == 0;
    while (powers && given / f % p == 0 && rng.below(4) != 0) {
        f *= p;
    }
    for (std::size_t i = donor; i < taker; ++i) {
        tiles_[symbols[i]] *= f;
    }
    for (std::size_t i = taker; i < donor; ++i) {
        tiles_[symbols[i]] = tile(i) / f;
    }
    return true;
}

bool Moves::move_factor(Rng& rng, std::size_t einsum, int symbol) {
    const Link& part = parts_[einsum];
    const TileChooser& chooser = drawing_.followers().walk(einsum, part.tmpl).chooser();
    tiles_ = part.tiles;
    if (!shift_factor(rng, chooser, symbol)) {
        return change_tile(rng, einsum, symbol);
    }
    // Where a memory is full one tile shape can grow only if another one shrinks.
    for (int more = 0; more < most_factors && rng.below(2) == 0; ++more) {
        shift_factor(rng, chooser, static_cast<int>(rng.below(chooser.size())));
    }
    return add_changed(einsum);
}

bool Moves::draw_tiles(Rng& rng, std::size_t einsum, bool spatial_only) {
    const Link& part = parts_[einsum];
    const TemplateData& t = data(einsum);
    wanted_.assign(t.fused.size(), 0);
    for (std::size_t k = 0, n = 0; k < t.fused.size(); ++k) {
        wanted_[k] = part.pattern->loops >> k & 1u ? part.trips[n++] : 0;
    }
    bool drawn = false;
    if (spatial_only) {
        target_.assign(part.tiles.begin(), part.tiles.end());
        for (std::size_t s = 0; s < target_.size(); ++s) {
            target_[s] = t.symbols[s].spatial ? 0 : target_[s];
        }
        drawn = drawing_.fit_tiles(
                    rng, {einsum, part.tmpl, part.pattern->loops, wanted_, target_}) == Found::yes;
    } else {
        drawn = drawing_.draw_tiles(rng, einsum, part.tmpl, part.pattern->loops, wanted_);
    }
    if (!drawn) {
        return false;
    }
    tiles_.assign(drawing_.values().begin(), drawing_.values().end());
    return repair_.keep(part.tmpl, part.join, tiles_.data());
}

bool Moves::relative(Rng& rng, std::size_t einsum, const std::vector<std::uint32_t>& others,
                     int Attributes::*differs) {
    const Link& part = parts_[einsum];
    const Relatives& relatives = space_.einsums[einsum].relatives;
    for (int i = 0; i < most_relatives && others.size() > 1; ++i) {
        const std::uint32_t tmpl = others[rng.below(others.size())];
        if (tmpl == part.tmpl || (differs != nullptr && relatives.of(tmpl).*differs ==
                                                            relatives.of(part.tmpl).*differs)) {
            continue;
        }
        carry(data(einsum), part.tiles.data(), space_.einsums[einsum].templates[tmpl], target_);
        if (repair_.fit(rng, tmpl, target_)) {
            return true;
        }
    }
    return false;
}

bool Moves::other_backing(Rng& rng, std::size_t einsum) {
    const Link& part = parts_[einsum];
    const Relatives& relatives = space_.einsums[einsum].relatives;
    Compatibility& at = drawing_.followers().after(static_cast<int>(einsum), repair_.before_next());
    const std::vector<Joiner::Option>& options = drawing_.followers().options(at);
    for (int i = 0; i < most_backings && !options.empty(); ++i) {
        const std::size_t index = rng.below(options.size());
        const Joiner::Option& option = options[index];
        if (relatives.of(option.tmpl).fused == relatives.of(part.tmpl).fused &&
            data(einsum).patterns[option.pattern].loops == part.pattern->loops) {
            continue;
        }
        if (repair_.fit(rng, part.tmpl, part.tiles.data(), at, index)) {
            return true;
        }
    }
    return false;
}

bool Moves::change(Rng& rng, Move move, std::size_t einsum) {
    const Relatives& relatives = space_.einsums[einsum].relatives;
    const std::uint32_t tmpl = parts_[einsum].tmpl;
    switch (move) {
        case Move::tiles:
        case Move::spatial:
            return draw_tiles(rng, einsum, move == Move::spatial);
        case Move::order:
            return relative(rng, einsum, relatives.orders(tmpl), nullptr);
        case Move::keep:
            return relative(rng, einsum, relatives.holders(tmpl), &Attributes::holders);
        case Move::backing:
            return other_backing(rng, einsum);
        default:
            return repair_.draw(rng);
    }
}

/// Einsums from the next one up to `end` as they are or near what they are.
bool Moves::follow(Rng& rng, std::size_t end, bool replaced) {
    while (repair_.next() < end) {
        const std::size_t e = repair_.next();
        const Link& part = parts_[e];
        if (repair_.before_next() == part.before) {
            // So nothing is different for all that follow it.
            repair_.keep(base_, end, starts_[e], starts_[end],
                         end < parts_.size() ? parts_[end].before : part.before);
        } else if (!(replaced ? repair_.follow(rng, part.tmpl, part.join, part.tiles.data())
                              : repair_.follow(rng, part))) {
            return false;
        }
    }
    return true;
}

bool Moves::attempt(Rng& rng, Move move, std::size_t einsum) {
    const auto start_at = [&](std::size_t e) {
        repair_.start(base_, e, starts_[e], parts_[e].before);
    };
    bool changed = false;
    if (move == Move::factor || move == Move::tile) {
        const std::size_t n = data(einsum).symbols.size();
        if (n == 0) {
            return false;
        }
        const auto [e, symbol] = opener(einsum, static_cast<int>(rng.below(n)));
        start_at(e);
        changed = move == Move::factor ? move_factor(rng, e, symbol) : change_tile(rng, e, symbol);
    } else {
        start_at(einsum);
        changed = change(rng, move, einsum);
        if (changed && move == Move::einsums) {
            const std::size_t end =
                std::min(space_.einsums.size(), einsum + 2 + rng.below(most_einsums - 1));
            while (changed && repair_.next() < end) {
                changed = repair_.draw(rng);
            }
        }
    }
    return changed && follow(rng, parts_.size(), move != Move::factor && move != Move::tile);
}

bool Moves::cross(Rng& rng, const Point& point, const Point& mate, std::size_t einsum,
                  std::size_t end) {
    repair_.start();
    const auto size_of = [&](const Point& p, std::size_t e) {
        return space_.einsums[e].templates[p.choices[e].tmpl].symbols.size();
    };
    std::size_t own = 0, others = 0;
    for (std::size_t e = 0; e < space_.einsums.size(); ++e) {
        const bool taken = e >= einsum && e < end;
        const Point& p = taken ? mate : point;
        const std::int64_t* const tiles = p.tiles.data() + (taken ? others : own);
        own += size_of(point, e);
        others += size_of(mate, e);
        if (!repair_.follow(rng, p.choices[e].tmpl, p.choices[e].join, tiles)) {
            return false;
        }
    }
    return true;
}

bool Moves::repair(Rng& rng, const Point& point) {
    return cross(rng, point, point, 0, 0);
}

}  // namespace tessera::search
