// The problem, in x = logarithms of trip counts u, of maxima y, and a slack s:
//   minimise  F(x) + M s        F = sum of log(quantity + offset)
//   h_j(x) <= s                 conditions (they may contradict each other: s pays for it)
//   b(x) <= y                   branches of a maximum
//   u >= 0, sum of u <= length per rank variable
// A primal-dual interior-point method (S. Boyd, L. Vandenberghe, Convex Optimization, 11.7). After
// every step the multipliers give a certificate.
//
// Trips are quotients of tile shapes here: where a last tile may be partial, whole ones are more,
// and never count less (ChainBounds::plain_below).
#include "mapspace/convex_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::mapspace {
namespace {

using model::Formula;

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Price of the slack: above all multipliers, whose sum tells how much cheaper rows become by
/// relaxing every condition by some factor.
constexpr double slack_price = 50;
constexpr double first_product = 0.1;  ///< of a multiplier and its inequality's room
constexpr double centring = 0.1;       ///< what a step aims at, of the mean product
constexpr int max_steps = 40;
/// Share of the cost that may be left open.
constexpr double near_enough = 1e-3;
constexpr double shortest_step = 1e-6, negligible = 1e-12;
constexpr double slack_below = 1 - 1e-9;

}  // namespace

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
    for (const int s : monomial.exponents.mask()) {
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

void ConvexBound::prepare(model::FormulaPool& pool, std::span<const TileShapeSymbol> symbols,
                          std::span<const TileShapeConstraint> constraints,
                          std::span<const Formula> quantities) {
    symbols_.assign(symbols.begin(), symbols.end());
    log_bound_.clear();
    for (const TileShapeSymbol& s : symbols) {
        log_bound_.push_back(std::log(static_cast<double>(s.bound)));
    }
    ChainBounds bounds(pool, symbols);
    prepare(bounds, constraints, quantities, ChainBounds::CompensatingTerm::surest, surest_);
    closest_.valid = false;
    if (surest_.choice) {
        prepare(bounds, constraints, quantities, ChainBounds::CompensatingTerm::closest, closest_);
    }
}

void ConvexBound::prepare(ChainBounds& bounds, std::span<const TileShapeConstraint> constraints,
                          std::span<const Formula> quantities,
                          ChainBounds::CompensatingTerm compensating_term, Problem& to) const {
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
            q.least = bounds.never_above(f, {}).constant_value();
        }
        to.valid = to.valid && q.first < q.last;
        to.quantities.push_back(q);
    }
    to.first_condition = to.sums.size();
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
        if (!upper && terms.size() == 1 && terms[0].coefficient > 0 &&
            pool.monomial(terms[0].monomial).atoms == 0 &&
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

/// Value, shares of the terms, and slope (row `index` of gradients_).
void ConvexBound::evaluate(LogSum& f, std::size_t index) {
    double top = -infinity;
    for (std::size_t t = f.first; t < f.last; ++t) {
        double v = constants_[t];
        for (std::size_t k = first_slope_[t]; k < first_slope_[t + 1]; ++k) {
            v += slopes_[k] * x_[slope_of_[k]];
        }
        share_[t] = v;
        top = std::max(top, v);
    }
    double* gradient = gradients_.data() + index * n_;
    std::fill_n(gradient, n_, 0.0);
    if (f.last - f.first == 1) {
        share_[f.first] = 1;
        f.value = top;
        for (std::size_t k = first_slope_[f.first]; k < first_slope_[f.last]; ++k) {
            gradient[slope_of_[k]] = slopes_[k];
        }
        return;
    }
    double sum = 0;
    for (std::size_t t = f.first; t < f.last; ++t) {
        sum += share_[t] = std::exp(share_[t] - top);
    }
    f.value = top + std::log(sum);
    for (std::size_t t = f.first; t < f.last; ++t) {
        share_[t] /= sum;
        for (std::size_t k = first_slope_[t]; k < first_slope_[t + 1]; ++k) {
            gradient[slope_of_[k]] += share_[t] * slopes_[k];
        }
    }
}

/// All sums at x_, and how much room inequalities leave: conditions, branches, variables, chains,
/// the slack. False if one leaves none.
bool ConvexBound::evaluate_all() {
    std::size_t at = 0, index = 0;
    bool inside = true;
    const auto add = [&](double room) {
        inside = inside && room > 0;
        room_[at++] = room;
    };
    for (LogSum& f : conditions_) {
        evaluate(f, index);
        gradients_[index++ * n_ + slack_] = -1;
        add(x_[slack_] - f.value);
    }
    for (LogSum& f : branches_) {
        evaluate(f, index++);
        add(-f.value);
    }
    cost_ = 0;
    for (LogSum& f : costs_) {
        evaluate(f, index++);
        cost_ += f.value;
    }
    for (const Chain& c : chains_) {
        double left = c.length;
        for (std::size_t v = c.first; v < c.last; ++v) {
            add(x_[v]);
            left -= x_[v];
        }
        add(left);
    }
    add(x_[slack_]);
    return inside;
}

/// Adds weight * slope of every inequality, and slopes of the costs, to `to`.
template <class Weight>
void ConvexBound::add_slopes(const Weight& weight, std::vector<double>& to) const {
    const std::size_t sums = conditions_.size() + branches_.size();
    const auto add_row = [&](std::size_t index, double w) {
        const double* g = gradients_.data() + index * n_;
        for (std::size_t i = 0; i < n_; ++i) {
            to[i] += w * g[i];
        }
    };
    for (std::size_t k = 0; k < sums; ++k) {
        add_row(k, weight(k));
    }
    for (std::size_t k = 0; k < costs_.size(); ++k) {
        add_row(sums + k, 1);
    }
    std::size_t at = sums;
    for (const Chain& c : chains_) {
        const double all = weight(at + (c.last - c.first));
        for (std::size_t v = c.first; v < c.last; ++v) {
            to[v] += all - weight(at++);
        }
        ++at;
    }
    to[slack_] += slack_price - weight(at);
}

/// Slopes of the Lagrangian and products of multipliers and room, squared and added up.
double ConvexBound::residual(double target) {
    slope_.assign(n_, 0.0);
    add_slopes([this](std::size_t k) { return multiplier_[k]; }, slope_);
    double out = 0;
    for (const double v : slope_) {
        out += v * v;
    }
    for (std::size_t k = 0; k < room_.size(); ++k) {
        const double v = multiplier_[k] * room_[k] - target;
        out += v * v;
    }
    return out;
}

/// The lower triangle is enough.
void ConvexBound::add_square(const double* v, double weight) {
    for (std::size_t i = 0; i < n_; ++i) {
        if (v[i] == 0) {
            continue;
        }
        double* row = hessian_.data() + i * n_;
        const double w = weight * v[i];
        for (std::size_t j = 0; j <= i; ++j) {
            row[j] += w * v[j];
        }
    }
}

void ConvexBound::add_square_of_term(std::size_t term, double weight) {
    const std::size_t first = first_slope_[term];
    for (std::size_t k = first; k < first_slope_[term + 1]; ++k) {
        double* row = hessian_.data() + slope_of_[k] * n_;
        const double w = weight * slopes_[k];
        for (std::size_t j = first; j <= k; ++j) {
            row[slope_of_[j]] += w * slopes_[j];
        }
    }
}

/// `weight` times the second derivatives of a sum and `own` times the square of its slope.
void ConvexBound::add_curvature(const LogSum& f, std::size_t index, double weight, double own) {
    if (f.last - f.first > 1) {
        for (std::size_t t = f.first; t < f.last; ++t) {
            if (share_[t] > negligible) {
                add_square_of_term(t, weight * share_[t]);
            }
        }
        double* g = gradients_.data() + index * n_;
        const double slack = g[slack_];
        g[slack_] = 0;
        add_square(g, -weight);
        g[slack_] = slack;
    }
    if (own > 0) {
        add_square(gradients_.data() + index * n_, own);
    }
}

/// Matrix of a Newton step on the conditions of optimality, multipliers eliminated.
void ConvexBound::make_matrix() {
    hessian_.assign(n_ * n_, 0.0);
    std::size_t index = 0;
    for (const LogSum& f : conditions_) {
        add_curvature(f, index, multiplier_[index], multiplier_[index] / room_[index]);
        ++index;
    }
    for (const LogSum& f : branches_) {
        add_curvature(f, index, multiplier_[index], multiplier_[index] / room_[index]);
        ++index;
    }
    std::size_t at = index;
    for (const LogSum& f : costs_) {
        add_curvature(f, index++, 1, 0);
    }
    for (const Chain& c : chains_) {
        for (std::size_t v = c.first; v < c.last; ++v, ++at) {
            hessian_[v * n_ + v] += multiplier_[at] / room_[at];
        }
        const double all = multiplier_[at] / room_[at];
        for (std::size_t v = c.first; v < c.last; ++v) {
            for (std::size_t w = c.first; w <= v; ++w) {
                hessian_[v * n_ + w] += all;
            }
        }
        ++at;
    }
    hessian_[slack_ * n_ + slack_] += multiplier_[at] / room_[at];
    for (std::size_t i = 0; i < n_; ++i) {
        hessian_[i * n_ + i] *= 1 + negligible;
        hessian_[i * n_ + i] += negligible;
    }
}

/// Cholesky decomposition in place; direction_ from gradient_. False if it is not definite.
bool ConvexBound::solve_newton() {
    for (std::size_t i = 0; i < n_; ++i) {
        double* row = hessian_.data() + i * n_;
        for (std::size_t j = 0; j <= i; ++j) {
            const double* other = hessian_.data() + j * n_;
            double sum = row[j];
            for (std::size_t k = 0; k < j; ++k) {
                sum -= row[k] * other[k];
            }
            if (i == j) {
                if (!(sum > 0)) {
                    return false;
                }
                row[i] = std::sqrt(sum);
            } else {
                row[j] = sum / other[j];
            }
        }
    }
    for (std::size_t i = 0; i < n_; ++i) {
        double sum = -gradient_[i];
        for (std::size_t k = 0; k < i; ++k) {
            sum -= hessian_[i * n_ + k] * direction_[k];
        }
        direction_[i] = sum / hessian_[i * n_ + i];
    }
    for (std::size_t i = n_; i-- > 0;) {
        double sum = direction_[i];
        for (std::size_t k = i + 1; k < n_; ++k) {
            sum -= hessian_[k * n_ + i] * direction_[k];
        }
        direction_[i] = sum / hessian_[i * n_ + i];
    }
    return true;
}

/// How multipliers change with direction_.
void ConvexBound::find_changes(double target) {
    const std::size_t sums = conditions_.size() + branches_.size();
    const auto set = [&](std::size_t k, double rise) {
        change_[k] = (target + multiplier_[k] * rise) / room_[k] - multiplier_[k];
    };
    for (std::size_t k = 0; k < sums; ++k) {
        const double* g = gradients_.data() + k * n_;
        double rise = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            rise += g[i] * direction_[i];
        }
        set(k, rise);
    }
    std::size_t at = sums;
    for (const Chain& c : chains_) {
        double all = 0;
        for (std::size_t v = c.first; v < c.last; ++v) {
            all += direction_[v];
            set(at++, -direction_[v]);
        }
        set(at++, all);
    }
    set(at, -direction_[slack_]);
}

/// One step of the primal-dual method. False if there is nothing to be gained.
bool ConvexBound::step() {
    double gap = 0;
    for (std::size_t k = 0; k < room_.size(); ++k) {
        gap += multiplier_[k] * room_[k];
    }
    const double target = gap * centring / static_cast<double>(room_.size());
    gradient_.assign(n_, 0.0);
    add_slopes([&](std::size_t k) { return target / room_[k]; }, gradient_);
    const double before = residual(target);
    make_matrix();
    if (!solve_newton()) {
        return false;
    }
    find_changes(target);
    double length = 1;
    for (std::size_t k = 0; k < room_.size(); ++k) {
        if (change_[k] < 0) {
            length = std::min(length, -multiplier_[k] / change_[k]);
        }
    }
    length *= 0.99;
    const std::vector<double>&x = old_x_ = x_, &m = old_multiplier_ = multiplier_;
    for (; length > shortest_step; length /= 2) {
        for (std::size_t i = 0; i < n_; ++i) {
            x_[i] = x[i] + length * direction_[i];
        }
        for (std::size_t k = 0; k < room_.size(); ++k) {
            multiplier_[k] = m[k] + length * change_[k];
        }
        const double shrunk = 1 - 0.01 * length;
        if (evaluate_all() && residual(target) <= shrunk * shrunk * before) {
            return true;
        }
    }
    x_ = old_x_;
    multiplier_ = old_multiplier_;
    evaluate_all();
    return false;
}

/// The Lagrangian's tangent plane at x_, at its least over all chains.
double ConvexBound::certificate() {
    double out = cost_;
    slope_.assign(n_, 0.0);
    const auto add = [&](std::size_t index, double weight) {
        const double* g = gradients_.data() + index * n_;
        for (std::size_t i = 0; i < n_; ++i) {
            slope_[i] += weight * g[i];
        }
    };
    const std::size_t conditions = conditions_.size();
    for (std::size_t k = 0; k < conditions; ++k) {
        out += multiplier_[k] * conditions_[k].value;
        add(k, multiplier_[k]);
    }
    for (std::size_t k = 0; k < costs_.size(); ++k) {
        add(conditions + branches_.size() + k, 1);
    }
    // A maximum may be anything: its slope has to vanish.
    for (const Maximum& m : maxima_) {
        const double rise = slope_[m.variable];
        double sum = 0;
        for (std::size_t b = m.first; b < m.last; ++b) {
            sum += multiplier_[conditions + b];
        }
        for (std::size_t b = m.first; b < m.last; ++b) {
            const double weight = rise * multiplier_[conditions + b] / sum;
            out += weight * branches_[b].value;
            add(conditions + b, weight);
        }
    }
    for (const Chain& c : chains_) {
        double least = 0;
        for (std::size_t v = c.first; v < c.last; ++v) {
            least = std::min(least, slope_[v]);
            out -= slope_[v] * x_[v];
        }
        out += c.length * least;
    }
    return out;
}

/// A point inside, and multipliers.
void ConvexBound::start() {
    std::size_t inequalities = conditions_.size() + branches_.size() + 1;
    x_.assign(n_, 0.0);
    for (const Chain& c : chains_) {
        inequalities += c.last - c.first + 1;
        for (std::size_t v = c.first; v < c.last; ++v) {
            x_[v] = c.length / static_cast<double>(c.last - c.first + 1);
        }
    }
    share_.assign(constants_.size(), 0.0);
    direction_.assign(n_, 0.0);
    gradients_.assign((conditions_.size() + branches_.size() + costs_.size()) * n_, 0.0);
    room_.assign(inequalities, 0.0);
    change_.assign(inequalities, 0.0);
    evaluate_all();
    for (const Maximum& m : maxima_) {
        for (std::size_t b = m.first; b < m.last; ++b) {
            x_[m.variable] =
                std::max(b == m.first ? -infinity : x_[m.variable], branches_[b].value + 1);
        }
    }
    x_[slack_] = 1;
    for (const LogSum& f : conditions_) {
        x_[slack_] = std::max(x_[slack_], f.value + 1);
    }
    evaluate_all();
    multiplier_.resize(inequalities);
    for (std::size_t k = 0; k < inequalities; ++k) {
        multiplier_[k] = first_product / room_[k];
    }
}

double ConvexBound::least(std::span<const double> offsets, double enough, bool closest) {
    double best = 0;
    for (const Problem* p : {&surest_, &closest_}) {
        if (p->valid && best < enough) {
            problem_ = p;
            best = std::max(best, least_of_one(offsets, enough, closest));
        }
    }
    return best;
}

/// A quantity q that lacks d of being positive terms is q + d times (1 - d / (q + d)), which is
/// least where q + d is. The product of these factors over all quantities; 0: nothing can be said.
double ConvexBound::share_left(std::span<const double> offsets) {
    double share = 1;
    for (std::size_t q = 0; q < problem_->quantities.size(); ++q) {
        const Quantity& of = problem_->quantities[q];
        const double offset = q < offsets.size() ? offsets[q] : 0.0;
        if (of.maximum || problem_->sums[of.first].constant + offset >= 0) {
            continue;
        }
        if (!write_problem(offsets, q, q + 1)) {
            return 0;
        }
        const double least = std::exp(solve(infinity, true)) * slack_below;
        share *= least > removed_ ? 1 - removed_ / least : 0;
    }
    return share;
}

/// The logarithm of a number that the product of the quantities, as written, is not below.
double ConvexBound::solve(double goal, bool closest) {
    start();
    double best = -infinity;
    for (int i = 0; i < max_steps && step(); ++i) {
        best = std::max(best, certificate());
        const bool legal = std::all_of(conditions_.begin(), conditions_.end(),
                                       [](const LogSum& f) { return f.value <= 0; });
        const bool too_low = legal && cost_ < goal && std::isfinite(goal) && !closest;
        if (best >= goal || too_low || (legal && cost_ - best < near_enough)) {
            break;
        }
    }
    return best;
}

double ConvexBound::least_of_one(std::span<const double> offsets, double enough, bool closest) {
    const std::size_t n = problem_->quantities.size();
    const double share = n > 1 ? share_left(offsets) : 1;
    if (!(share > 0) || !write_problem(offsets, 0, n)) {
        return 0;
    }
    const double removed = n > 1 ? 0 : removed_;
    const double best = solve(std::log(enough / share + removed), closest);
    const double out = std::exp(best) * slack_below * share - removed;
    return std::isfinite(out) ? std::max(0.0, out) : 0;
}

}  // namespace tessera::mapspace
