// Why one pair per product is enough (docs/ffm.md, 2.21): let e be the exponents of a prime in the
// products, from the innermost place outwards, and t its exponent in `top`. Exponents min(e, t) in
// the first chain and the rest in the second are chains again, as e does not fall outwards; the
// products, and with them all formulas, stay what they are.
#include "mapspace/tile_shapes_twins.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "tessera/model/formula_pool.hpp"

namespace tessera::mapspace {
namespace {

using model::Formula;

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
    // What encloses the first of twins is enumerated first: the fewer values, the better.
    std::stable_sort(out.begin(), out.end(), [&](const Chain& a, const Chain& b) {
        return symbols[static_cast<std::size_t>(a.front())].bound <
               symbols[static_cast<std::size_t>(b.front())].bound;
    });
    return out;
}

}  // namespace

std::vector<TwinSymbols> find_twins(const model::FormulaPool& pool,
                                    const TileShapeProblem& problem) {
    std::uint32_t limited = 0;
    for (const LoopLimit& limit : problem.loop_limits) {
        for (const LoopLimit::Loop& loop : limit.loops) {
            limited |= loop.own >= 0 ? 1u << loop.own : 0u;
            limited |= loop.outer >= 0 ? 1u << loop.outer : 0u;
        }
    }
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
    const auto twins = [&](int a, int b) {
        const TileShapeSymbol &x = problem.symbols[static_cast<std::size_t>(a)],
                              &y = problem.symbols[static_cast<std::size_t>(b)];
        return !x.fused && !y.fused && !x.only && !y.only && x.choice == TileChoice::divisors &&
               y.choice == TileChoice::divisors && !(limited >> a & 1u) && !(limited >> b & 1u) &&
               monomials.alike(a, b);
    };
    const auto common = [&](const Chain& a, const Chain& b) {
        std::size_t n = 0;
        while (n < a.size() && n < b.size() && twins(a[n], b[n])) {
            ++n;
        }
        return n;
    };
    // Groups of chains whose twins go equally far out.
    struct Group {
        std::vector<const Chain*> chains;
        std::size_t depth = 0;
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
    std::vector<TwinSymbols> out;
    for (const Group& g : groups) {
        for (std::size_t i = 0; i < g.chains.size(); ++i) {
            const Chain& first = *g.chains[i];
            // Unfused symbols outside of the twins would have to come first: not worth it.
            if (g.depth < first.size() &&
                !problem.symbols[static_cast<std::size_t>(first[g.depth])].fused) {
                continue;
            }
            for (std::size_t k = i + 1; k < g.chains.size(); ++k) {
                for (std::size_t n = 0; n < g.depth; ++n) {
                    out.push_back({first[n], (*g.chains[k])[n],
                                   g.depth < first.size() ? first[g.depth] : -1,
                                   problem.symbols[static_cast<std::size_t>(first[n])].bound});
                }
            }
        }
    }
    return out;
}

bool is_first_of_twins(double top, double first, double second) {
    if (second == 1.0 || top == first) {
        return true;
    }
    const auto left = static_cast<std::int64_t>(top / first);
    const auto taken = static_cast<std::int64_t>(second);
    return ((left | taken) & 1) != 0 && std::gcd(left, taken) == 1;
}

}  // namespace tessera::mapspace
