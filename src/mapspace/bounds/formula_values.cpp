#include "formula_values.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera::mapspace {

using model::AtomKind;
using model::AtomPower;
using model::Formula;
using model::FormulaPool;
using model::SymbolSet;
using model::Term;

namespace {

Formula atom_with_values(FormulaPool& pool, model::AtomId id, const SymbolSet& fixed,
                         std::span<const double> values) {
    const AtomKind kind = pool.atom(id).kind;
    std::vector<Formula> arguments = pool.atom(id).arguments;  // what is made may move the atom
    for (Formula& f : arguments) {
        f = with_values(pool, f, fixed, values);
    }
    Formula out = arguments[0];
    switch (kind) {
        case AtomKind::ceil:
            return pool.ceil(out);
        case AtomKind::sum:
            return pool.whole(out);
        case AtomKind::leading:
            return model::leading(out, arguments[1], arguments[2]);
        case AtomKind::min:
        case AtomKind::max:
            break;
    }
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        out = kind == AtomKind::min ? model::min(out, arguments[i]) : model::max(out, arguments[i]);
    }
    return out;
}

/// Of the term, what is no plain number times a monomial that is left.
Formula term_with_values(FormulaPool& pool, const Term& term, const SymbolSet& fixed,
                         std::span<const double> values) {
    const model::Monomial monomial = pool.monomial(term.monomial);
    const std::vector<AtomPower> powers(pool.atom_powers(monomial).begin(),
                                        pool.atom_powers(monomial).end());
    model::Exponents exponents = monomial.exponents;
    double coefficient = term.coefficient;
    for (const int s : monomial.own_symbols() & fixed) {
        coefficient *= std::pow(values[static_cast<std::size_t>(s)], exponents.get(s));
        exponents.set(s, 0);
    }
    std::vector<AtomPower> rest;
    Formula factor(1.0);
    for (const AtomPower& p : powers) {
        if (!pool.atom(p.atom).mask.meets(fixed)) {
            rest.push_back(p);
            continue;
        }
        const Formula atom = atom_with_values(pool, p.atom, fixed, values);
        for (int e = 0; e < std::abs(p.exponent); ++e) {
            factor = p.exponent > 0 ? factor * atom : factor / atom;
        }
    }
    const Term plain{coefficient, pool.intern(exponents, pool.intern_atoms(rest))};
    return pool.polynomial_sorted({&plain, 1}) * factor;
}

}  // namespace

Formula with_values(FormulaPool& pool, const Formula& f, const SymbolSet& fixed,
                    std::span<const double> values) {
    if (!pool.mask(f).meets(fixed)) {
        return f;
    }
    if (pool.is_max(f)) {
        const std::vector<Formula> branches(pool.branches(f).begin(), pool.branches(f).end());
        Formula out = with_values(pool, branches[0], fixed, values);
        for (std::size_t b = 1; b < branches.size(); ++b) {
            out = model::max(out, with_values(pool, branches[b], fixed, values));
        }
        return out;
    }
    const std::vector<Term> terms(pool.terms(f).begin(), pool.terms(f).end());
    Formula out;
    for (const Term& t : terms) {
        out += term_with_values(pool, t, fixed, values);
    }
    return out;
}

}  // namespace tessera::mapspace
