// Why one pair per product is enough (docs/ffm-proofs.md, 2.21): let e be the exponents of a prime
// in the products, from the innermost place outwards, and t its exponent in `top`. Exponents min(e,
// t) in the first chain and the rest in the second are chains again, as e does not fall outwards;
// the products, and with them all formulas, stay what they are.
//
//   find_symmetries      pairs that the enumeration reduces, and groups of fused symmetric ones
//   allowed_of_products  what of fused tile shapes the enumeration has to make
//   for_each_way         a row of fused symmetric variables as the rows that it stands for
#include "tile_shapes_symmetries.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "tessera/model/formula_pool.hpp"

namespace tessera::mapspace {
namespace {

using model::Formula;
using model::SymbolSet;

/// Exponents of all monomials, those inside of atoms included.
class Monomials {
public:
    explicit Monomials(const model::FormulaPool& pool) : pool_(pool) {}

    void add(const Formula& f) {
        if (pool_.is_max(f)) {
            for (const Formula& branch : pool_.branches(f)) {
                add(branch);
            }
            return;
        }
        for (const model::Term& term : pool_.terms(f)) {
            if (!seen_.insert(term.monomial).second) {
                continue;
            }
            const model::Monomial& m = pool_.monomial(term.monomial);
            all_.push_back(m.exponents);
            for (const model::AtomPower& power : pool_.atom_powers(m)) {
                for (const Formula& argument : pool_.atom(power.atom).arguments) {
                    add(argument);
                }
            }
        }
    }

    bool alike(int a, int b) const {
        return std::all_of(all_.begin(), all_.end(),
                           [&](const model::Exponents& e) { return e.get(a) == e.get(b); });
    }

private:
    const model::FormulaPool& pool_;
    std::unordered_set<model::MonomialId> seen_;
    std::vector<model::Exponents> all_;
};

/// Symbols of one variable, innermost first.
using Chain = std::vector<int>;

std::vector<Chain> chains_of(std::span<const TileShapeSymbol> symbols) {
    std::vector<Chain> out;
    for (std::size_t s = 0; s < symbols.size(); ++s) {
        if (symbols[s].inner < 0) {
            out.emplace_back();
            for (int i = static_cast<int>(s); i >= 0;
                 i = symbols[static_cast<std::size_t>(i)].outer) {
                out.back().push_back(i);
            }
        }
    }
    // What encloses the first of symmetric variables is enumerated first: the fewer values, the
    // better.
    std::stable_sort(out.begin(), out.end(), [&](const Chain& a, const Chain& b) {
        return symbols[static_cast<std::size_t>(a.front())].bound <
               symbols[static_cast<std::size_t>(b.front())].bound;
    });
    return out;
}

/// Whether the loop is one of the two of a chain of two fused symbols.
bool is_fused_loop(const LoopLimit::Loop& loop, std::span<const TileShapeSymbol> symbols) {
    const auto fused = [&](int s) { return s >= 0 && symbols[static_cast<std::size_t>(s)].fused; };
    return fused(loop.own) && (loop.outer < 0 || fused(loop.outer)) &&
           symbols[static_cast<std::size_t>(loop.own)].outer == loop.outer;
}

/// Symbols that limits on loops look at; `elsewhere`: but for limits of one loop among those of one
/// variable's fused symbols.
SymbolSet symbols_in_limits(const std::vector<LoopLimit>& limits, bool elsewhere,
                            std::span<const TileShapeSymbol> symbols) {
    SymbolSet out;
    for (const LoopLimit& limit : limits) {
        const bool one_of_two =
            limit.limit == 1 && limit.loops.size() == 2 &&
            std::ranges::all_of(limit.loops,
                                [&](const auto& l) { return is_fused_loop(l, symbols); }) &&
            (limit.loops[0].own == limit.loops[1].outer ||
             limit.loops[1].own == limit.loops[0].outer);
        for (const LoopLimit::Loop& loop : limit.loops) {
            if (!elsewhere || !one_of_two) {
                out |= SymbolSet::of(loop.own);
                out |= SymbolSet::of(loop.outer);
            }
        }
    }
    return out;
}

/// Behind the symmetric variables come two fused symbols, without other limits.
bool ends_in_two_fused(const Chain& chain, std::size_t symmetries,
                       std::span<const TileShapeSymbol> symbols, const SymbolSet& limited) {
    return chain.size() == symmetries + 2 &&
           std::all_of(chain.begin() + static_cast<std::ptrdiff_t>(symmetries), chain.end(),
                       [&](int s) {
                           const TileShapeSymbol& symbol = symbols[static_cast<std::size_t>(s)];
                           return symbol.fused && !symbol.only &&
                                  symbol.choice == TileChoice::divisors && !limited.has(s);
                       });
}

/// Chains whose symmetric variables go equally far out.
struct Group {
    std::vector<const Chain*> chains;
    std::size_t depth = 0;
};

/// The group's chains as fused symmetric variables, if fused symbols are the last of the symmetric
/// variables, or if two fused ones that are alike follow.
void add_fused_symmetries(const Group& group, std::span<const TileShapeSymbol> symbols,
                          const SymbolSet& limited, const Monomials& monomials,
                          std::vector<FusedSymmetries>& to) {
    FusedSymmetries out;
    const Chain& front = *group.chains.front();
    const bool last_is_fused =
        group.depth == front.size() && symbols[static_cast<std::size_t>(front.back())].fused;
    out.fused = last_is_fused ? 1 : 2;
    for (const Chain* chain : group.chains) {
        const auto alike = [&](const Chain& other) {
            return monomials.alike((*chain)[group.depth], other[group.depth]) &&
                   monomials.alike(chain->back(), other.back());
        };
        if (last_is_fused || (ends_in_two_fused(*chain, group.depth, symbols, limited) &&
                              std::ranges::all_of(out.chains, alike))) {
            out.chains.push_back(*chain);
        }
    }
    if (out.chains.size() > 1) {
        to.push_back(std::move(out));
    }
}

}  // namespace

bool FusedSymmetries::in_one_place(std::span<const TileShapeSymbol> symbols,
                                   const double* shapes) const {
    bool further_out = false, further_in = false;
    for (std::size_t c = 0; c < chains.size() && fused == 2; ++c) {
        const auto outer = static_cast<std::size_t>(chains[c].back());
        further_out = further_out || shapes[outer] != static_cast<double>(symbols[outer].bound);
        further_in = further_in || shapes[own(c)] != shapes[outer];
    }
    return !further_out || !further_in;
}

bool FusedSymmetries::counts(std::span<const TileShapeSymbol> symbols, const double* shapes) const {
    if (!in_one_place(symbols, shapes)) {
        return true;
    }
    for (std::size_t i = 0; i < chains.size(); ++i) {
        const auto bound = static_cast<double>(symbols[static_cast<std::size_t>(own(i))].bound);
        for (std::size_t k = i + 1; k < chains.size(); ++k) {
            if (!is_representative(bound, shapes[own(i)], shapes[own(k)])) {
                return false;
            }
        }
    }
    return true;
}

Symmetries find_symmetries(const model::FormulaPool& pool, const TileShapeProblem& problem,
                           bool fused) {
    const std::span<const TileShapeSymbol> symbols = problem.symbols;
    const SymbolSet limited = symbols_in_limits(problem.loop_limits, false, symbols);
    const SymbolSet limited_elsewhere = symbols_in_limits(problem.loop_limits, true, symbols);
    Monomials monomials(pool);
    for (const Formula& f : problem.objectives) {
        monomials.add(f);
    }
    for (const Formula& f : problem.incumbent.quantities) {
        monomials.add(f);
    }
    for (const TileShapeConstraint& c : problem.constraints) {
        monomials.add(c.formula);
    }
    for (const BestEffortMinimum& c : problem.best_effort) {
        monomials.add(c.formula);
    }
    const auto symmetries = [&](int a, int b) {
        const TileShapeSymbol &x = problem.symbols[static_cast<std::size_t>(a)],
                              &y = problem.symbols[static_cast<std::size_t>(b)];
        const bool alone = fused && x.outer < 0 && y.outer < 0;  // no fused symbol outside of it
        return x.fused == y.fused && (!x.fused || alone) && !x.only && !y.only &&
               x.choice == TileChoice::divisors && y.choice == TileChoice::divisors &&
               !limited.has(a) && !limited.has(b) && monomials.alike(a, b);
    };
    const auto common = [&](const Chain& a, const Chain& b) {
        std::size_t n = 0;
        while (n < a.size() && n < b.size() && symmetries(a[n], b[n])) {
            ++n;
        }
        return n;
    };
    const std::vector<Chain> chains = chains_of(problem.symbols);
    std::vector<Group> groups;
    for (const Chain& chain : chains) {
        const auto fits = [&](const Group& g) {
            return std::all_of(g.chains.begin(), g.chains.end(), [&](const Chain* other) {
                const std::size_t n = common(*other, chain);
                return n > 0 && (g.chains.size() == 1 || n == g.depth);
            });
        };
        const auto group = std::find_if(groups.begin(), groups.end(), fits);
        if (group == groups.end()) {
            groups.push_back({{&chain}, 0});
        } else {
            group->depth = common(*group->chains.front(), chain);
            group->chains.push_back(&chain);
        }
    }
    Symmetries out;
    for (const Group& g : groups) {
        if (fused) {
            add_fused_symmetries(g, symbols, limited_elsewhere, monomials, out.fused);
        }
        for (std::size_t i = 0; i < g.chains.size(); ++i) {
            const Chain& first = *g.chains[i];
            // Unfused symbols outside of the symmetric variables would have to come first: not
            // worth it.
            if (g.depth < first.size() &&
                !problem.symbols[static_cast<std::size_t>(first[g.depth])].fused) {
                continue;
            }
            for (std::size_t k = i + 1; k < g.chains.size(); ++k) {
                for (std::size_t n = 0; n < g.depth; ++n) {
                    out.pairs.push_back(
                        {first[n], (*g.chains[k])[n], g.depth < first.size() ? first[g.depth] : -1,
                         problem.symbols[static_cast<std::size_t>(first[n])].bound});
                }
            }
        }
    }
    return out;
}

namespace {

/// Where a table has the fused symbols of one place of a group's chains; `place` from outside.
std::vector<std::size_t> places_of(const AllowedShapes& table, const FusedSymmetries& group,
                                   std::size_t place) {
    std::vector<std::size_t> out;
    for (const Chain& chain : group.chains) {
        const auto at =
            std::find(table.symbols.begin(), table.symbols.end(), chain[chain.size() - 1 - place]);
        if (at != table.symbols.end()) {
            out.push_back(static_cast<std::size_t>(at - table.symbols.begin()));
        }
    }
    return out;
}

bool is_allowed(const AllowedShapes& table, const std::vector<double>& shapes) {
    std::size_t at = 0;
    for (std::size_t k = 0; k < table.symbols.size(); ++k) {
        const std::vector<double>& values = table.values[k];
        const double value = shapes[static_cast<std::size_t>(table.symbols[k])];
        const auto found = std::lower_bound(values.begin(), values.end(), value);
        at = at * values.size() + static_cast<std::size_t>(found - values.begin());
    }
    return table.allowed[at] != 0;
}

/// Allows every combination if one with the same product of the values in `places` is.
void allow_products(AllowedShapes& table, const std::vector<std::size_t>& places) {
    const std::size_t n = table.symbols.size();
    // A combination's number is the sum of a number of its places and one of the rest.
    std::vector<std::size_t> stride(n, 0), rest_stride(n, 0);
    std::size_t of_places = 1, of_rest = 1;
    for (std::size_t k = n; k-- > 0;) {
        const bool own = std::find(places.begin(), places.end(), k) != places.end();
        (own ? stride : rest_stride)[k] = own ? of_places : of_rest;
        (own ? of_places : of_rest) *= table.values[k].size();
    }
    std::vector<double> product(of_places, 1.0);
    for (std::size_t i = 0; i < of_places; ++i) {
        for (const std::size_t k : places) {
            product[i] *= table.values[k][i / stride[k] % table.values[k].size()];
        }
    }
    std::vector<double> distinct = product;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<std::size_t> number(of_places);
    for (std::size_t i = 0; i < of_places; ++i) {
        const auto at = std::lower_bound(distinct.begin(), distinct.end(), product[i]);
        number[i] = static_cast<std::size_t>(at - distinct.begin()) * of_rest;
    }
    std::vector<std::uint8_t> allowed(distinct.size() * of_rest, 0);
    for (const bool write : {false, true}) {
        std::vector<std::size_t> digit(n, 0);
        std::size_t own = 0, rest = 0;
        for (std::uint8_t& one : table.allowed) {
            std::uint8_t& all = allowed[number[own] + rest];
            (write ? one : all) |= write ? all : one;
            for (std::size_t k = n; k-- > 0;) {  // the next combination
                own += stride[k];
                rest += rest_stride[k];
                if (++digit[k] < table.values[k].size()) {
                    break;
                }
                own -= stride[k] * digit[k];
                rest -= rest_stride[k] * digit[k];
                digit[k] = 0;
            }
        }
    }
}

}  // namespace

std::vector<AllowedShapes> allowed_of_products(const std::vector<AllowedShapes>& allowed,
                                               const std::vector<FusedSymmetries>& symmetries) {
    std::vector<AllowedShapes> out;
    for (const AllowedShapes& table : allowed) {
        AllowedShapes of_products = table;
        bool whole = true;
        for (const FusedSymmetries& group : symmetries) {
            for (std::size_t place = 0; place < group.fused; ++place) {
                const std::vector<std::size_t> at = places_of(table, group, place);
                whole = whole && (at.empty() || at.size() == group.chains.size());
                if (whole && !at.empty()) {
                    allow_products(of_products, at);
                }
            }
        }
        if (whole) {
            out.push_back(std::move(of_products));
        }
    }
    return out;
}

namespace {

/// Ways to write the products of the groups from `group` on.
struct Ways {
    const std::vector<FusedSymmetries>& symmetries;
    std::span<const TileShapeSymbol> symbols;
    const std::vector<AllowedShapes>& allowed;
    std::vector<double>& shapes;
    DivisorCache& divisors;
    const std::function<void()>& row;

    void write(std::size_t group) {
        if (group == symmetries.size()) {
            if (std::ranges::all_of(allowed, [&](const AllowedShapes& table) {
                    return is_allowed(table, shapes);
                })) {
                row();
            }
            return;
        }
        const FusedSymmetries& g = symmetries[group];
        if (!g.in_one_place(symbols, shapes.data())) {
            write(group + 1);
            return;
        }
        const std::vector<double> before = shapes;
        // Where the loops stand; without any loop there is one way only.
        bool further_out = true;
        for (std::size_t c = 0; c < g.chains.size() && g.fused == 2; ++c) {
            further_out = further_out && shape(g.own(c)) == shape(g.chains[c].back());
        }
        std::vector<std::int64_t> products(g.chains.front().size() - g.fused + 1, 1);
        for (const Chain& chain : g.chains) {
            for (std::size_t n = 0; n < products.size(); ++n) {
                products[n] *= static_cast<std::int64_t>(shape(chain[n]));
            }
        }
        choose_fused(group, 0, further_out, products, products.back());
        shapes = before;
    }

    double& shape(int symbol) {
        return shapes[static_cast<std::size_t>(symbol)];
    }

    void choose_fused(std::size_t group, std::size_t c, bool further_out,
                      const std::vector<std::int64_t>& products, std::int64_t left) {
        const FusedSymmetries& g = symmetries[group];
        const std::int64_t bound = symbols[static_cast<std::size_t>(g.own(c))].bound;
        const bool last = c + 1 == g.chains.size();
        for (const double d : divisors.of(bound).divisors()) {
            const auto tile = static_cast<std::int64_t>(d);
            if (last ? tile != left : left % tile != 0) {
                continue;
            }
            shape(g.chains[c].back()) = further_out ? d : static_cast<double>(bound);
            shape(g.own(c)) = d;
            if (last) {
                split_inner(g, products);
                write(group + 1);
            } else {
                choose_fused(group, c + 1, further_out, products, left / tile);
            }
        }
    }

    /// Each chain in turn takes what it can.
    void split_inner(const FusedSymmetries& g, const std::vector<std::int64_t>& products) {
        for (std::size_t n = 0; n + 1 < products.size(); ++n) {
            std::int64_t left = products[n];
            for (std::size_t c = 0; c < g.chains.size(); ++c) {
                const std::int64_t taken =
                    std::gcd(left, static_cast<std::int64_t>(shape(g.own(c))));
                shape(g.chains[c][n]) = static_cast<double>(taken);
                left /= taken;
            }
        }
    }
};

}  // namespace

void for_each_way(const std::vector<FusedSymmetries>& symmetries,
                  std::span<const TileShapeSymbol> symbols,
                  const std::vector<AllowedShapes>& allowed, std::vector<double>& shapes,
                  DivisorCache& divisors, const std::function<void()>& row) {
    Ways{symmetries, symbols, allowed, shapes, divisors, row}.write(0);
}

bool is_representative(double top, double first, double second) {
    if (second == 1.0 || top == first) {
        return true;
    }
    const auto left = static_cast<std::int64_t>(top / first);
    const auto taken = static_cast<std::int64_t>(second);
    return ((left | taken) & 1) != 0 && std::gcd(left, taken) == 1;
}

}  // namespace tessera::mapspace
