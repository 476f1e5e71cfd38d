#include "tile_chooser.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::search {

using model::SymbolSet;

namespace {

/// Appends all values.
void drain(mapspace::CandidateCursor& cursor, std::vector<double>& out) {
    constexpr std::size_t piece = 32;
    for (std::size_t n = piece; n == piece;) {
        const std::size_t at = out.size();
        out.resize(at + piece);
        n = cursor.next(out.data() + at, piece);
        out.resize(at + n);
    }
}

/// Of ascending values the one whose ratio to the target is closest to 1.
std::ptrdiff_t nearest(const std::vector<double>& values, double target) {
    const auto above = std::lower_bound(values.begin(), values.end(), target);
    if (above == values.begin() ||
        (above != values.end() && *above * *(above - 1) <= target * target)) {
        return above - values.begin();
    }
    return above - values.begin() - 1;
}

}  // namespace

TileChooser::TileChooser(const TemplateData& t, mapspace::DivisorCache& divisors,
                         model::FormulaWorkspace& workspace)
    : t_(t),
      workspace_(workspace),
      steps_(t.symbols.size()),
      values_(t.symbols.size(), 1.0),
      before_(t.symbols.size() * t.symbols.size()),
      left_(t.symbols.size()),
      trips_(t.fused.size(), 0) {
    for (std::size_t s = 0; s < t.symbols.size(); ++s) {
        cursors_.emplace_back(t.symbols, static_cast<int>(s), divisors.of(t.symbols[s].bound));
        all_ |= SymbolSet::of(static_cast<int>(s));
    }
    link(divisors);
    plan();
}

void TileChooser::link(mapspace::DivisorCache& divisors) {
    chain_of_.resize(t_.symbols.size());
    for (std::size_t first = 0; first < t_.symbols.size(); ++first) {
        if (t_.symbols[first].outer >= 0) {
            continue;
        }
        Chain& chain = chains_.emplace_back();
        chain.bound = t_.symbols[first].bound;
        chain.primes = divisors.of(chain.bound).primes();
        for (int s = static_cast<int>(first); s >= 0; s = t_.symbols[s].inner) {
            chain.symbols.push_back(s);
            chain_of_[s] = chains_.size() - 1;
            chain.divisors &= t_.symbols[s].choice == mapspace::TileChoice::divisors;
        }
    }
}

void TileChooser::plan() {
    std::vector<SymbolSet> inside(t_.symbols.size());  // the others of its chain that it encloses
    for (std::size_t s = 0; s < t_.symbols.size(); ++s) {
        for (int o = t_.symbols[s].outer; o >= 0; o = t_.symbols[o].outer) {
            inside[o] |= SymbolSet::of(static_cast<int>(s));
        }
    }
    SymbolSet known;
    for (std::size_t k = 0; k < size(); ++k) {
        Step& step = steps_[k];
        const int s = t_.order[k];
        step.known = known;
        known |= SymbolSet::of(s);
        SymbolSet changed = SymbolSet::of(s);
        for (int o = t_.symbols[s].outer; o >= 0 && !known.has(o); o = t_.symbols[o].outer) {
            step.raised.push_back(o);
            changed |= SymbolSet::of(o);
        }
        changed |= inside[s] - known;  // they can no longer be larger than this one
        for (const Limit& limit : t_.limits) {
            if (limit.symbols.meets(changed) &&
                (limit.grows_in | limit.falls_in).contains(limit.symbols - known)) {
                const Check check = check_of(limit, s, known, step.raised);
                const bool alone =
                    limit.trips && limit.symbols.has(s) && known.contains(limit.symbols);
                if (alone) {
                    step.linear.push_back(step.checks.size());
                }
                step.checks.push_back(check);
            }
        }
    }
}

TileChooser::Check TileChooser::check_of(const Limit& limit, int symbol, const SymbolSet& known,
                                         const std::vector<int>& raised) const {
    Check check;
    check.limit = &limit;
    check.upper = limit.relation == mapspace::Relation::less_equal ||
                  limit.relation == mapspace::Relation::less;
    check.lower = limit.relation == mapspace::Relation::greater_equal ||
                  limit.relation == mapspace::Relation::greater;
    const SymbolSet unknown = limit.symbols - known;
    SymbolSet set = SymbolSet::of(symbol);  // symbols of the limit that get the value
    for (const int o : raised) {
        set |= SymbolSet::of(o);
    }
    set = set & limit.symbols;
    check.above.by_larger = limit.grows_in.contains(set | unknown);
    check.above.by_smaller = limit.falls_in.contains(set);
    check.below.by_larger = limit.falls_in.contains(set) && unknown.empty();
    check.below.by_smaller = limit.grows_in.contains(set);
    for (const int s : unknown& limit.falls_in) {
        check.lowest.push_back(raise(limit, s, known, true));
    }
    for (const int s : unknown& limit.grows_in) {
        check.highest.push_back(raise(limit, s, known, false));
    }
    return check;
}

TileChooser::Raise TileChooser::raise(const Limit& limit, int symbol, const SymbolSet& known,
                                      bool lowest) const {
    Raise raise;
    raise.symbol = symbol;
    raise.bound = static_cast<double>(t_.symbols[symbol].bound);
    raise.to = t_.symbols[symbol].outer;
    while (raise.to >= 0 && !known.has(raise.to)) {
        raise.to = t_.symbols[raise.to].outer;
    }
    if (limit.trips && lowest) {
        // No trip count is below 1: it is at most the tile shape that is divided by it.
        raise.least = t_.symbols[symbol].outer;
        while (raise.least >= 0 && !limit.grows_in.has(raise.least)) {
            raise.least = t_.symbols[raise.least].outer;
        }
    }
    return raise;
}

void TileChooser::start(std::uint32_t running, const std::vector<std::int64_t>& trips) {
    running_ = running;
    trips_ = trips;
    values_.assign(values_.size(), 1.0);
    chosen_ = 0;
}

void TileChooser::rewind(std::size_t k) {
    if (k < chosen_) {
        std::copy_n(before_.begin() + static_cast<std::ptrdiff_t>(k * values_.size()),
                    values_.size(), values_.begin());
        chosen_ = k;
    }
}

double TileChooser::outer_of(const FusedLoop& loop) const {
    if (loop.outer < 0) {
        return static_cast<double>(loop.bound);
    }
    const int symbol = t_.fused[loop.outer].symbol;
    return symbol >= 0 ? values_[symbol] : 1.0;
}

void TileChooser::fused_candidates(int fused, std::vector<double>& out) {
    const FusedLoop& loop = t_.fused[fused];
    const double outer = outer_of(loop);
    const auto trips = static_cast<double>(trips_[fused]);
    if (!(running_ >> fused & 1u)) {
        out.assign(1, outer);
    } else if (trips > 0) {
        out.clear();
        const double own = std::ceil(outer / trips);
        const mapspace::TileShapeSymbol& s = t_.symbols[loop.symbol];
        const bool divides = mapspace::divides_outer(s.choice) ||
                             (s.choice == mapspace::TileChoice::partial_outermost &&
                              outer < static_cast<double>(s.bound));
        if (std::ceil(outer / own) == trips && (!divides || own * trips == outer)) {
            out.push_back(own);
        }
    } else {
        // Others find a shared tile shape by its trip count: the smallest that makes it.
        const bool partial =
            t_.symbols[loop.symbol].choice == mapspace::TileChoice::partial_outermost;
        std::erase_if(out, [&](double v) {
            return v >= outer || (partial && v != std::ceil(outer / std::ceil(outer / v)));
        });
    }
    // The loop inside it may have the tile shape 1 for good: its trip count is this tile shape.
    const int inner = loop.inner;
    if (inner >= 0 && t_.fused[inner].symbol < 0) {
        const bool runs = running_ >> inner & 1u;
        const auto wanted = static_cast<double>(trips_[inner]);
        std::erase_if(
            out, [&](double v) { return (v > 1) != runs || (runs && wanted > 0 && v != wanted); });
    }
}

void TileChooser::candidates(std::size_t k, std::vector<double>& out) {
    const int s = t_.order[k];
    const int fused = t_.fused_of_symbol[s];
    out.clear();
    const bool free = fused < 0 || ((running_ >> fused & 1u) && trips_[fused] == 0);
    if (free) {
        cursors_[s].start(values_.data(), steps_[k].known);
        drain(cursors_[s], out);
    }
    if (fused >= 0) {
        fused_candidates(fused, out);
    }
    if (!steps_[k].linear.empty()) {
        narrow(steps_[k], s, out);
    }
}

void TileChooser::set(const Step& step, int symbol, double value) {
    values_[symbol] = value;
    for (const int o : step.raised) {
        values_[o] = value;
    }
}

/// Leaves out what a linear check says no to; but for rounding, which choose() looks at.
void TileChooser::narrow(const Step& step, int symbol, std::vector<double>& candidates) const {
    constexpr double slack = 1e-12;
    double low = 0, high = std::numeric_limits<double>::infinity();
    for (const std::size_t i : step.linear) {
        const Check& check = step.checks[i];
        const Limit& limit = *check.limit;
        if (limit.limit <= 0) {
            continue;
        }
        const double output = limit.quotient(values_.data()), own = values_[symbol];
        const bool over = limit.grows_in.has(symbol);
        // The value at which the limit is met exactly.
        const double at = over ? limit.limit / output * own : output / limit.limit * own;
        if (!(over ? check.lower : check.upper)) {
            high = std::min(high, at * (1 + slack));
        }
        if (!(over ? check.upper : check.lower)) {
            low = std::max(low, at * (1 - slack));
        }
    }
    candidates.erase(std::upper_bound(candidates.begin(), candidates.end(), high),
                     candidates.end());
    candidates.erase(candidates.begin(),
                     std::lower_bound(candidates.begin(), candidates.end(), low));
}

bool TileChooser::choose(std::size_t k, double value) {
    std::copy(values_.begin(), values_.end(),
              before_.begin() + static_cast<std::ptrdiff_t>(k * values_.size()));
    chosen_ = k + 1;
    set(steps_[k], t_.order[k], value);
    too_large_ = too_small_ = false;
    for (const Check& check : steps_[k].checks) {
        const Check::Broken* const broken = broken_by(check);
        if (broken != nullptr) {
            too_large_ = broken->by_larger;
            too_small_ = broken->by_smaller;
            return false;
        }
    }
    return true;
}

/// Null: it can still be met.
const TileChooser::Check::Broken* TileChooser::broken_by(const Check& check) {
    const Limit& limit = *check.limit;
    if (check.upper) {
        return limit.holds(corner(check, check.lowest)) ? nullptr : &check.above;
    }
    if (check.lower) {
        return limit.holds(corner(check, check.highest)) ? nullptr : &check.below;
    }
    const double lowest = corner(check, check.lowest);
    if (lowest > limit.limit) {
        return &check.above;
    }
    const bool same = check.lowest.empty() && check.highest.empty();
    const double highest = same ? lowest : corner(check, check.highest);
    return highest < limit.limit ? &check.below : nullptr;
}

/// The limit's output where what is unknown has its least value, but for what is raised.
double TileChooser::corner(const Check& check, const std::vector<Raise>& raises) {
    const Limit& limit = *check.limit;
    const std::vector<double>& at = raises.empty() ? values_ : corner_;
    if (!raises.empty()) {
        corner_ = values_;
    }
    for (const Raise& raise : raises) {
        const double most = raise.to >= 0 ? values_[raise.to] : raise.bound;
        corner_[raise.symbol] = raise.least >= 0 ? std::min(most, values_[raise.least]) : most;
    }
    if (limit.trips) {
        return limit.quotient(at.data());
    }
    double output = 0;
    limit.formula.evaluate_one(at, {&output, 1}, workspace_);
    return output;
}

bool TileChooser::draw(Rng& rng, std::uint64_t& steps, const std::vector<double>* target,
                       std::size_t from) {
    std::size_t k = from;
    for (bool enter = true;;) {
        if (k == size()) {
            if (complete()) {
                return true;
            }
            enter = false;
        } else if (enter) {
            candidates(k, left_[k]);
        }
        bool chosen = false;
        while (k < size() && !chosen && !left_[k].empty()) {
            if (steps-- == 0) {
                steps = 0;
                return false;
            }
            const double aim = target != nullptr ? (*target)[t_.order[k]] : 0;
            const auto pick = aim > 0 ? nearest(left_[k], aim)
                                      : static_cast<std::ptrdiff_t>(rng.below(left_[k].size()));
            const double value = left_[k][static_cast<std::size_t>(pick)];
            chosen = choose(k, value);
            // Ascending: what is too large takes everything after it along, what is too small
            // everything before it.
            left_[k].erase(!chosen && too_small_ ? left_[k].begin() : left_[k].begin() + pick,
                           !chosen && too_large_ ? left_[k].end() : left_[k].begin() + pick + 1);
            if (!chosen) {
                rewind(k);
            }
        }
        enter = chosen;
        if (chosen) {
            ++k;
        } else if (k == from) {
            return false;
        } else {
            rewind(--k);
        }
    }
}

bool TileChooser::take_nearest(const std::vector<double>& target) {
    for (std::size_t k = 0; k < size(); ++k) {
        const int s = t_.order[k];
        candidates(k, left_[k]);
        if (left_[k].empty()) {
            return false;
        }
        set(steps_[k], s, left_[k][static_cast<std::size_t>(nearest(left_[k], target[s]))]);
    }
    outputs_.resize(t_.limits.size());
    t_.check.evaluate_one(values_, outputs_, workspace_);
    for (std::size_t i = 0; i < t_.limits.size(); ++i) {
        if (!t_.limits[i].holds(outputs_[i])) {
            return false;
        }
    }
    return complete();
}

void TileChooser::between(int symbol, const std::int64_t* tiles, std::vector<double>& out) {
    corner_.assign(tiles, tiles + values_.size());
    cursors_[symbol].start(corner_.data(), all_ - SymbolSet::of(symbol));
    out.clear();
    drain(cursors_[symbol], out);
}

bool TileChooser::complete() const {
    for (std::size_t k = 0; k < t_.fused.size(); ++k) {
        const FusedLoop& loop = t_.fused[k];
        const double own = loop.symbol >= 0 ? values_[loop.symbol] : 1.0;
        const double trips = std::ceil(outer_of(loop) / own);
        const auto wanted = static_cast<double>(trips_[k]);
        if ((trips > 1) != static_cast<bool>(running_ >> k & 1u) ||
            (wanted > 0 && trips != wanted)) {
            return false;
        }
    }
    return meets_loop_limits(t_, values_.data());
}

}  // namespace tessera::search
