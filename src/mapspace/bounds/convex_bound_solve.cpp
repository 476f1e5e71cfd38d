// Solves the problem that convex_bound.cpp has written down, by a primal-dual interior-point method
// (S. Boyd, L. Vandenberghe, Convex Optimization, 11.7). After every step the multipliers give a
// certificate.
#include <algorithm>
#include <cmath>
#include <limits>

#include "convex_bound.hpp"

namespace tessera::mapspace {
namespace {

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
    double out = infinity;
    for (std::size_t c = 0; c < n_cases_; ++c) {
        // More than another case says is of no use.
        const double of_use = std::min(enough, out);
        out = std::min(out, least_of_case(cases_[c], offsets, of_use, closest));
        if (out == 0) {
            break;
        }
    }
    return out;
}

double ConvexBound::least_of_case(const Case& one, std::span<const double> offsets, double enough,
                                  bool closest) {
    double best = 0;
    for (const Problem* p : {&one.surest, &one.closest}) {
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
