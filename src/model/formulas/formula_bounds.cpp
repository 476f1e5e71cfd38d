#include <algorithm>
#include <cmath>
#include <limits>

#include "model/formula_sign.hpp"
#include "tessera/model/formula_pool.hpp"

// Value, enclosure, sign and monotonicity of formulas.
//
// Enclosures are computed term by term and widened by a bound of the rounding error, unless every
// number involved is an integer that double holds exactly. Signs are proven by covering negative
// terms with positive ones (formula_sign.hpp), which sees through M*N*K/k - M*N.

namespace tessera::model {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kExactLimit = 9007199254740992.0;  // 2^53

/// Product in which 0 * inf is 0: the zero is exact.
double times(double a, double b) {
    return a == 0.0 || b == 0.0 ? 0.0 : a * b;
}

Interval times(const Interval& a, const Interval& b) {
    if (a.lo >= 0.0 && b.lo >= 0.0) {
        return {times(a.lo, b.lo), times(a.hi, b.hi)};
    }
    const double vertices[] = {times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo),
                               times(a.hi, b.hi)};
    return {*std::min_element(vertices, vertices + 4), *std::max_element(vertices, vertices + 4)};
}

double integer_power(double base, int exponent) {
    double result = 1.0;
    for (int e = 0; e < exponent; ++e) {
        result *= base;
    }
    return result;
}

/// Power of an interval, exponent > 0.
Interval positive_power(const Interval& x, int exponent) {
    if (exponent == 1) {
        return x;
    }
    const double lo = integer_power(x.lo, exponent);
    const double hi = integer_power(x.hi, exponent);
    if (exponent % 2 == 1 || x.lo >= 0.0) {
        return {lo, hi};
    }
    return x.hi <= 0.0 ? Interval{hi, lo} : Interval{0.0, std::max(lo, hi)};
}

struct Bounder {
    const FormulaPool& pool;
    std::span<const Interval> box;  ///< shorter than the symbols used: [1, inf)

    Interval symbol(int s) const {
        return static_cast<std::size_t>(s) < box.size() ? box[s] : Interval{1.0, kInfinity};
    }

    Interval leading(const Atom& a) const {
        const Interval count = formula(a.arguments[0]);
        const Interval period = formula(a.arguments[1]);
        const Interval own = formula(a.arguments[2]);
        return {model::leading(count.lo, period.hi, own.lo),
                model::leading(count.hi, period.lo, own.hi)};
    }

    Interval atom(const Atom& a) const {
        if (a.kind == AtomKind::leading) {
            return leading(a);
        }
        Interval result = formula(a.arguments[0]);
        for (const Formula& argument : a.arguments) {
            const Interval x = formula(argument);
            if (a.kind == AtomKind::min) {
                result = {std::min(result.lo, x.lo), std::min(result.hi, x.hi)};
            } else if (a.kind == AtomKind::max) {
                result = {std::max(result.lo, x.lo), std::max(result.hi, x.hi)};
            }
        }
        return a.kind == AtomKind::ceil ? Interval{model::ceil(result.lo), model::ceil(result.hi)}
                                        : result;
    }

    /// Enclosure of exponents and atoms; `exact` is cleared when rounding may have occurred.
    Interval monomial(const Exponents& exponents, const SymbolSet& symbols,
                      std::span<const AtomPower> atoms, bool& exact) const {
        Interval over{1.0, 1.0};
        Interval under{1.0, 1.0};
        for (const int s : symbols) {
            if (const int e = exponents.get(s); e > 0) {
                over = times(over, positive_power(symbol(s), e));
            } else if (e < 0) {
                under = times(under, positive_power(symbol(s), -e));
            }
        }
        for (const AtomPower& p : atoms) {
            exact = false;
            const Interval x = positive_power(atom(pool.atom(p.atom)), std::abs(p.exponent));
            (p.exponent > 0 ? over : under) = times(p.exponent > 0 ? over : under, x);
        }
        if (under.lo <= 0.0 && under.hi >= 0.0) {
            return {-kInfinity, kInfinity};
        }
        const Interval result = times(over, Interval{1.0 / under.hi, 1.0 / under.lo});
        if (under.hi != 1.0 || over.hi > kExactLimit) {
            // A quotient of integers is correctly rounded, but its reciprocal above was not.
            const Interval direct{over.lo / under.hi, over.hi / under.lo};
            exact = exact && over.lo >= 0.0 && over.hi <= kExactLimit && under.lo > 0.0 &&
                    direct.lo == std::floor(direct.lo) && direct.hi == std::floor(direct.hi);
            return over.lo >= 0.0 && under.lo > 0.0 && std::isfinite(direct.lo) ? direct : result;
        }
        exact = exact && result.lo == std::floor(result.lo) && result.hi == std::floor(result.hi);
        return result;
    }

    Interval polynomial(std::span<const Term> terms) const {
        Interval sum{0.0, 0.0};
        double magnitude = 0.0;
        bool exact = true;
        for (const Term& term : terms) {
            const Monomial& m = pool.monomial(term.monomial);
            const Interval x =
                times(Interval{term.coefficient, term.coefficient},
                      monomial(m.exponents, m.own_symbols(), pool.atom_powers(m), exact));
            sum = {sum.lo + x.lo, sum.hi + x.hi};
            const double size = std::max(std::abs(x.lo), std::abs(x.hi));
            magnitude += std::isfinite(size) ? size : 0.0;
            exact = exact && term.coefficient == std::floor(term.coefficient);
        }
        if (!exact || magnitude > kExactLimit) {
            const double slack = magnitude * 1e-15 * (8.0 + static_cast<double>(terms.size()));
            sum = {sum.lo - slack, sum.hi + slack};
        }
        return {std::isnan(sum.lo) ? -kInfinity : sum.lo, std::isnan(sum.hi) ? kInfinity : sum.hi};
    }

    Interval formula(const Formula& f) const {
        if (f.is_constant()) {
            return {f.constant_value(), f.constant_value()};
        }
        if (!pool.is_max(f)) {
            return polynomial(pool.terms(f));
        }
        Interval result{-kInfinity, -kInfinity};
        for (const Formula& branch : pool.branches(f)) {
            const Interval x = formula(branch);
            result = {std::max(result.lo, x.lo), std::max(result.hi, x.hi)};
        }
        return result;
    }

    bool positive_monomial(MonomialId id) const {
        const std::span<const AtomPower> atoms = pool.atom_powers(pool.monomial(id));
        return std::ranges::all_of(atoms, [this](const AtomPower& p) {
            const double lo = atom(pool.atom(p.atom)).lo;
            return p.exponent > 0 ? lo >= 0.0 : lo > 0.0;
        });
    }

    /// Lower bound of a quotient of monomials. Equal atoms cancel, other atoms are enclosed.
    double ratio_low(MonomialId over, MonomialId under) const {
        const Monomial& a = pool.monomial(over);
        const Monomial& b = pool.monomial(under);
        const SymbolSet symbols = a.own_symbols() | b.own_symbols();
        Exponents exponents;
        bool falls = false;
        for (const int s : symbols) {
            const int e = a.exponents.get(s) - b.exponents.get(s);
            exponents.set(s, e);
            falls = falls || e < 0;
        }
        if (box.empty() && a.atoms == b.atoms) {
            return falls ? 0.0 : 1.0;  // of symbols from 1 to infinity
        }
        std::vector<AtomPower> atoms;
        if (a.atoms != b.atoms) {
            atoms.assign(pool.atom_powers(a).begin(), pool.atom_powers(a).end());
            for (AtomPower p : pool.atom_powers(b)) {
                p.exponent = -p.exponent;
                atoms.push_back(p);
            }
        }
        bool exact = true;
        return monomial(exponents, symbols, atoms, exact).lo;
    }

    bool not_negative(std::span<const Term> terms) const {
        bool any_negative = false;
        for (const Term& term : terms) {
            any_negative = any_negative || term.coefficient < 0.0;
            if (!positive_monomial(term.monomial)) {
                return polynomial(terms).lo >= 0.0;
            }
        }
        if (!any_negative) {
            return true;
        }
        std::vector<double> shares;
        return covers_negative_terms(
                   terms, [this](MonomialId p, MonomialId n) { return ratio_low(p, n); }, shares) ||
               polynomial(terms).lo >= 0.0;
    }

    Monotone atom_direction(const Atom& a, int index) const {
        Monotone all = Monotone::constant;
        for (std::size_t i = 0; i < a.arguments.size(); ++i) {
            const Monotone own = direction(a.arguments[i], index);
            all = both(all, a.rises_with(i) ? own : flip(own));
        }
        return all;
    }

    static Monotone both(Monotone a, Monotone b) {
        if (a == Monotone::constant || a == b) {
            return b;
        }
        return b == Monotone::constant ? a : Monotone::unknown;
    }

    static Monotone flip(Monotone a) {
        return a == Monotone::increasing   ? Monotone::decreasing
               : a == Monotone::decreasing ? Monotone::increasing
                                           : a;
    }

    /// A term in which an atom depends on the symbol: factor by factor.
    Monotone term_direction(const Term& term, int index) const {
        if (!positive_monomial(term.monomial)) {
            return Monotone::unknown;
        }
        const Monomial& m = pool.monomial(term.monomial);
        const int e = m.exponents.get(index);
        Monotone all = e > 0   ? Monotone::increasing
                       : e < 0 ? Monotone::decreasing
                               : Monotone::constant;
        for (const AtomPower& p : pool.atom_powers(m)) {
            const Monotone d = atom_direction(pool.atom(p.atom), index);
            all = both(all, p.exponent > 0 ? d : flip(d));
        }
        return term.coefficient < 0.0 ? flip(all) : all;
    }

    Monotone direction(const Formula& f, int index) const {
        if (!f.depends_on().has(index)) {
            return Monotone::constant;
        }
        Monotone all = Monotone::constant;
        if (pool.is_max(f)) {
            for (const Formula& branch : pool.branches(f)) {
                all = both(all, direction(branch, index));
            }
            return all;
        }
        // s * d/ds of the atom-free terms has the same monomials, scaled by the exponent.
        std::vector<Term> slope;
        for (const Term& term : pool.terms(f)) {
            const Monomial& m = pool.monomial(term.monomial);
            const bool through_atom = std::ranges::any_of(
                pool.atom_powers(m),
                [&](const AtomPower& p) { return pool.atom(p.atom).mask.has(index); });
            if (through_atom) {
                all = both(all, term_direction(term, index));
            } else if (const int e = m.exponents.get(index); e != 0) {
                slope.push_back({term.coefficient * e, term.monomial});
            }
        }
        if (slope.empty()) {
            return all;
        }
        if (not_negative(slope)) {
            return both(all, Monotone::increasing);
        }
        for (Term& term : slope) {
            term.coefficient = -term.coefficient;
        }
        return both(all, not_negative(slope) ? Monotone::decreasing : Monotone::unknown);
    }
};

double value_of(const FormulaPool& pool, const Formula& f, std::span<const double> symbols);

double atom_value(const FormulaPool& pool, const Atom& atom, std::span<const double> symbols) {
    double result = value_of(pool, atom.arguments[0], symbols);
    if (atom.kind == AtomKind::leading) {
        return leading(result, value_of(pool, atom.arguments[1], symbols),
                       value_of(pool, atom.arguments[2], symbols));
    }
    for (const Formula& argument : atom.arguments) {
        const double x = value_of(pool, argument, symbols);
        if (atom.kind == AtomKind::min) {
            result = min(result, x);
        } else if (atom.kind == AtomKind::max) {
            result = max(result, x);
        }
    }
    return atom.kind == AtomKind::ceil ? model::ceil(result) : result;
}

double value_of(const FormulaPool& pool, const Formula& f, std::span<const double> symbols) {
    if (f.is_constant()) {
        return f.constant_value();
    }
    if (pool.is_max(f)) {
        double result = -kInfinity;
        for (const Formula& branch : pool.branches(f)) {
            result = max(result, value_of(pool, branch, symbols));
        }
        return result;
    }
    double sum = 0.0;
    for (const Term& term : pool.terms(f)) {
        const Monomial& m = pool.monomial(term.monomial);
        // One division at the end: quotients of integers that are whole stay whole.
        double over = term.coefficient;
        double under = 1.0;
        for (const int s : m.mask) {
            if (const int e = m.exponents.get(s); e > 0) {
                over *= integer_power(symbols[s], e);
            } else if (e < 0) {
                under *= integer_power(symbols[s], -e);
            }
        }
        for (const AtomPower& p : pool.atom_powers(m)) {
            const double x = atom_value(pool, pool.atom(p.atom), symbols);
            (p.exponent > 0 ? over : under) *= integer_power(x, std::abs(p.exponent));
        }
        sum += under == 1.0 ? over : over / under;
    }
    return sum;
}

}  // namespace

bool FormulaPool::not_negative(const Formula& f) const {
    const Bounder bounder{*this, {}};
    if (f.is_constant()) {
        return f.constant_value() >= 0.0;
    }
    return is_max(f) ? bounder.formula(f).lo >= 0.0 : bounder.not_negative(terms(f));
}

SymbolSet Formula::depends_on() const {
    return id_ == 0 ? SymbolSet{} : FormulaPool::current().mask(*this);
}

double Formula::value(std::span<const double> symbols) const {
    return id_ == 0 ? value_ : value_of(FormulaPool::current(), *this, symbols);
}

Interval Formula::bounds(std::span<const Interval> box) const {
    if (id_ == 0) {
        return {value_, value_};
    }
    const FormulaPool& pool = FormulaPool::current();
    const Interval whole = Bounder{pool, box}.formula(*this);
    // Where the direction in a symbol is known, each end of the enclosure is attained at one end
    // of that symbol's interval; this undoes most of the widening by repeated symbols.
    std::vector<Interval> low(box.begin(), box.end());
    std::vector<Interval> high = low;
    for (std::size_t s = 0; s < box.size(); ++s) {
        const Monotone d = monotone_in(static_cast<int>(s), box);
        if (d == Monotone::increasing) {
            low[s].hi = low[s].lo;
            high[s].lo = high[s].hi;
        } else if (d == Monotone::decreasing) {
            low[s].lo = low[s].hi;
            high[s].hi = high[s].lo;
        }
    }
    return {std::max(whole.lo, Bounder{pool, low}.formula(*this).lo),
            std::min(whole.hi, Bounder{pool, high}.formula(*this).hi)};
}

Monotone Formula::monotone_in(int index, std::span<const Interval> box) const {
    return id_ == 0 ? Monotone::constant
                    : Bounder{FormulaPool::current(), box}.direction(*this, index);
}

}  // namespace tessera::model
