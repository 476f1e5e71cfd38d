#include <algorithm>
#include <cmath>
#include <tuple>

#include "tile_shapes_engine.hpp"

// Order of enumeration. The result does not depend on it, the work does:
//   - a symbol comes after its inner neighbour, so that its candidates are few;
//   - fused symbols are keys for ever and multiply the rows: last;
//   - then the symbol that adds least to the number of key combinations: one that completes a
//     chain, or one that its own constraints leave few values;
//   - then few candidates before many;
//   - chains with partial tiles go the other way, outside in: few values divide a given tile. But
//     what constraints leave one value comes before all others: few tiles are multiples of it.
// Symmetric variables (tile_shapes_symmetries.hpp) come together, below everything that encloses
// them. Exception: if limits on loops leave the symbols of these loops few combinations, and far
// fewer than they have without, they come first, outermost first. Every other chain is then
// complete below them: its symbols cease to be keys, and capacities are tested with the real tiles.
// A limit that forbids little, such as one of two loops over a variable, costs more rows than that
// saves.

namespace tessera::mapspace {

using model::SymbolSet;

double expected_candidates(const TileShapeSymbol& symbol, DivisorTable& table) {
    if (symbol.choice == TileChoice::partial_outermost) {
        return symbol.outer < 0 ? static_cast<double>(table.partial_tiles().size())
                                : 1.0 + std::log(static_cast<double>(symbol.bound));
    }
    if (!divides_outer(symbol.choice)) {
        return std::max(1.0, static_cast<double>(symbol.bound) / 2.0);
    }
    if (symbol.inner < 0) {
        return static_cast<double>(table.divisors().size());
    }
    double mean = 1.0;  // pairs of divisors d | e over divisors
    for (const int exponent : table.prime_exponents()) {
        mean *= (exponent + 2) / 2.0;
    }
    return mean;
}

namespace {

constexpr std::size_t kLargestFiltered = 256;

/// Candidates of a symbol that the constraints on it alone leave; at least 1.
double allowed_candidates(const model::FormulaPool& pool, std::span<const TileShapeSymbol> symbols,
                          std::span<const TileShapeConstraint> constraints, int symbol,
                          DivisorTable& table) {
    const TileShapeSymbol& self = symbols[symbol];
    if (has_partial_outermost(symbols, symbol)) {
        return static_cast<double>(
            (self.outer < 0 ? table.partial_tiles() : table.partial_chain_values()).size());
    }
    if (!divides_outer(self.choice)) {
        return static_cast<double>(self.bound);
    }
    const std::span<const double> all = table.divisors();
    std::vector<const TileShapeConstraint*> own;
    for (const TileShapeConstraint& constraint : constraints) {
        if (pool.mask(constraint.formula) == SymbolSet::of(symbol)) {
            own.push_back(&constraint);
        }
    }
    if (own.empty() || all.size() > kLargestFiltered) {
        return static_cast<double>(all.size());
    }
    double values[model::kMaxSymbols] = {};
    double count = 0.0;
    for (const double candidate : all) {
        values[symbol] = candidate;
        count += std::all_of(own.begin(), own.end(), [&](const TileShapeConstraint* c) {
            return holds(c->relation, c->formula.value(values), c->limit);
        });
    }
    return std::max(1.0, count);
}

constexpr double kFewCombinations = 400.0, kSmallShare = 0.03;

/// Symbols of limited loops, outermost first, if they have few combinations due to the limits.
std::vector<int> limited_symbols(std::span<const TileShapeSymbol> symbols,
                                 std::span<const LoopLimit> limits, DivisorCache& cache) {
    SymbolSet limited;
    double combinations = 1.0, unlimited = 1.0;
    for (const LoopLimit& group : limits) {
        // Ways to choose and fill at most `limit` loops: sums over products, by number of loops.
        std::vector<double> ways(static_cast<std::size_t>(group.limit) + 1, 0.0);
        ways[0] = 1.0;
        for (const LoopLimit::Loop& loop : group.loops) {
            if (loop.own < 0) {
                return {};
            }
            if (limited.has(loop.own)) {
                continue;
            }
            limited |= SymbolSet::of(loop.own);
            DivisorTable& table = cache.of(loop.bound);
            const double values = static_cast<double>(has_partial_outermost(symbols, loop.own)
                                                          ? table.partial_tiles().size()
                                                          : table.divisors().size());
            for (std::size_t n = ways.size(); n-- > 1;) {
                ways[n] += ways[n - 1] * values;
            }
            unlimited *= 1.0 + values;
        }
        double all = 0.0;
        for (const double n : ways) {
            all += n;
        }
        combinations *= all;
    }
    std::vector<int> order;
    if (limited.empty() || combinations > kFewCombinations ||
        combinations > kSmallShare * unlimited) {
        return order;
    }
    SymbolSet placed;
    for (bool found = true; found;) {
        found = false;
        for (std::size_t s = 0; s < symbols.size(); ++s) {
            const int outer = symbols[s].outer;
            if (limited.has(s) && !placed.has(s) && (outer < 0 || placed.has(outer))) {
                order.push_back(static_cast<int>(s));
                placed |= SymbolSet::of(s);
                found = true;
            }
        }
    }
    return placed == limited ? order : std::vector<int>{};
}

/// What encloses symmetric variables, outermost first.
void add_enclosing(std::span<const TileShapeSymbol> symbols,
                   std::span<const SymmetricSymbols> symmetries, std::vector<int>& order) {
    SymbolSet wanted, placed;
    for (const SymmetricSymbols& t : symmetries) {
        for (int s = t.top; s >= 0; s = symbols[static_cast<std::size_t>(s)].outer) {
            wanted |= SymbolSet::of(s);
        }
    }
    for (const int s : order) {
        placed |= SymbolSet::of(s);
    }
    for (bool found = true; found;) {
        found = false;
        for (std::size_t s = 0; s < symbols.size(); ++s) {
            const int outer = symbols[s].outer;
            if ((wanted - placed).has(s) && (outer < 0 || placed.has(outer))) {
                order.push_back(static_cast<int>(s));
                placed |= SymbolSet::of(s);
                found = true;
            }
        }
    }
}

/// Symbols of chains with partial tiles that constraints leave one value: what encloses them is a
/// multiple of it.
void add_fixed(const model::FormulaPool& pool, std::span<const TileShapeSymbol> symbols,
               std::span<const TileShapeConstraint> constraints, std::vector<int>& order) {
    const auto limits = [&](const TileShapeConstraint& c, int s, Relation relation) {
        return c.relation == relation && pool.mask(c.formula) == SymbolSet::of(s) &&
               c.formula == model::Formula::symbol(s);
    };
    for (std::size_t k = 0; k < symbols.size(); ++k) {
        const int s = static_cast<int>(k);
        if (symbols[k].only || !has_partial_outermost(symbols, s) ||
            std::ranges::find(order, s) != order.end()) {
            continue;  // of those that only some values are of use, the enclosing tile says which
        }
        for (const TileShapeConstraint& low : constraints) {
            const auto same = [&](const TileShapeConstraint& high) {
                return limits(high, s, Relation::less_equal) && high.limit == low.limit;
            };
            if (limits(low, s, Relation::greater_equal) && std::ranges::any_of(constraints, same)) {
                order.push_back(s);
                break;
            }
        }
    }
}

/// A symmetric variable of the symbol that is not known yet, -1: none.
int symmetry_of(std::span<const SymmetricSymbols> symmetries, int symbol, const SymbolSet& known) {
    for (const SymmetricSymbols& t : symmetries) {
        const int other = t.first == symbol ? t.second : t.second == symbol ? t.first : -1;
        if (other >= 0 && !known.has(other)) {
            return other;
        }
    }
    return -1;
}

}  // namespace

std::vector<int> tile_shape_order(const model::FormulaPool& pool, const OrderedSpace& space,
                                  bool fixed_first, DivisorCache& cache) {
    const auto& [symbols, constraints, limits, symmetries] = space;
    std::vector<double> allowed(symbols.size());
    std::vector<char> inwards(symbols.size());
    std::vector<char> late(symbols.size(), 0);  ///< in a chain with a fused symbol
    for (std::size_t s = 0; s < symbols.size(); ++s) {
        inwards[s] = has_partial_outermost(symbols, static_cast<int>(s));
        for (int i = static_cast<int>(s); symbols[s].fused && i >= 0; i = symbols[i].outer) {
            late[i] = 1;
        }
        for (int i = static_cast<int>(s); symbols[s].fused && i >= 0; i = symbols[i].inner) {
            late[i] = 1;
        }
        allowed[s] = allowed_candidates(pool, symbols, constraints, static_cast<int>(s),
                                        cache.of(symbols[s].bound));
    }
    std::vector<int> order = limited_symbols(symbols, limits, cache);
    add_enclosing(symbols, symmetries, order);
    if (fixed_first) {
        add_fixed(pool, symbols, constraints, order);
    }
    SymbolSet known;
    for (const int s : order) {
        known |= SymbolSet::of(s);
    }
    const auto is_known = [&](int s) { return s < 0 || known.has(s); };
    while (order.size() < symbols.size()) {
        int best = order.empty() ? -1 : symmetry_of(symmetries, order.back(), known);
        if (best >= 0 && is_known(symbols[static_cast<std::size_t>(best)].inner)) {
            order.push_back(best);
            known |= SymbolSet::of(best);
            continue;
        }
        best = -1;
        std::tuple<bool, double, double, int> best_rank;
        for (std::size_t s = 0; s < symbols.size(); ++s) {
            const TileShapeSymbol& symbol = symbols[s];
            // What divides a partial tile is found from outside only.
            const bool outside_in = inwards[s];
            const int before = outside_in ? symbol.outer : symbol.inner;
            const int after = outside_in ? symbol.inner : symbol.outer;
            if (is_known(static_cast<int>(s)) || !is_known(before)) {
                continue;
            }
            // Growth of the number of keys: this symbol may become one, the neighbour before it may
            // cease to be one.
            const bool becomes_key = symbol.fused || !is_known(after);
            const bool frees = before >= 0 && !symbols[before].fused;
            const double keys = (becomes_key ? allowed[s] : 1.0) / (frees ? allowed[before] : 1.0);
            const double branches =
                std::min(allowed[s], expected_candidates(symbol, cache.of(symbol.bound)));
            const std::tuple rank(outside_in ? late[s] != 0 : symbol.fused, keys, branches,
                                  static_cast<int>(s));
            if (best < 0 || rank < best_rank) {
                best = static_cast<int>(s);
                best_rank = rank;
            }
        }
        order.push_back(best);
        known |= SymbolSet::of(best);
    }
    return order;
}

}  // namespace tessera::mapspace
