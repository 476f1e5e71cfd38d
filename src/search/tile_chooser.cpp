#include "search/tile_chooser.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::search {

using model::SymbolSet;

TileChooser::TileChooser(const TemplateData& t, mapspace::DivisorCache& divisors,
                         model::FormulaWorkspace& workspace)
    : t_(t),
      workspace_(workspace),
      values_(t.symbols.size(), 1.0),
      before_(t.symbols.size() * t.symbols.size()),
      known_before_(t.symbols.size()),
      left_(t.symbols.size()),
      trips_(t.fused.size(), 0) {
    for (std::size_t s = 0; s < t.symbols.size(); ++s) {
        cursors_.emplace_back(t.symbols, static_cast<int>(s), divisors.of(t.symbols[s].bound));
    }
    inside_.resize(t.symbols.size());
    for (std::size_t s = 0; s < t.symbols.size(); ++s) {
        for (int o = t.symbols[s].outer; o >= 0; o = t.symbols[o].outer) {
            inside_[o] |= SymbolSet::of(static_cast<int>(s));
        }
    }
}

void TileChooser::start(std::uint32_t running, const std::vector<std::int64_t>& trips) {
    running_ = running;
    trips_ = trips;
    known_ = {};
    values_.assign(values_.size(), 1.0);
    chosen_ = 0;
}

void TileChooser::rewind(std::size_t k) {
    if (k < chosen_) {
        std::copy_n(before_.begin() + static_cast<std::ptrdiff_t>(k * values_.size()),
                    values_.size(), values_.begin());
        known_ = known_before_[k];
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
    constexpr std::size_t piece = 32;
    const int s = t_.order[k];
    const int fused = t_.fused_of_symbol[s];
    out.clear();
    const bool free = fused < 0 || ((running_ >> fused & 1u) && trips_[fused] == 0);
    if (free) {
        cursors_[s].start(values_.data(), known_);
        for (std::size_t n = piece; n == piece;) {
            const std::size_t at = out.size();
            out.resize(at + piece);
            n = cursors_[s].next(out.data() + at, piece);
            out.resize(at + n);
        }
    }
    if (fused >= 0) {
        fused_candidates(fused, out);
    }
}

bool TileChooser::choose(std::size_t k, double value) {
    const int s = t_.order[k];
    std::copy(values_.begin(), values_.end(),
              before_.begin() + static_cast<std::ptrdiff_t>(k * values_.size()));
    known_before_[k] = known_;
    chosen_ = k + 1;
    known_ |= SymbolSet::of(s);
    values_[s] = value;
    SymbolSet changed = SymbolSet::of(s);
    for (int o = t_.symbols[s].outer; o >= 0 && !known_.has(o); o = t_.symbols[o].outer) {
        values_[o] = value;
        changed |= SymbolSet::of(o);
    }
    changed |= inside_[s] - known_;  // they can no longer be larger than this one
    if (!t_.limited.meets(changed)) {
        return true;
    }
    too_large_ = false;
    for (const Limit& limit : t_.limits) {
        const SymbolSet unknown = limit.symbols - known_;
        if (!limit.symbols.meets(changed) || !(limit.grows_in | limit.falls_in).contains(unknown)) {
            continue;
        }
        const bool upper = limit.relation == mapspace::Relation::less_equal ||
                           limit.relation == mapspace::Relation::less;
        const bool lower = limit.relation == mapspace::Relation::greater_equal ||
                           limit.relation == mapspace::Relation::greater;
        bool good = true;
        if (unknown.empty()) {
            good = limit.holds(extreme(limit, unknown, {}));
        } else if (upper) {
            good = limit.holds(extreme(limit, unknown, limit.falls_in));
        } else if (lower) {
            good = limit.holds(extreme(limit, unknown, limit.grows_in));
        } else {
            good = extreme(limit, unknown, limit.falls_in) <= limit.limit &&
                   extreme(limit, unknown, limit.grows_in) >= limit.limit;
        }
        if (!good) {
            too_large_ = (upper && limit.grows_in.has(s) && limit.grows_in.contains(unknown)) ||
                         (lower && limit.falls_in.has(s) && unknown.empty());
            return false;
        }
    }
    return true;
}

/// The limit's output where what is unknown has its least value, but for `largest`: the largest.
double TileChooser::extreme(const Limit& limit, const SymbolSet& unknown,
                            const SymbolSet& largest) {
    double output = 0;
    const SymbolSet raised = unknown & largest;
    if (raised.empty()) {
        limit.formula.evaluate_one(values_, {&output, 1}, workspace_);
        return output;
    }
    corner_ = values_;
    for (const int s : raised) {
        int o = t_.symbols[s].outer;
        while (o >= 0 && !known_.has(o)) {
            o = t_.symbols[o].outer;
        }
        corner_[s] = o >= 0 ? values_[o] : static_cast<double>(t_.symbols[s].bound);
        if (limit.trips && largest == limit.falls_in) {
            // No trip count is below 1: s is at most the tile shape that is divided by it.
            int a = t_.symbols[s].outer;
            while (a >= 0 && !limit.grows_in.has(a)) {
                a = t_.symbols[a].outer;
            }
            corner_[s] = a >= 0 ? std::min(corner_[s], values_[a]) : corner_[s];
        }
    }
    limit.formula.evaluate_one(corner_, {&output, 1}, workspace_);
    return output;
}

namespace {

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
            // Ascending: what is too large takes everything after it along.
            left_[k].erase(left_[k].begin() + pick,
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

void TileChooser::between(int symbol, const std::int64_t* tiles, std::vector<double>& out) {
    constexpr std::size_t piece = 32;
    SymbolSet others;
    corner_.resize(values_.size());
    for (std::size_t s = 0; s < values_.size(); ++s) {
        corner_[s] = static_cast<double>(tiles[s]);
        if (static_cast<int>(s) != symbol) {
            others |= SymbolSet::of(static_cast<int>(s));
        }
    }
    cursors_[symbol].start(corner_.data(), others);
    out.clear();
    for (std::size_t n = piece; n == piece;) {
        const std::size_t at = out.size();
        out.resize(at + piece);
        n = cursors_[symbol].next(out.data() + at, piece);
        out.resize(at + n);
    }
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
