// The problem, in x = logarithms of trip counts u, of maxima y, and a slack s:
//   minimise  F(x) + M s        F = sum of log(quantity + offset)
//   h_j(x) <= s                 conditions (they may contradict each other: s pays for it)
//   b(x) <= y                   branches of a maximum
//   u >= 0, sum of u <= length per rank variable
// This file writes it down; convex_bound_solve.cpp solves it.
//
// Trips are quotients of tile shapes here: where a last tile may be partial, whole ones are more,
// and never count less (ChainBounds::plain_below).
#include "convex_bound.hpp"

#include <algorithm>
#include <cmath>

#include "formula_values.hpp"

namespace tessera::mapspace {

using model::Formula;

/// Tile shapes are the bound over the trips outside them.
ConvexBound::Term ConvexBound::over_trips(double coefficient, std::span<const Power> tiles,
                                          Problem& to) const {
    Term out{std::log(coefficient), to.exponents.size(), 0};
    for (const Power& p : tiles) {
        out.logarithm += std::log(p.factor);
        if (p.symbol >= 0) {
            out.logarithm += p.exponent * log_bound_[static_cast<std::size_t>(p.symbol)];
        }
        for (int i = p.symbol; i >= 0; i = symbols_[static_cast<std::size_t>(i)].outer) {
            to.exponents.push_back({i, -p.exponent});
        }
    }
    out.last = to.exponents.size();
    return out;
}

/// What is nowhere above an extent c x + ... + d with d < 0: of the symbol x that makes most of it,
/// the others being 1 or more. The logarithm of c x + d, as a function of that of x, is concave for
/// d < 0, above its chord from 1 to the bound of x; for d > 0 it is convex, above its tangents.
std::optional<ConvexBound::Power> ConvexBound::extent_below(const model::FormulaPool& pool,
                                                            const Formula& extent) const {
    Power out;
    double slope = 0, rest = 0, largest = 0;
    for (const model::Term& t : pool.terms(extent)) {
        const model::Monomial& m = pool.monomial(t.monomial);
        rest += t.coefficient;
        if (t.monomial == 0) {
            continue;
        }
        const int symbol = m.mask.first();
        if (m.atoms != 0 || m.mask.count() != 1 || m.exponents.get(symbol) != 1 ||
            t.coefficient < 0) {
            return std::nullopt;
        }
        const double all =
            t.coefficient * static_cast<double>(symbols_[static_cast<std::size_t>(symbol)].bound);
        if (all > largest) {
            largest = all;
            slope = t.coefficient;
            out.symbol = symbol;
        }
    }
    if (out.symbol < 0 || !(rest > 0)) {
        return std::nullopt;
    }
    // rest = slope + d: the extent where every tile shape is 1.
    const double length = log_bound_[static_cast<std::size_t>(out.symbol)];
    const double d = rest - slope;
    if (d < 0) {
        out.factor = rest;
        out.exponent = length > 0 ? std::log((slope * std::exp(length) + d) / rest) / length : 0;
    } else {
        const double middle = std::exp(length / 2);
        out.exponent = slope * middle / (slope * middle + d);
        out.factor = (slope * middle + d) / std::pow(middle, out.exponent);
    }
    return out;
}

/// Powers whose product is nowhere above a monomial. False if it has other atoms than extents.
bool ConvexBound::powers_below(const model::FormulaPool& pool, const model::Monomial& monomial,
                               std::vector<Power>& to) const {
    to.clear();
    for (const int s : monomial.own_symbols()) {
        to.push_back({1, s, static_cast<double>(monomial.exponents.get(s))});
    }
    for (const model::AtomPower& p : pool.atom_powers(monomial)) {
        const model::Atom& atom = pool.atom(p.atom);
        if (atom.kind != model::AtomKind::sum || p.exponent < 0) {
            return false;
        }
        const auto low = extent_below(pool, atom.arguments[0]);
        if (!low) {
            return false;
        }
        to.insert(to.end(), static_cast<std::size_t>(p.exponent), *low);
    }
    return true;
}

/// Terms with extents as factors; `rest`: the others. False if one is taken away.
bool ConvexBound::add_products(ChainBounds& bounds, const Formula& f, double scale, Formula& rest,
                               Problem& to) const {
    model::FormulaPool& pool = bounds.pool();
    std::vector<model::Term> others;
    std::vector<Power> powers;
    for (const model::Term& t : pool.terms(f)) {
        const model::Monomial& m = pool.monomial(t.monomial);
        if (m.atoms == 0 || !powers_below(pool, m, powers)) {
            others.push_back(t);
        } else if (t.coefficient > 0) {
            to.terms.push_back(over_trips(t.coefficient * scale, powers, to));
        } else {
            return false;
        }
    }
    rest = pool.polynomial(others);
    return true;
}

/// What a maximum is at least. Branches that take nothing away are quick to bound.
double ConvexBound::least_maximum(ChainBounds& bounds, std::span<const Formula> branches) {
    const model::FormulaPool& pool = bounds.pool();
    const auto least = [&](bool all) {
        double out = 0;
        for (const Formula& b : branches) {
            const bool quick =
                b.is_constant() ||
                std::ranges::all_of(pool.terms(b), [](const auto& t) { return t.coefficient > 0; });
            if (all || quick) {
                out = std::max(out, bounds.never_above(b, {}).constant_value());
            }
        }
        return out;
    };
    const double quick = least(false);
    return quick > 0 ? quick : least(true);
}

/// Terms of something that is nowhere above scale * f, if anything can be said.
void ConvexBound::add_sum(ChainBounds& bounds, const Formula& f, double scale, Problem& to) const {
    Sum sum{to.terms.size(), 0, 0};
    const std::size_t exponents = to.exponents.size();
    Formula rest = f;
    std::optional<ChainBounds::PlainSum> plain;
    if (f.is_constant() || add_products(bounds, f, scale, rest, to)) {
        plain = bounds.plain_below(rest, to.compensating_term);
    }
    if (!plain) {
        to.terms.resize(sum.first);
        to.exponents.resize(exponents);
        plain = bounds.plain_below(bounds.pool().multiplied_out(f), to.compensating_term);
    }
    if (!plain) {
        return;
    }
    to.choice = to.choice || plain->choice;
    sum.constant = plain->constant * scale;
    std::vector<Power> powers;
    for (const model::Term& t : plain->terms) {
        if (powers_below(bounds.pool(), bounds.pool().monomial(t.monomial), powers)) {
            to.terms.push_back(over_trips(t.coefficient * scale, powers, to));
        }
    }
    sum.last = to.terms.size();
    to.sums.push_back(sum);
}

void ConvexBound::take_symbols(std::span<const TileShapeSymbol> symbols) {
    symbols_.assign(symbols.begin(), symbols.end());
    log_bound_.clear();
    for (const TileShapeSymbol& s : symbols) {
        log_bound_.push_back(std::log(static_cast<double>(s.bound)));
    }
    n_cases_ = 0;
}

void ConvexBound::prepare(model::FormulaPool& pool, std::span<const TileShapeSymbol> symbols,
                          std::span<const TileShapeConstraint> constraints,
                          std::span<const Formula> quantities) {
    take_symbols(symbols);
    prepare_case(pool, constraints, quantities, {});
}

bool ConvexBound::prepare_cases(model::FormulaPool& pool, std::span<const TileShapeSymbol> symbols,
                                std::span<const TileShapeConstraint> constraints,
                                std::span<const Formula> quantities) {
    const model::SymbolSet of_cases = symbols_of_cases(pool, symbols, constraints, quantities);
    if (of_cases.empty()) {
        return false;
    }
    take_symbols(symbols);
    for_each_case(symbols, of_cases, [&](const KnownTiles& known) {
        prepare_case(pool, constraints, quantities, known);
    });
    return true;
}

void ConvexBound::prepare_case(model::FormulaPool& pool,
                               std::span<const TileShapeConstraint> constraints,
                               std::span<const Formula> quantities, const KnownTiles& known) {
    std::vector<TileShapeConstraint> own_constraints(constraints.begin(), constraints.end());
    std::vector<Formula> own_quantities(quantities.begin(), quantities.end());
    const auto put = [&](Formula& f) { f = with_values(pool, f, known.symbols, known.values); };
    for (TileShapeConstraint& c : own_constraints) {
        put(c.formula);
        if (c.below) {
            put(*c.below);
        }
    }
    std::ranges::for_each(own_quantities, put);
    if (cases_.size() == n_cases_) {
        cases_.emplace_back();
    }
    Case& to = cases_[n_cases_++];
    ChainBounds bounds(pool, symbols_);
    using Rule = ChainBounds::CompensatingTerm;
    prepare(bounds, own_constraints, own_quantities, known, to.surest, Rule::surest);
    to.closest.valid = false;
    if (to.surest.choice) {
        prepare(bounds, own_constraints, own_quantities, known, to.closest, Rule::closest);
    }
}

/// Other tile shapes of the rank variable lie on one side or the other.
void ConvexBound::add_known(const KnownTiles& known, Problem& to) const {
    for (const int s : known.symbols) {
        const TileShapeSymbol& symbol = symbols_[static_cast<std::size_t>(s)];
        const bool alone = (symbol.outer < 0 || known.symbols.has(symbol.outer)) &&
                           (symbol.inner < 0 || known.symbols.has(symbol.inner));
        if (alone) {
            continue;
        }
        const Power own{1, s, 1};
        const double value = known.values[static_cast<std::size_t>(s)];
        Sum most{to.terms.size(), to.terms.size() + 1, 0};
        to.terms.push_back(over_trips(1 / value, {&own, 1}, to));
        to.sums.push_back(most);
        to.at_least_one.push_back(over_trips(1 / value, {&own, 1}, to));
    }
}

void ConvexBound::prepare(ChainBounds& bounds, std::span<const TileShapeConstraint> constraints,
                          std::span<const Formula> quantities, const KnownTiles& known, Problem& to,
                          ChainBounds::CompensatingTerm compensating_term) const {
    const model::FormulaPool& pool = bounds.pool();
    to.compensating_term = compensating_term;
    to.valid = true;
    to.choice = false;
    to.exponents.clear();
    to.terms.clear();
    to.sums.clear();
    to.quantities.clear();
    to.at_least_one.clear();
    for (const Formula& f : quantities) {
        Quantity q{pool.is_max(f), to.sums.size(), 0};
        std::vector<Formula> branches{f};
        if (q.maximum) {
            branches.assign(pool.branches(f).begin(), pool.branches(f).end());
        }
        for (const Formula& b : branches) {
            add_sum(bounds, b, 1, to);
        }
        q.last = to.sums.size();
        const bool lacking =
            q.maximum && std::any_of(to.sums.begin() + static_cast<std::ptrdiff_t>(q.first),
                                     to.sums.end(), [](const Sum& s) { return s.constant < 0; });
        if (lacking) {
            q.least = least_maximum(bounds, branches);
        }
        to.valid = to.valid && q.first < q.last;
        to.quantities.push_back(q);
    }
    to.first_condition = to.sums.size();
    add_known(known, to);
    for (const TileShapeConstraint& c : constraints) {
        const bool upper = c.relation == Relation::less_equal || c.relation == Relation::less;
        if (!(c.limit > 0) || c.formula.is_constant() || pool.is_max(c.formula)) {
            continue;
        }
        if (upper || c.relation == Relation::equal) {
            add_sum(bounds, c.below.value_or(c.formula), 1 / c.limit, to);
        }
        const std::span<const model::Term> terms = pool.terms(c.formula);
        std::vector<Power> powers;
        if (!upper && terms.size() == 1 && is_plain(pool, terms[0]) &&
            powers_below(pool, pool.monomial(terms[0].monomial), powers)) {
            to.at_least_one.push_back(over_trips(terms[0].coefficient / c.limit, powers, to));
        }
    }
}

void ConvexBound::write_variables() {
    chains_.clear();
    symbol_of_.clear();
    n_ = 0;
    for (std::size_t s = 0; s < symbols_.size(); ++s) {
        if (symbols_[s].outer >= 0 || symbols_[s].bound <= 1) {
            continue;
        }
        Chain chain{n_, n_, 0};
        for (int i = static_cast<int>(s); i >= 0; i = symbols_[static_cast<std::size_t>(i)].inner) {
            symbol_of_.push_back(i);
            ++n_;
        }
        chain.last = n_;
        chain.length = std::log(static_cast<double>(symbols_[s].bound));
        chains_.push_back(chain);
    }
}

void ConvexBound::add_term(double logarithm) {
    constants_.push_back(logarithm);
    first_slope_.push_back(slopes_.size());
}

/// Of the last term.
void ConvexBound::add_slope(std::size_t variable, double slope) {
    slope_of_.push_back(static_cast<std::uint32_t>(variable));
    slopes_.push_back(slope);
    first_slope_.back() = slopes_.size();
}

void ConvexBound::write_term(const Term& term) {
    add_term(term.logarithm);
    exponent_of_.assign(symbols_.size(), 0.0);
    for (std::size_t e = term.first; e < term.last; ++e) {
        const Exponent& one = problem_->exponents[e];
        exponent_of_[static_cast<std::size_t>(one.symbol)] += one.value;
    }
    for (std::size_t v = 0; v < symbol_of_.size(); ++v) {
        if (const double e = exponent_of_[static_cast<std::size_t>(symbol_of_[v])]; e != 0) {
            add_slope(v, e);
        }
    }
}

/// log of (sum + constant) over exp of the variable `over`, unless that is n_. False if it is
/// empty.
bool ConvexBound::write_sum(const Sum& sum, double constant, std::size_t over,
                            std::vector<LogSum>& to) {
    LogSum out{constants_.size(), 0};
    const auto divide = [&] {
        if (over < n_) {
            add_slope(over, -1);  // behind all loops
        }
    };
    for (std::size_t t = sum.first; t < sum.last; ++t) {
        write_term(problem_->terms[t]);
        divide();
    }
    if (constant > 0) {
        add_term(std::log(constant));
        divide();
    }
    out.last = constants_.size();
    if (out.first < out.last) {
        to.push_back(out);
    }
    return out.first < out.last;
}

void ConvexBound::lower(const LogSum& f, double by) {
    for (std::size_t t = f.first; t < f.last; ++t) {
        constants_[t] -= by;
    }
}

bool ConvexBound::write_maximum(const Quantity& q, double offset) {
    Maximum m{first_maximum_ + maxima_.size(), branches_.size(), 0};
    for (std::size_t b = q.first; b < q.last; ++b) {
        // Where something is taken away: sum <= maximum + d <= maximum (1 + d / least).
        const double constant = problem_->sums[b].constant;
        const double more = constant < 0 ? std::log1p(-constant / q.least) : 0.0;
        if ((constant >= 0 || q.least > 0) &&
            write_sum(problem_->sums[b], constant, m.variable, branches_)) {
            lower(branches_.back(), more);
        }
    }
    m.last = branches_.size();
    maxima_.push_back(m);
    LogSum cost{constants_.size(), 0};
    add_term(0);
    add_slope(m.variable, 1);
    if (offset > 0) {
        add_term(std::log(offset));
    }
    cost.last = constants_.size();
    costs_.push_back(cost);
    return m.first < m.last;
}

/// Of the quantities from `first` to `last`. False if nothing can be said.
bool ConvexBound::write_problem(std::span<const double> offsets, std::size_t first,
                                std::size_t last) {
    write_variables();
    first_maximum_ = n_;
    for (std::size_t q = first; q < last; ++q) {
        n_ += problem_->quantities[q].maximum ? 1 : 0;
    }
    slack_ = n_++;
    removed_ = 0;
    constants_.clear();
    first_slope_.assign(1, 0);
    slope_of_.clear();
    slopes_.clear();
    costs_.clear();
    conditions_.clear();
    branches_.clear();
    maxima_.clear();
    for (std::size_t q = first; q < last; ++q) {
        const double offset = q < offsets.size() ? offsets[q] : 0.0;
        const Quantity& of = problem_->quantities[q];
        if (of.maximum) {
            if (!write_maximum(of, offset)) {
                return false;
            }
            continue;
        }
        double constant = problem_->sums[of.first].constant + offset;
        if (constant < 0) {
            removed_ = -constant;
            constant = 0;
        }
        if (!write_sum(problem_->sums[of.first], constant, n_, costs_)) {
            return false;
        }
    }
    for (std::size_t c = problem_->first_condition; c < problem_->sums.size(); ++c) {
        // What is taken away may be added to the limit, which is 1.
        const double constant = problem_->sums[c].constant,
                     more = std::log1p(std::max(0.0, -constant));
        if (write_sum(problem_->sums[c], constant, n_, conditions_)) {
            lower(conditions_.back(), more);
        }
    }
    for (const Term& t : problem_->at_least_one) {
        LogSum one{constants_.size(), constants_.size() + 1};
        write_term(t);
        constants_.back() = -constants_.back();
        for (std::size_t k = first_slope_[one.first]; k < first_slope_[one.last]; ++k) {
            slopes_[k] = -slopes_[k];
        }
        conditions_.push_back(one);
    }
    return true;
}

}  // namespace tessera::mapspace
