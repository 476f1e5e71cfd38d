#include "search/tile_chooser.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::search {

using model::SymbolSet;

TileChooser::TileChooser(const TemplateData& t, mapspace::DivisorCache& divisors,
                         model::FormulaWorkspace& workspace)
    : t_(t),
      workspace_(workspace),
      fused_of_symbol_(t.symbols.size(), -1),
      values_(t.symbols.size(), 1.0),
      outputs_(t.limits.size()),
      trips_(t.fused.size(), 0) {
    for (std::size_t s = 0; s < t.symbols.size(); ++s) {
        cursors_.emplace_back(t.symbols, static_cast<int>(s), divisors.of(t.symbols[s].bound));
    }
    for (std::size_t k = 0; k < t.fused.size(); ++k) {
        if (t.fused[k].symbol >= 0) {
            fused_of_symbol_[t.fused[k].symbol] = static_cast<int>(k);
        }
    }
}

void TileChooser::start(std::uint32_t running, const std::vector<std::int64_t>& trips) {
    running_ = running;
    trips_ = trips;
    rewind(0);
}

void TileChooser::rewind(std::size_t k) {
    known_ = {};
    for (std::size_t i = 0; i < k; ++i) {
        known_ |= SymbolSet::of(t_.order[i]);
    }
    // What is not chosen yet is as small as it can be: at least the tile inside it.
    for (std::size_t i = k; i < t_.order.size(); ++i) {
        values_[t_.order[i]] = 1.0;
    }
    for (std::size_t i = 0; i < k; ++i) {
        const int s = t_.order[i];
        for (int o = t_.symbols[s].outer; o >= 0 && !known_.has(o); o = t_.symbols[o].outer) {
            values_[o] = std::max(values_[o], values_[s]);
        }
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
    const int fused = fused_of_symbol_[s];
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
    known_ |= SymbolSet::of(s);
    values_[s] = value;
    SymbolSet changed = SymbolSet::of(s);
    for (int o = t_.symbols[s].outer; o >= 0 && !known_.has(o); o = t_.symbols[o].outer) {
        values_[o] = value;
        changed |= SymbolSet::of(o);
    }
    if (!t_.limited.meets(changed)) {
        return true;
    }
    t_.check.evaluate_one(values_, outputs_, workspace_);
    bool good = true;
    too_large_ = false;
    for (std::size_t i = 0; i < t_.limits.size(); ++i) {
        const Limit& limit = t_.limits[i];
        const bool decided = known_.contains(limit.symbols);
        if (limit.symbols.meets(changed) && (decided || limit.growing) &&
            !limit.holds(outputs_[i])) {
            good = false;
            too_large_ = too_large_ || limit.growing;
        }
    }
    return good;
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
