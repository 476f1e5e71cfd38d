#include "tile_shapes_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "model/formula_sign.hpp"

namespace tessera::mapspace {

using model::Atom;
using model::AtomKind;
using model::AtomPower;
using model::Exponents;
using model::Formula;
using model::Monomial;
using model::MonomialId;
using model::SymbolSet;
using model::Term;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Ratios this close are the same.
constexpr double tie = 1e-9;

}  // namespace

std::span<const Term> plain_terms(const model::FormulaPool& pool, const Formula& f) {
    const std::span<const Term> terms = pool.terms(f);
    const bool plain = std::ranges::all_of(terms, [&](const Term& t) { return is_plain(pool, t); });
    return plain ? terms : std::span<const Term>();
}

ChainBounds::ChainBounds(model::FormulaPool& pool, std::span<const TileShapeSymbol> symbols,
                         bool vertices)
    : pool_(pool), symbols_(symbols), vertices_(vertices) {
    for (std::size_t s = 0; s < symbols.size(); ++s) {
        if (symbols[s].outer < 0) {
            for (int i = static_cast<int>(s); i >= 0; i = symbols[i].inner) {
                outside_in_.push_back(i);
            }
        }
    }
}

/// Whether the atoms of one monomial over those of another make 1 or more: further ceilings.
bool ChainBounds::at_least_one(const Monomial& over, const Monomial& under) const {
    const auto count = [this](const Monomial& m, model::AtomId atom) {
        for (const AtomPower& p : pool_.atom_powers(m)) {
            if (p.atom == atom) {
                return static_cast<int>(p.exponent);
            }
        }
        return 0;
    };
    for (const AtomPower& p : pool_.atom_powers(under)) {
        const int more = count(over, p.atom) - p.exponent;
        if (more < 0 || (more > 0 && !is_smooth(pool_, p.atom))) {
            return false;
        }
    }
    for (const AtomPower& p : pool_.atom_powers(over)) {
        const int more = p.exponent - count(under, p.atom);
        if (more < 0 || (more > 0 && !is_smooth(pool_, p.atom))) {
            return false;
        }
    }
    return true;
}

/// Replaces ceilings that depend on unknown symbols by what they round up, and `leading` by its
/// average, where that cannot raise the sum: its slope in each of them, wherever all are 1 or more,
/// is not negative. Unlike their least values one by one, trips and tile shapes of one chain then
/// cancel out.
void ChainBounds::drop_ceilings(std::vector<Term>& terms, const SymbolSet& known) {
    std::vector<model::AtomId> dropped;
    const auto low = [this](MonomialId p, MonomialId n) { return ratio_low(p, n); };
    for (const Term& term : terms) {
        for (const AtomPower& p : pool_.atom_powers(pool_.monomial(term.monomial))) {
            if (known.contains(pool_.atom(p.atom).mask) || !is_smooth(pool_, p.atom) ||
                std::find(dropped.begin(), dropped.end(), p.atom) != dropped.end()) {
                continue;
            }
            slope_.clear();
            for (const Term& other : terms) {
                for (const AtomPower& q : pool_.atom_powers(pool_.monomial(other.monomial))) {
                    if (q.atom == p.atom) {
                        slope_.push_back({other.coefficient * q.exponent, other.monomial});
                    }
                }
            }
            if (model::covers_negative_terms(slope_, low, shares_)) {
                dropped.push_back(p.atom);
            }
        }
    }
    if (dropped.empty()) {
        return;
    }
    for (Term& term : terms) {
        const Monomial monomial = pool_.monomial(term.monomial);
        std::vector<AtomPower> rest;
        std::vector<AtomPower> gone;
        for (const AtomPower& p : pool_.atom_powers(monomial)) {
            const bool drop = std::find(dropped.begin(), dropped.end(), p.atom) != dropped.end();
            (drop ? gone : rest).push_back(p);
        }
        if (gone.empty()) {
            continue;
        }
        term.monomial = pool_.intern(monomial.exponents, pool_.intern_atoms(rest));
        for (const AtomPower& p : gone) {
            const Term inside = smooth_below(pool_, p.atom);
            for (int e = 0; e < std::abs(p.exponent); ++e) {
                term.coefficient = p.exponent > 0 ? term.coefficient * inside.coefficient
                                                  : term.coefficient / inside.coefficient;
            }
            term.monomial = pool_.product(term.monomial, pool_.power(inside.monomial, p.exponent));
        }
    }
    merge(terms);
}

double ChainBounds::ratio_low(MonomialId over, MonomialId under) const {
    const Monomial& a = pool_.monomial(over);
    const Monomial& b = pool_.monomial(under);
    if (over == under) {
        return 1.0;
    }
    if (a.atoms != b.atoms && !at_least_one(a, b)) {
        return 0.0;  // nothing known; a share of 0 proves nothing and harms nothing
    }
    double low = 1.0;
    int sum = 0;
    int least = 0;
    for (const int s : outside_in_) {
        if (symbols_[s].outer < 0) {
            sum = 0;
            least = 0;
        }
        sum += a.exponents.get(s) - b.exponents.get(s);
        least = std::min(least, sum);
        if (symbols_[s].inner < 0 && least < 0) {
            low /= integer_power(static_cast<double>(symbols_[s].bound), -least);
        }
    }
    return low;
}

/// The ratio where all loops of a variable have the same trips, and as many are left inside them.
double ChainBounds::middle_ratio(MonomialId over, MonomialId under) const {
    const Exponents& a = pool_.monomial(over).exponents;
    const Exponents& b = pool_.monomial(under).exponents;
    double logarithm = 0.0, outside = 0.0, sum = 0.0;  // of one chain
    for (const int s : outside_in_) {
        const TileShapeSymbol& symbol = symbols_[static_cast<std::size_t>(s)];
        outside = symbol.outer < 0 ? 1.0 : outside + 1.0;
        const int e = a.get(s) - b.get(s);
        sum = (symbol.outer < 0 ? 0.0 : sum) + e * outside;
        logarithm += e * std::log(static_cast<double>(symbol.bound));
        if (symbol.inner < 0) {
            logarithm -= sum / (outside + 1.0) * std::log(static_cast<double>(symbol.bound));
        }
    }
    return std::exp(logarithm);
}

/// +1 if the sum of terms cannot fall when the symbol grows, -1 if it cannot rise, 0 if unproven.
int ChainBounds::direction(std::span<const Term> terms, int symbol) {
    slope_.clear();
    bool rises = false;
    bool falls = false;
    bool mixed = false;
    for (const Term& term : terms) {
        // s * d/ds: the same monomials with the coefficients multiplied by the exponents.
        if (const int e = pool_.monomial(term.monomial).exponents.get(symbol); e != 0) {
            slope_.push_back({term.coefficient * e, term.monomial});
            (slope_.back().coefficient > 0.0 ? rises : falls) = true;
            mixed = mixed || term.coefficient < 0.0;
        }
    }
    if (!falls) {
        return 1;
    }
    if (!rises) {
        return -1;
    }
    const auto low = [this](MonomialId p, MonomialId n) { return ratio_low(p, n); };
    const auto rising = [&] { return model::covers_negative_terms(slope_, low, shares_); };
    const auto turn = [this] {
        for (Term& term : slope_) {
            term.coefficient = -term.coefficient;
        }
    };
    if (rising()) {
        return 1;
    }
    turn();
    if (rising()) {
        return -1;
    }
    // Positive terms that pull in different directions are no matter of proof.
    if (!mixed) {
        return 0;
    }
    if (never_negative(slope_)) {
        return -1;
    }
    turn();
    return never_negative(slope_) ? 1 : 0;
}

/// Replaces the symbol by a neighbour (-1: bound or 1): all terms at once if the direction of the
/// sum is known, else part by part, else each term by its own direction.
void ChainBounds::eliminate(std::vector<Term>& terms, int symbol, int outer, int inner, Side side) {
    if (const int whole = direction(terms, symbol); whole != 0) {
        eliminate_from(terms, symbol, whole, outer, inner, side);
        merge(terms);
        return;
    }
    std::vector<Term> with, rest;
    bool mixed = false;
    for (const Term& t : terms) {
        const bool occurs = pool_.monomial(t.monomial).exponents.get(symbol) != 0;
        (occurs ? with : rest).push_back(t);
        mixed = mixed || (occurs && t.coefficient < 0.0);
    }
    if (!mixed || !vertices_) {
        eliminate_from(with, symbol, 0, outer, inner, side);
        rest.insert(rest.end(), with.begin(), with.end());
    } else {
        std::vector<int> part;
        find_parts(with, part);
        std::vector<Term> one;
        for (std::size_t p = 0; p < with.size(); ++p) {
            one.clear();
            for (std::size_t i = 0; i < with.size(); ++i) {
                if (part[i] == static_cast<int>(p)) {
                    one.push_back(with[i]);
                }
            }
            if (!one.empty()) {
                eliminate_from(one, symbol, direction(one, symbol), outer, inner, side);
                rest.insert(rest.end(), one.begin(), one.end());
            }
        }
    }
    terms.swap(rest);
    merge(terms);
}

/// `rise`: +1 if the sum of the terms cannot fall when the symbol grows, -1 if it cannot rise, 0:
/// each term by its own direction.
void ChainBounds::eliminate_from(std::vector<Term>& terms, int symbol, int rise, int outer,
                                 int inner, Side side) {
    for (Term& term : terms) {
        Exponents exponents = pool_.monomial(term.monomial).exponents;
        const int e = exponents.get(symbol);
        if (e == 0) {
            continue;
        }
        const int own = rise != 0 ? rise : (term.coefficient * e > 0.0 ? 1 : -1);
        const bool go_inward = (own > 0) == (side == Side::low);
        exponents.set(symbol, 0);
        if (const int neighbour = go_inward ? inner : outer; neighbour >= 0) {
            exponents.set(neighbour, exponents.get(neighbour) + e);
        } else if (!go_inward) {
            const double power =
                integer_power(static_cast<double>(symbols_[symbol].bound), std::abs(e));
            term.coefficient = e > 0 ? term.coefficient * power : term.coefficient / power;
        }
        term.monomial = pool_.intern(exponents, pool_.monomial(term.monomial).atoms);
    }
}

void ChainBounds::merge(std::vector<Term>& terms) const {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        std::size_t j = 0;
        while (j < kept && terms[j].monomial != terms[i].monomial) {
            ++j;
        }
        if (j < kept) {
            terms[j].coefficient += terms[i].coefficient;
        } else {
            terms[kept++] = terms[i];
        }
    }
    terms.resize(kept);
    std::erase_if(terms, [](const Term& t) { return t.coefficient == 0.0; });
}

bool ChainBounds::surely_positive(const Formula& f) {
    if (f.is_constant()) {
        return f.constant_value() > 0.0;
    }
    return !plain_terms(pool_, f).empty() || pool_.not_negative(f - 1.0);
}

bool ChainBounds::atom_not_negative(model::AtomId id, bool positive) {
    std::vector<std::optional<bool>>& known = proven_[positive ? 1 : 0];
    if (id < known.size() && known[id]) {
        return *known[id];
    }
    const bool proven = prove_not_negative(id, positive);
    known.resize(std::max<std::size_t>(known.size(), id + 1));
    known[id] = proven;
    return proven;
}

bool ChainBounds::prove_not_negative(model::AtomId id, bool positive) {
    const AtomKind kind = pool_.atom(id).kind;
    const std::vector<Formula> arguments = pool_.atom(id).arguments;  // proofs may add atoms
    const auto fits = [&](const Formula& f) {
        // ceil of something positive is at least 1.
        return surely_positive(f) || (!positive && pool_.not_negative(f));
    };
    return kind == AtomKind::max ? std::any_of(arguments.begin(), arguments.end(), fits)
                                 : std::all_of(arguments.begin(), arguments.end(), fits);
}

Formula ChainBounds::bound_atom(model::AtomId id, const SymbolSet& known, Side side) {
    const AtomKind kind = pool_.atom(id).kind;
    const std::vector<Formula> arguments = pool_.atom(id).arguments;
    if (kind == AtomKind::leading) {
        return model::leading(bound(arguments[0], known, side),
                              bound(arguments[1], known, opposite(side)),
                              bound(arguments[2], known, side));
    }
    Formula result = bound(arguments[0], known, side);
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const Formula next = bound(arguments[i], known, side);
        result = kind == AtomKind::min ? model::min(result, next) : model::max(result, next);
    }
    return kind == AtomKind::ceil ? model::ceil(result) : result;
}

/// Replaces every atom that depends on unknown symbols by its extreme. False if a sign is unknown.
bool ChainBounds::bound_atoms(std::vector<Term>& terms, const SymbolSet& known, Side side) {
    const auto has_atoms = [this](const Term& t) { return pool_.monomial(t.monomial).atoms != 0; };
    if (std::ranges::none_of(terms, has_atoms)) {
        return true;
    }
    Formula sum;
    bool any = false;
    for (const Term& term : terms) {
        const Monomial monomial = pool_.monomial(term.monomial);
        const std::vector<AtomPower> powers(pool_.atom_powers(monomial).begin(),
                                            pool_.atom_powers(monomial).end());
        std::vector<AtomPower> rest;
        Formula factor(1.0);
        for (const AtomPower& p : powers) {
            // Directions below assume that everything else in the term is not negative.
            if (!known.contains(monomial.mask) && !atom_not_negative(p.atom, p.exponent < 0)) {
                return false;
            }
            if (known.contains(pool_.atom(p.atom).mask)) {
                rest.push_back(p);
                continue;
            }
            any = true;
            const bool same_way = (term.coefficient > 0.0) == (p.exponent > 0);
            const Formula extreme = bound_atom(p.atom, known, same_way ? side : opposite(side));
            if (extreme.is_constant() && !std::isfinite(extreme.constant_value())) {
                return false;
            }
            for (int e = 0; e < std::abs(p.exponent); ++e) {
                factor = p.exponent > 0 ? factor * extreme : factor / extreme;
            }
        }
        const Term plain{term.coefficient,
                         pool_.intern(monomial.exponents, pool_.intern_atoms(rest))};
        sum += pool_.polynomial_sorted({&plain, 1}) * factor;
    }
    if (!any) {
        return true;
    }
    if (pool_.is_max(sum)) {
        return false;
    }
    if (sum.is_constant()) {
        terms.assign(1, {sum.constant_value(), 0});
    } else {
        terms.assign(pool_.terms(sum).begin(), pool_.terms(sum).end());
    }
    return true;
}

Formula ChainBounds::bound_polynomial(const Formula& f, const SymbolSet& known, Side side) {
    std::vector<Term> terms = std::move(spare_);  // atoms come back here: take it, give it back
    terms.assign(pool_.terms(f).begin(), pool_.terms(f).end());
    const bool has_atoms = std::any_of(terms.begin(), terms.end(), [this](const Term& t) {
        return pool_.monomial(t.monomial).atoms != 0;
    });
    if (has_atoms && side == Side::low) {
        drop_ceilings(terms, known);
    }
    if (has_atoms && !bound_atoms(terms, known, side)) {
        return Formula(side == Side::low ? -kInfinity : kInfinity);
    }
    // Outside in; the neighbours of an eliminated symbol become neighbours of each other.
    int outer[model::kMaxSymbols];
    int inner[model::kMaxSymbols];
    for (std::size_t s = 0; s < symbols_.size(); ++s) {
        outer[s] = symbols_[s].outer;
        inner[s] = symbols_[s].inner;
    }
    for (const int s : outside_in_) {
        if (known.has(s)) {
            continue;
        }
        const bool occurs = std::any_of(terms.begin(), terms.end(), [&](const Term& t) {
            return pool_.monomial(t.monomial).mask.has(s);
        });
        if (occurs) {
            eliminate(terms, s, outer[s], inner[s], side);
        }
        if (outer[s] >= 0) {
            inner[outer[s]] = inner[s];
        }
        if (inner[s] >= 0) {
            outer[inner[s]] = outer[s];
        }
    }
    const Formula result = pool_.polynomial(terms);
    spare_ = std::move(terms);
    return result;
}

/// A part such as (2 - 1/p) (2 - 1/q), which rises with p: it is least where p is. Negative terms
/// then meet the positive ones that they belong to.
void ChainBounds::eliminate_rising(std::vector<Term>& terms) {
    if (std::ranges::none_of(terms, [](const Term& t) { return t.coefficient < 0.0; })) {
        return;
    }
    std::vector<int> part;
    find_parts(terms, part);
    for (const int s : outside_in_) {
        for (std::size_t i = 0; i < terms.size();) {
            const bool gone = terms[i].coefficient < 0.0 &&
                              pool_.monomial(terms[i].monomial).mask.has(s) &&
                              eliminate_rising(terms, part, part[i], s);
            if (gone) {
                find_parts(terms, part);
            }
            i = gone ? 0 : i + 1;
        }
    }
}

/// Of one part. False if it is not known to rise.
bool ChainBounds::eliminate_rising(std::vector<Term>& terms, std::span<const int> part, int of,
                                   int symbol) {
    slope_.clear();
    for (std::size_t i = 0; i < terms.size(); ++i) {
        const int e = pool_.monomial(terms[i].monomial).exponents.get(symbol);
        if (part[i] == of && e != 0) {
            slope_.push_back({terms[i].coefficient * e, terms[i].monomial});
        }
    }
    const auto low = [this](MonomialId p, MonomialId n) { return ratio_low(p, n); };
    if (slope_.empty() || !model::covers_negative_terms(slope_, low, shares_)) {
        return false;
    }
    std::vector<Term> one, rest;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        (part[i] == of ? one : rest).push_back(terms[i]);
    }
    const TileShapeSymbol& known = symbols_[static_cast<std::size_t>(symbol)];
    eliminate_from(one, symbol, 1, known.outer, known.inner, Side::low);
    rest.insert(rest.end(), one.begin(), one.end());
    terms.swap(rest);
    merge(terms);
    return true;
}

/// c m - d n >= (c - d / low) m where m >= low n: positive terms pay for negative ones, as far as
/// they can. At (m, n) this takes (m / (low n) - 1) d n too much. True if there was a choice.
bool ChainBounds::pay_negative_terms(std::vector<Term>& terms, CompensatingTerm rule) const {
    bool choice = false;
    for (Term& negative : terms) {
        while (negative.coefficient < 0.0 && negative.monomial != 0) {
            Term* compensating_term = nullptr;
            double best = 0.0, least_excess = kInfinity;
            for (Term& t : terms) {
                const bool pays = t.coefficient > 0.0 && t.monomial != 0;
                const double low = pays ? ratio_low(t.monomial, negative.monomial) : 0.0;
                if (!(low > 0.0)) {
                    continue;
                }
                const double middle = rule == CompensatingTerm::closest
                                          ? middle_ratio(t.monomial, negative.monomial)
                                          : 1.0;
                choice = choice || compensating_term != nullptr;
                if (middle / low < least_excess * (1 - tie)) {
                    best = low;
                    least_excess = middle / low;
                    compensating_term = &t;
                }
            }
            if (compensating_term == nullptr) {
                break;
            }
            const bool all = compensating_term->coefficient * best >= -negative.coefficient;
            const double left = compensating_term->coefficient + negative.coefficient / best;
            negative.coefficient =
                all ? 0.0 : negative.coefficient + compensating_term->coefficient * best;
            compensating_term->coefficient = all ? std::max(0.0, left) : 0.0;
        }
    }
    std::erase_if(terms, [](const Term& t) { return t.coefficient == 0.0; });
    return choice;
}

std::optional<ChainBounds::PlainSum> ChainBounds::plain_below(const Formula& f,
                                                              CompensatingTerm compensating_term) {
    PlainSum out;
    if (f.is_constant()) {
        out.constant = f.constant_value();
        return out;
    }
    std::vector<Term> terms(pool_.terms(f).begin(), pool_.terms(f).end());
    drop_ceilings(terms, {});
    if (!bound_atoms(terms, {}, Side::low)) {
        return std::nullopt;
    }
    merge(terms);
    eliminate_rising(terms);
    out.choice = pay_negative_terms(terms, compensating_term);
    for (const Term& t : terms) {
        if (t.monomial == 0) {
            out.constant += t.coefficient;
        } else if (t.coefficient > 0.0) {
            out.terms.push_back(t);
        } else if (const double low = ratio_low(0, t.monomial); low > 0.0) {
            out.constant += t.coefficient / low;  // the most that it can take away
        } else {
            return std::nullopt;
        }
    }
    return out;
}

Formula ChainBounds::bound(const Formula& f, const SymbolSet& known, Side side) {
    if (known.contains(pool_.mask(f))) {
        return f;
    }
    if (!pool_.is_max(f)) {
        return bound_polynomial(f, known, side);
    }
    const std::vector<Formula> branches(pool_.branches(f).begin(), pool_.branches(f).end());
    Formula result(-kInfinity);
    for (const Formula& branch : branches) {
        const Formula next = bound(branch, known, side);
        result = result == Formula(-kInfinity) ? next : model::max(result, next);
    }
    return result;
}

Formula ChainBounds::never_above(const Formula& f, const SymbolSet& known) {
    return bound(f, known, Side::low);
}

Formula ChainBounds::never_below(const Formula& f, const SymbolSet& known) {
    return bound(f, known, Side::high);
}

namespace {

/// A constant, or a single term with atoms that is_smooth() accepts: positive.
bool is_smooth_factor(const model::FormulaPool& pool, const Formula& f) {
    if (f.is_constant()) {
        return f.constant_value() > 0.0;
    }
    const std::span<const Term> terms = pool.terms(f);
    return terms.size() == 1 && terms[0].coefficient > 0.0 &&
           std::ranges::all_of(
               pool.atom_powers(pool.monomial(terms[0].monomial)),
               [&](const AtomPower& p) { return p.exponent > 0 && is_smooth(pool, p.atom); });
}

/// Of a factor that is_smooth_factor() accepts, nowhere above it.
Term smooth_factor(model::FormulaPool& pool, const Formula& f) {
    if (f.is_constant()) {
        return {f.constant_value(), 0};
    }
    Term term = pool.terms(f)[0];
    const Monomial monomial = pool.monomial(term.monomial);
    const std::vector<AtomPower> powers(pool.atom_powers(monomial).begin(),
                                        pool.atom_powers(monomial).end());
    term.monomial = pool.intern(monomial.exponents, 0);
    for (const AtomPower& p : powers) {
        const Term below = smooth_below(pool, p.atom);
        for (int e = 0; e < p.exponent; ++e) {
            term.coefficient *= below.coefficient;
            term.monomial = pool.product(term.monomial, below.monomial);
        }
    }
    return term;
}

}  // namespace

bool is_smooth(const model::FormulaPool& pool, model::AtomId id) {
    const Atom& atom = pool.atom(id);
    if (atom.kind == AtomKind::ceil) {
        return !atom.arguments[0].is_constant() && is_smooth_factor(pool, atom.arguments[0]);
    }
    if (atom.kind != AtomKind::leading) {
        return false;
    }
    // What is divided by must be what it is: nothing in it may be rounded up.
    const Formula& period = atom.arguments[1];
    const bool exact = period.is_constant() || plain_terms(pool, period).size() == 1;
    return exact && std::ranges::all_of(atom.arguments, [&](const Formula& f) {
               return is_smooth_factor(pool, f);
           });
}

Term smooth_below(model::FormulaPool& pool, model::AtomId id) {
    const std::vector<Formula> arguments = pool.atom(id).arguments;
    const Term first = smooth_factor(pool, arguments[0]);
    if (arguments.size() == 1) {
        return first;
    }
    const Term period = smooth_factor(pool, arguments[1]);
    const Term own = smooth_factor(pool, arguments[2]);
    return {
        first.coefficient * own.coefficient / period.coefficient,
        pool.product(pool.product(first.monomial, own.monomial), pool.power(period.monomial, -1))};
}

namespace {

/// The single term of a formula with a positive coefficient, nothing in it rounded up: nowhere
/// above the formula. None if it is something else.
std::optional<Term> positive_monomial(model::FormulaPool& pool, const Formula& f) {
    if (f.is_constant() || !is_smooth_factor(pool, f)) {
        return std::nullopt;
    }
    return smooth_factor(pool, f);
}

/// Multiplies the term by factors, one at a time or two that have a symbol in common (a variable
/// that is spread over two dimensions), where that leaves it fewer symbols. False: nowhere.
bool remove_symbols(model::FormulaPool& pool, std::span<const model::Term> factors,
                    model::Term& term) {
    const auto mask = [&](const model::Term& t) { return pool.monomial(t.monomial).mask; };
    const auto times = [&](const model::Term& a, const model::Term& b) {
        return model::Term{a.coefficient * b.coefficient, pool.product(a.monomial, b.monomial)};
    };
    const auto improve = [&](const model::Term& factor) {
        const model::Term next = times(term, factor);
        const bool shorter = mask(next).count() < mask(term).count();
        term = shorter ? next : term;
        return shorter;
    };
    bool any = false;
    for (const model::Term& factor : factors) {
        any = improve(factor) || any;
    }
    for (std::size_t i = 0; i < factors.size() && mask(term).count() > 0; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (mask(factors[i]).meets(mask(factors[j])) && mask(factors[i]).meets(mask(term)) &&
                mask(factors[j]).meets(mask(term))) {
                any = improve(times(factors[i], factors[j])) || any;
            }
        }
    }
    return any;
}

}  // namespace

Formula surrogate_of_limits(model::FormulaPool& pool, const Formula& f,
                            std::span<const TileShapeConstraint> constraints) {
    std::vector<model::Term> factors;  // at most 1 on every legal row
    for (const TileShapeConstraint& c : constraints) {
        const bool upper = c.relation != Relation::greater && c.relation != Relation::greater_equal;
        const std::optional<model::Term> term = positive_monomial(pool, c.formula);
        if (upper && term && c.limit > 0.0) {
            factors.push_back({term->coefficient / c.limit, term->monomial});
        }
    }
    std::vector<Formula> branches{f};
    if (!f.is_constant() && pool.is_max(f)) {
        branches.assign(pool.branches(f).begin(), pool.branches(f).end());
    }
    Formula result = f;
    for (const Formula& branch : branches) {
        std::optional<model::Term> term = positive_monomial(pool, branch);
        if (term && remove_symbols(pool, factors, *term)) {
            std::vector<model::Term> terms{*term};
            result = model::max(result, pool.polynomial(terms));
        }
    }
    return result;
}

}  // namespace tessera::mapspace
