#pragma once

// Random tile-shape problems and their solution by plain enumeration.
//
// The enumeration here is written from the definition of legal assignments in the public header
// and shares nothing with the explorer but the code that evaluates complete formulas.

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/compiled_formulas.hpp"

namespace tile_shape_cases {

using namespace tessera::mapspace;
using tessera::model::CompiledFormulas;
using tessera::model::Formula;
using tessera::model::FormulaPool;
using tessera::model::FormulaWorkspace;

struct Random {
    std::mt19937_64 engine;
    int below(int n) {
        return static_cast<int>(engine() % static_cast<std::uint64_t>(n));
    }
    bool chance(int percent) {
        return below(100) < percent;
    }
};

// ---- plain enumeration ----

inline bool whole(long a, long b) {
    return b % a == 0;
}

/// One link of a chain, by the definition of TileChoice.
inline bool link_is_legal(TileChoice inner_mode, long inner, long outer) {
    const bool divides =
        inner_mode == TileChoice::divisors || inner_mode == TileChoice::divisors_of_outer;
    return divides ? whole(inner, outer) : inner <= outer;
}

/// For some divisor of the bound no smaller multiple of it makes as few trips.
inline bool smallest_of_a_kind(long bound, long tile) {
    const long trips = (bound + tile - 1) / tile;
    for (long d = 1; d <= tile; ++d) {
        if (whole(d, bound) && whole(d, tile) && (tile - d) * trips < bound) {
            return true;
        }
    }
    return false;
}

inline bool partial_link_is_legal(const TileShapeSymbol& symbol, long own, long outer) {
    if (own != outer && symbol.only &&
        std::find(symbol.only->begin(), symbol.only->end(), own) == symbol.only->end()) {
        return false;
    }
    return outer == symbol.bound ? smallest_of_a_kind(outer, own) : whole(own, outer);
}

inline bool assignment_is_legal(const std::vector<TileShapeSymbol>& symbols,
                                const std::vector<double>& x) {
    for (std::size_t s = 0; s < symbols.size(); ++s) {
        const TileShapeSymbol& symbol = symbols[s];
        const long own = std::lround(x[s]);
        const long outer = symbol.outer < 0 ? symbol.bound : std::lround(x[symbol.outer]);
        const long inner = symbol.inner < 0 ? 1 : std::lround(x[symbol.inner]);
        if (own > outer || !link_is_legal(symbol.choice, own, outer)) {
            return false;
        }
        if (symbol.choice == TileChoice::partial_outermost &&
            !partial_link_is_legal(symbol, own, outer)) {
            return false;
        }
        if (symbol.choice == TileChoice::divisors && !whole(own, symbol.bound)) {
            return false;
        }
        if (symbol.choice == TileChoice::one_per_trip_count) {
            // No smaller value that respects the inner tile has as many trips.
            const TileChoice mode =
                symbol.inner < 0 ? TileChoice::divisors : symbols[symbol.inner].choice;
            for (long smaller = inner; smaller < own; ++smaller) {
                if (link_is_legal(mode, inner, smaller) &&
                    (outer + smaller - 1) / smaller == (outer + own - 1) / own) {
                    return false;
                }
            }
        }
    }
    return true;
}

inline void enumerate(const std::vector<TileShapeSymbol>& symbols, std::size_t s,
                      std::vector<double>& x, std::vector<std::vector<double>>& rows) {
    if (s == symbols.size()) {
        if (assignment_is_legal(symbols, x)) {
            rows.push_back(x);
        }
        return;
    }
    for (long v = 1; v <= symbols[s].bound; ++v) {
        if (symbols[s].choice == TileChoice::divisors && !whole(v, symbols[s].bound)) {
            continue;
        }
        x[s] = static_cast<double>(v);
        enumerate(symbols, s + 1, x, rows);
    }
}

inline bool meets(Relation relation, double value, double limit) {
    switch (relation) {
        case Relation::less_equal:
            return value <= limit;
        case Relation::less:
            return value < limit;
        case Relation::greater_equal:
            return value >= limit;
        case Relation::greater:
            return value > limit;
        default:
            return value == limit;
    }
}

struct Solution {
    std::size_t legal_assignments = 0;
    std::size_t feasible = 0;
    /// Fused tile shapes -> objective vectors, Pareto-optimal ones, sorted, without duplicates.
    std::map<std::vector<double>, std::vector<std::vector<double>>> fronts;
};

inline bool not_worse(const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] > b[i]) {
            return false;
        }
    }
    return true;
}

inline std::vector<std::vector<double>> pareto(std::vector<std::vector<double>> points) {
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    std::vector<std::vector<double>> kept;
    for (const auto& p : points) {
        // Sorted: whoever dominates p stands before it.
        if (std::none_of(kept.begin(), kept.end(),
                         [&](const auto& q) { return not_worse(q, p); })) {
            kept.push_back(p);
        }
    }
    return kept;
}

inline int trips_above_one(const LoopLimit& group, const std::vector<double>& x) {
    int count = 0;
    for (const LoopLimit::Loop& loop : group.loops) {
        const double outer = loop.outer < 0 ? static_cast<double>(loop.bound) : x[loop.outer];
        count += outer != (loop.own < 0 ? 1.0 : x[loop.own]) ? 1 : 0;
    }
    return count;
}

/// Rows that meet every condition, best-effort ones in list order.
inline std::vector<std::vector<double>> feasible_rows(const TileShapeProblem& problem,
                                                      Solution& solution) {
    std::vector<std::vector<double>> rows, legal;
    std::vector<double> x(problem.symbols.size());
    enumerate(problem.symbols, 0, x, rows);
    solution.legal_assignments = rows.size();
    FormulaWorkspace workspace;
    std::vector<Formula> formulas;
    for (const auto& c : problem.constraints) {
        formulas.push_back(c.formula);
    }
    for (const auto& c : problem.best_effort) {
        formulas.push_back(c.formula);
    }
    const CompiledFormulas code(FormulaPool::current(), formulas);
    std::vector<double> values(formulas.size());
    std::vector<std::vector<double>> wanted;
    for (const auto& row : rows) {
        code.evaluate_one(row, values, workspace);
        bool ok = true;
        for (std::size_t c = 0; c < problem.constraints.size(); ++c) {
            ok = ok &&
                 meets(problem.constraints[c].relation, values[c], problem.constraints[c].limit);
        }
        for (const LoopLimit& group : problem.loop_limits) {
            ok = ok && trips_above_one(group, row) <= group.limit;
        }
        if (ok) {
            legal.push_back(row);
            wanted.emplace_back(values.begin() + problem.constraints.size(), values.end());
        }
    }
    for (std::size_t c = 0; c < problem.best_effort.size(); ++c) {
        double best = -HUGE_VAL;
        for (const auto& w : wanted) {
            best = std::max(best, w[c]);
        }
        const double level = std::min(best, problem.best_effort[c].minimum);
        std::size_t kept = 0;
        for (std::size_t r = 0; r < legal.size(); ++r) {
            if (wanted[r][c] >= level) {
                legal[kept] = legal[r];
                wanted[kept++] = wanted[r];
            }
        }
        legal.resize(kept);
        wanted.resize(kept);
    }
    solution.feasible = legal.size();
    return legal;
}

inline std::vector<double> fused_key(const TileShapeProblem& problem,
                                     const std::vector<double>& row) {
    std::vector<double> key;
    for (std::size_t s = 0; s < problem.symbols.size(); ++s) {
        if (problem.symbols[s].fused) {
            key.push_back(row[s]);
        }
    }
    return key;
}

inline bool is_allowed(const TileShapeProblem& problem, const std::vector<double>& row) {
    return std::all_of(problem.allowed.begin(), problem.allowed.end(), [&](const auto& table) {
        std::size_t at = 0;
        for (std::size_t k = 0; k < table.symbols.size(); ++k) {
            const std::vector<double>& values = table.values[k];
            const auto place = std::find(values.begin(), values.end(), row[table.symbols[k]]);
            at = at * values.size() + static_cast<std::size_t>(place - values.begin());
        }
        return table.allowed[at] != 0;
    });
}

inline Solution solve(const TileShapeProblem& problem) {
    Solution solution;
    const std::vector<std::vector<double>> rows = feasible_rows(problem, solution);
    const CompiledFormulas code(FormulaPool::current(), problem.objectives);
    FormulaWorkspace workspace;
    std::vector<double> values(problem.objectives.size());
    for (const auto& row : rows) {
        if (!is_allowed(problem, row)) {
            continue;
        }
        code.evaluate_one(row, values, workspace);
        solution.fronts[fused_key(problem, row)].push_back(values);
    }
    for (auto& [key, points] : solution.fronts) {
        points = pareto(std::move(points));
    }
    return solution;
}

/// The explorer's result in the same form; duplicates would show as a size difference.
inline Solution collect(const TileShapeProblem& problem, const TileShapeResult& result) {
    Solution solution;
    for (std::size_t r = 0; r < result.rows; ++r) {
        std::vector<double> row, values;
        for (const auto& column : result.shapes) {
            row.push_back(column[r]);
        }
        for (const auto& column : result.objectives) {
            values.push_back(column[r]);
        }
        solution.fronts[fused_key(problem, row)].push_back(values);
    }
    for (auto& [key, points] : solution.fronts) {
        std::sort(points.begin(), points.end());
    }
    return solution;
}

/// Whether every row is a legal choice of tile shapes with the costs that it claims.
inline bool rows_are_true(const TileShapeProblem& problem, const TileShapeResult& result) {
    const CompiledFormulas code(FormulaPool::current(), problem.objectives);
    FormulaWorkspace workspace;
    std::vector<double> x(problem.symbols.size()), values(problem.objectives.size());
    for (std::size_t r = 0; r < result.rows; ++r) {
        for (std::size_t s = 0; s < x.size(); ++s) {
            x[s] = result.shapes[s][r];
        }
        code.evaluate_one(x, values, workspace);
        bool ok = assignment_is_legal(problem.symbols, x) && is_allowed(problem, x);
        for (std::size_t k = 0; k < values.size(); ++k) {
            ok = ok && values[k] == result.objectives[k][r];
        }
        for (const auto& c : problem.constraints) {
            ok = ok && meets(c.relation, c.formula.value(x), c.limit);
        }
        for (const LoopLimit& group : problem.loop_limits) {
            ok = ok && trips_above_one(group, x) <= group.limit;
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

// ---- random problems ----

/// What a random problem may contain.
struct Flavour {
    bool real_coefficients = false;  ///< values are rounded: compare with a tolerance
    bool imperfect = false;
    bool partial = false;  ///< chains as templates with partial tiles have them
    bool fixed = false;    ///< constraints leave some symbols one value
    bool best_effort = false;
    bool symmetries = false;  ///< two or three chains occur as a product
    int fused_symmetries =
        0;  ///< symmetric variables end in so many fused symbols that are symmetric variables too
    bool allowed = false;              ///< only some combinations of fused tile shapes
    bool arbitrary_monomials = false;  ///< bounds are powers of two, so that all values are exact
};

class CaseMaker {
public:
    CaseMaker(std::uint64_t seed, const Flavour& flavour)
        : random_{std::mt19937_64(seed)}, flavour_(flavour) {}

    TileShapeProblem make() {
        make_symbols();
        const int objectives = 1 + random_.below(3);
        for (int k = 0; k < objectives; ++k) {
            problem_.objectives.push_back(objective());
        }
        if (random_.chance(25)) {
            problem_.objectives.push_back(capacity());
        }
        make_conditions();
        for (int s = 0; flavour_.fixed && s < static_cast<int>(problem_.symbols.size()); ++s) {
            if (random_.chance(25)) {
                pin(s);
            }
        }
        for (int t = random_.below(3); flavour_.allowed && t > 0; --t) {
            make_table();
        }
        return problem_;
    }

private:
    void make_symbols() {
        static constexpr int kMixed[] = {6, 8, 12, 15, 16, 18, 20, 24, 30, 36, 48, 60};
        static constexpr int kPowers[] = {4, 8, 16, 32, 64};
        static constexpr int kDense[] = {5, 6, 7, 9, 10, 12};
        const int variables = random_.chance(10) ? 1 : 2 + random_.below(2);
        symmetries_ = flavour_.symmetries ? random_.below(variables + 1) : 0;
        const int common = flavour_.symmetries ? 1 + random_.below(2) : 0;
        for (int v = 0; v < variables; ++v) {
            const int fused =
                flavour_.fused_symmetries > 0 ? flavour_.fused_symmetries : random_.below(2);
            const int length = v < symmetries_ ? common + fused : 1 + random_.below(3);
            const bool partial = flavour_.partial && random_.chance(70);
            const bool dense = partial || (flavour_.imperfect && random_.chance(60));
            const int bound = dense                          ? kDense[random_.below(6)]
                              : flavour_.arbitrary_monomials ? kPowers[random_.below(5)]
                                                             : kMixed[random_.below(12)];
            const int first = static_cast<int>(problem_.symbols.size());
            for (int i = 0; i < length; ++i) {
                TileShapeSymbol symbol;
                symbol.bound = bound;
                symbol.outer = i == 0 ? -1 : first + i - 1;
                symbol.inner = i + 1 == length ? -1 : first + i + 1;
                symbol.fused = random_.chance(i == 0 ? 30 : 10);
                if (v < symmetries_) {
                    symbol.fused = i < length - common;
                    place_.push_back(length - i);
                } else {
                    place_.push_back(0);
                }
                if (dense && !partial) {
                    symbol.choice = static_cast<TileChoice>(random_.below(4));
                }
                if (partial) {
                    symbol.choice = random_.chance(80) ? TileChoice::partial_outermost
                                                       : TileChoice::divisors_of_outer;
                }
                if (partial && symbol.choice == TileChoice::partial_outermost &&
                    random_.chance(20)) {
                    symbol.only.emplace();
                    for (int tile = 1; tile <= bound; ++tile) {
                        if (random_.chance(50)) {
                            symbol.only->push_back(tile);
                        }
                    }
                }
                problem_.symbols.push_back(symbol);
            }
        }
    }

    int any_symbol() {
        return random_.below(static_cast<int>(problem_.symbols.size()));
    }
    /// The product over all symmetric variables at the same distance from the innermost place.
    Formula tile(int s) {
        if (s < 0 || place_[static_cast<std::size_t>(s)] == 0) {
            return s < 0 ? Formula(1.0) : Formula::symbol(s);
        }
        Formula product = 1.0;
        for (std::size_t i = 0; i < place_.size(); ++i) {
            if (place_[i] == place_[static_cast<std::size_t>(s)]) {
                product *= Formula::symbol(static_cast<int>(i));
            }
        }
        return product;
    }

    /// Trips of the loop whose own tile is symbol s; whole even if the tile does not divide.
    Formula trips(int s) {
        const TileShapeSymbol& symbol = problem_.symbols[s];
        if (place_[static_cast<std::size_t>(s)] > 0 &&
            (!symbol.fused || flavour_.fused_symmetries > 0)) {
            return around(s) / tile(s);
        }
        const Formula outer = symbol.outer < 0 ? Formula(static_cast<double>(symbol.bound))
                                               : Formula::symbol(symbol.outer);
        if (flavour_.partial && symbol.inner >= 0 && random_.chance(25)) {
            // Of the first of the instances that share the outer tile, values or tiles.
            const Formula own = Formula::symbol(s);
            const Formula values = leading(Formula(static_cast<double>(symbol.bound)), outer, own);
            return random_.chance(50) ? values : ceil(values / Formula::symbol(symbol.inner));
        }
        const Formula quotient = outer / Formula::symbol(s);
        return flavour_.imperfect || flavour_.partial ? ceil(quotient) : quotient;
    }

    /// What encloses the symmetric variables at the place of `s`: the product over their chains.
    Formula around(int s) {
        Formula product = 1.0;
        for (std::size_t i = 0; i < place_.size(); ++i) {
            if (place_[i] == place_[static_cast<std::size_t>(s)]) {
                const TileShapeSymbol& symmetry = problem_.symbols[i];
                product *= symmetry.outer < 0 ? Formula(static_cast<double>(symmetry.bound))
                                              : Formula::symbol(symmetry.outer);
            }
        }
        return product;
    }

    void pin(int s) {
        const int bound = static_cast<int>(problem_.symbols[static_cast<std::size_t>(s)].bound);
        const double value = 1 + random_.below(std::max(1, bound / 2));
        for (const Relation r : {Relation::less_equal, Relation::greater_equal}) {
            problem_.constraints.push_back({Formula::symbol(s), r, value});
        }
    }

    /// A random half of the combinations of some fused symbols.
    void make_table() {
        AllowedShapes table;
        std::size_t size = 1;
        for (std::size_t s = 0; s < problem_.symbols.size(); ++s) {
            if (problem_.symbols[s].fused && random_.chance(70)) {
                table.symbols.push_back(static_cast<int>(s));
                table.values.emplace_back();
                for (int v = 1; v <= problem_.symbols[s].bound; ++v) {
                    if (whole(v, problem_.symbols[s].bound)) {
                        table.values.back().push_back(v);
                    }
                }
                size *= table.values.back().size();
            }
        }
        for (std::size_t i = 0; i < size && !table.symbols.empty(); ++i) {
            table.allowed.push_back(random_.chance(50) ? 1 : 0);
        }
        if (!table.symbols.empty()) {
            problem_.allowed.push_back(std::move(table));
        }
    }

    double coefficient() {
        const int c = 1 + random_.below(9);
        return flavour_.real_coefficients ? c * 0.137 : c;
    }

    /// One addend as a cost model makes them: sizes times trips of some loops.
    Formula traffic() {
        Formula product = coefficient();
        for (int f = random_.below(4); f > 0; --f) {
            product *= random_.chance(60) ? trips(any_symbol()) : tile(any_symbol());
        }
        if (random_.chance(20)) {
            product *= tile(any_symbol()) + tile(any_symbol()) - 1.0;  // halo
        }
        if (random_.chance(30)) {
            product = product * trips(any_symbol()) - product;  // first read elided
        }
        if (flavour_.arbitrary_monomials && random_.chance(50)) {
            product = product * tile(any_symbol()) / (tile(any_symbol()) * tile(any_symbol()));
        }
        return random_.chance(10) ? -product : product;
    }

    Formula sum() {
        Formula total;
        for (int t = 1 + random_.below(5); t > 0; --t) {
            total += traffic();
        }
        return total;
    }

    Formula objective() {
        Formula f = sum();
        for (int b = random_.below(3); b > 0 && random_.chance(60); --b) {
            f = max(f, sum());
        }
        if (random_.chance(25)) {
            f = f + 2.0 * max(sum(), traffic());
        }
        if (random_.chance(8)) {
            f = f - min(traffic(), sum());
        }
        return f;
    }

    Formula capacity() {
        Formula bits;
        for (int t = 1 + random_.below(3); t > 0; --t) {
            Formula size = 1.0 + random_.below(4);
            for (int f = 1 + random_.below(2); f > 0; --f) {
                size *= tile(any_symbol());
            }
            bits += size;
        }
        return bits;
    }

    /// A limit that some assignments meet and others do not: the value at a random assignment.
    double limit_of(const Formula& f) {
        std::vector<double> x(problem_.symbols.size());
        for (std::size_t s = 0; s < x.size(); ++s) {
            if (problem_.symbols[s].outer >= 0) {
                continue;
            }
            long outer = problem_.symbols[s].bound;
            for (int i = static_cast<int>(s); i >= 0; i = problem_.symbols[i].inner) {
                do {
                    x[i] = 1 + random_.below(static_cast<int>(outer));
                } while (!whole(std::lround(x[i]), outer));
                outer = std::lround(x[i]);
            }
        }
        return f.value(x);
    }

    void make_conditions() {
        for (int c = random_.below(3); c > 0; --c) {
            const Formula f = random_.chance(70) ? capacity() : max(capacity(), traffic());
            problem_.constraints.push_back({f, Relation::less_equal, limit_of(f)});
        }
        if (random_.chance(40)) {
            const Formula f =
                trips(any_symbol()) * (random_.chance(50) ? trips(any_symbol()) : 1.0);
            constexpr Relation relations[] = {Relation::less_equal, Relation::less,
                                              Relation::greater_equal, Relation::greater,
                                              Relation::equal};
            const Relation relation = relations[random_.below(5)];
            problem_.constraints.push_back({f, relation, limit_of(f)});
        }
        if (random_.chance(flavour_.fused_symmetries > 0 ? 10 : 30)) {
            LoopLimit group;
            for (std::size_t s = 0; s < problem_.symbols.size(); ++s) {
                const TileShapeSymbol& symbol = problem_.symbols[s];
                if (random_.chance(60)) {
                    group.loops.push_back({symbol.outer, static_cast<int>(s), symbol.bound});
                }
                if (symbol.inner < 0 && random_.chance(40)) {
                    group.loops.push_back({static_cast<int>(s), -1, symbol.bound});
                }
            }
            group.limit = random_.below(3);
            problem_.loop_limits.push_back(group);
        }
        // At most one fused loop per variable.
        for (std::size_t s = 0; flavour_.fused_symmetries == 2 && s < problem_.symbols.size();
             ++s) {
            const TileShapeSymbol& symbol = problem_.symbols[s];
            if (place_[s] > 0 && symbol.outer < 0 && random_.chance(90)) {
                const int outer = static_cast<int>(s);
                problem_.loop_limits.push_back(
                    {{{-1, outer, symbol.bound}, {outer, symbol.inner, symbol.bound}}, 1});
            }
        }
        for (int c = 0; flavour_.best_effort && c < 1 + random_.below(2); ++c) {
            const Formula f =
                trips(any_symbol()) * (random_.chance(50) ? trips(any_symbol()) : 1.0);
            problem_.best_effort.push_back({f, limit_of(f) + random_.below(3)});
        }
    }

    Random random_;
    Flavour flavour_;
    TileShapeProblem problem_;
    int symmetries_ = 0;  ///< so many variables are symmetric variables
    std::vector<int>
        place_;  ///< by symbol of symmetric variables: from the innermost outwards, 1, 2, ...
};

}  // namespace tile_shape_cases
