#include "known_tiles.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::mapspace {

using model::Formula;
using model::FormulaPool;
using model::SymbolSet;

namespace {

/// Of one problem: each is solved by itself.
constexpr std::size_t most_cases = 16;
constexpr std::int64_t largest_bound = 64;

/// Symbols of terms that are taken away.
void add_taken_away(const FormulaPool& pool, const Formula& f, std::vector<SymbolSet>& to) {
    for (const Formula& b : pool.branches(f)) {
        add_taken_away(pool, b, to);
    }
    if (f.is_constant() || pool.is_max(f)) {
        return;
    }
    for (const model::Term& t : pool.terms(f)) {
        const model::Monomial& m = pool.monomial(t.monomial);
        if (t.coefficient < 0 && !m.mask.empty()) {
            to.push_back(m.mask);
        }
        for (const model::AtomPower& p : pool.atom_powers(m)) {
            if (pool.atom(p.atom).kind == model::AtomKind::sum) {
                add_taken_away(pool, pool.atom(p.atom).arguments[0], to);
            }
        }
    }
}

/// Descending: whole windows mostly cost least, and one case that does may be enough to know.
std::vector<double> divisors_of(std::int64_t n) {
    std::vector<double> out;
    for (std::int64_t d = n; d >= 1; --d) {
        if (n % d == 0) {
            out.push_back(static_cast<double>(d));
        }
    }
    return out;
}

/// The symbols from the outermost one on, if divisors are all that they may be.
std::vector<int> chain_of(std::span<const TileShapeSymbol> symbols, std::size_t outermost) {
    std::vector<int> out;
    for (int s = static_cast<int>(outermost); s >= 0;
         s = symbols[static_cast<std::size_t>(s)].inner) {
        const TileShapeSymbol& symbol = symbols[static_cast<std::size_t>(s)];
        if (symbol.choice != TileChoice::divisors || symbol.bound != symbols[outermost].bound) {
            return {};
        }
        out.push_back(s);
    }
    return out;
}

/// Values of the symbols, each a divisor of the one before, appended to `to`.
void add_values(std::span<const int> chain, const std::vector<double>& divisors, double outer,
                std::vector<double>& values, std::vector<std::vector<double>>& to) {
    if (values.size() == chain.size()) {
        to.push_back(values);
        return;
    }
    for (const double d : divisors) {
        if (static_cast<std::int64_t>(outer) % static_cast<std::int64_t>(d) == 0) {
            values.push_back(d);
            add_values(chain, divisors, d, values, to);
            values.pop_back();
        }
    }
}

struct Choices {
    std::vector<int> symbols;                 ///< of one rank variable, outermost first
    std::vector<std::vector<double>> values;  ///< by case
};

Choices choices_of(std::span<const TileShapeSymbol> symbols, std::size_t outermost,
                   const SymbolSet& of) {
    Choices out;
    for (const int s : chain_of(symbols, outermost)) {
        if (of.has(s)) {
            out.symbols.push_back(s);
        }
    }
    const std::int64_t bound = symbols[outermost].bound;
    std::vector<double> values;
    if (!out.symbols.empty() && bound > 1 && bound <= largest_bound) {
        add_values(out.symbols, divisors_of(bound), static_cast<double>(bound), values, out.values);
    }
    return out;
}

}  // namespace

SymbolSet symbols_of_cases(const FormulaPool& pool, std::span<const TileShapeSymbol> symbols,
                           std::span<const TileShapeConstraint> constraints,
                           std::span<const Formula> quantities) {
    std::vector<SymbolSet> taken_away;
    for (const Formula& f : quantities) {
        add_taken_away(pool, f, taken_away);
    }
    for (const TileShapeConstraint& c : constraints) {
        add_taken_away(pool, c.below.value_or(c.formula), taken_away);
    }
    SymbolSet all, out;
    for (const SymbolSet& one : taken_away) {
        all |= one;
    }
    std::vector<Choices> choices;
    for (std::size_t s = 0; s < symbols.size(); ++s) {
        if (symbols[s].outer < 0) {
            Choices own = choices_of(symbols, s, all);
            if (own.values.size() > 1 && own.values.size() <= most_cases) {
                choices.push_back(std::move(own));
            }
        }
    }
    std::ranges::stable_sort(choices, {}, [](const Choices& c) { return c.values.size(); });
    std::size_t cases = 1;
    for (const Choices& c : choices) {
        SymbolSet own;
        for (const int s : c.symbols) {
            own |= SymbolSet::of(s);
        }
        const bool helps = std::ranges::any_of(
            taken_away, [&](const SymbolSet& one) { return one.meets(own) && !one.meets(out); });
        if (helps && cases * c.values.size() <= most_cases) {
            cases *= c.values.size();
            out |= own;
        }
    }
    return out;
}

void for_each_case(std::span<const TileShapeSymbol> symbols, const SymbolSet& of_cases,
                   const std::function<void(const KnownTiles&)>& sink) {
    std::vector<Choices> choices;
    for (std::size_t s = 0; s < symbols.size(); ++s) {
        if (symbols[s].outer < 0) {
            Choices own = choices_of(symbols, s, of_cases);
            if (!own.values.empty()) {
                choices.push_back(std::move(own));
            }
        }
    }
    KnownTiles known{of_cases, std::vector<double>(symbols.size(), 1.0)};
    const std::function<void(std::size_t)> choose = [&](std::size_t c) {
        if (c == choices.size()) {
            sink(known);
            return;
        }
        for (const std::vector<double>& values : choices[c].values) {
            for (std::size_t k = 0; k < values.size(); ++k) {
                known.values[static_cast<std::size_t>(choices[c].symbols[k])] = values[k];
            }
            choose(c + 1);
        }
    };
    choose(0);
}

}  // namespace tessera::mapspace
