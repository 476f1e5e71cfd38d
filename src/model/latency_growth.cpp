// Does a latency program grow with each of its unknowns (counts of actions, hops, traffic), all of
// which are 0 or more?
//
//   grows_by_parts()  every step keeps growth: sums, maxima, products of what is not negative
//   Selected          the program with one argument chosen of each maximum and minimum: a quotient
//                     of polynomials, which grows if its derivatives have no negative coefficient.
//                     A continuous function all of whose choices grow grows itself.
//   witness()         a place where it falls, for the message
#include "model/latency_growth.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "model/latency.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::model {

namespace {

using arch::LatencyProgram;
using Op = LatencyProgram::Op;

constexpr std::size_t most_choices = 10;  ///< maxima and minima that are looked through
constexpr std::size_t most_terms = 200;

/// The unknowns: actions by their index, then these.
int hops_of(const arch::PathLevel& level) {
    return static_cast<int>(level.actions.size());
}

int unknown_of(const arch::PathLevel& level, const LatencyProgram::Step& step) {
    return step.op == Op::n_calls ? step.action
                                  : hops_of(level) + (step.op == Op::max_hops ? 0 : 1);
}

bool is_unknown(const LatencyProgram::Step& step) {
    return step.op == Op::n_calls || step.op == Op::max_hops || step.op == Op::max_link_traffic;
}

bool is_unary(const LatencyProgram::Step& step) {
    return step.op == Op::ceil || step.op == Op::floor;
}

bool is_choice(const LatencyProgram::Step& step) {
    return step.op == Op::max || step.op == Op::min;
}

// --- Growth, part by part ------------------------------------------------------------------------

struct Part {
    bool grows = true, never_negative = true, constant = false, positive = false;
};

Part combined(Op op, const Part& a, const Part& b) {
    const bool signs = a.never_negative && b.never_negative;
    const bool all_grow = a.grows && b.grows, constant = a.constant && b.constant;
    const bool both = a.positive && b.positive;
    const bool one = (a.positive && b.never_negative) || (b.positive && a.never_negative);
    switch (op) {
        case Op::add:
            return {all_grow, signs, constant, one};
        case Op::sub:
            return {a.grows && b.constant, false, constant, false};
        case Op::mul:
            return {all_grow && signs, signs, constant, both};
        case Op::div:
            return {a.grows && signs && b.constant && b.positive, signs, constant, both};
        case Op::max:
            return {all_grow, a.never_negative || b.never_negative, constant,
                    a.positive || b.positive};
        default:
            return {all_grow, signs, constant, both};
    }
}

bool grows_by_parts(const LatencyProgram& program) {
    std::vector<Part> stack;
    for (const LatencyProgram::Step& step : program.steps) {
        if (step.op == Op::constant) {
            stack.push_back({true, step.value >= 0, true, step.value > 0});
        } else if (is_unknown(step)) {
            stack.push_back({});
        } else if (is_unary(step)) {
            stack.back().positive &= step.op == Op::ceil;
        } else {
            const Part right = stack.back();
            stack.pop_back();
            stack.back() = combined(step.op, stack.back(), right);
        }
    }
    return stack.back().grows;
}

// --- Quotients of polynomials --------------------------------------------------------------------

/// Exponents by unknown, without trailing zeros, and coefficients.
using Polynomial = std::map<std::vector<int>, double>;

void add_term(Polynomial& sum, std::vector<int> exponents, double coefficient) {
    while (!exponents.empty() && exponents.back() == 0) {
        exponents.pop_back();
    }
    double& total = sum[exponents];
    const double before = std::abs(total) + std::abs(coefficient);
    total += coefficient;
    if (std::abs(total) <= 1e-12 * before) {
        sum.erase(exponents);
    }
}

Polynomial product(const Polynomial& a, const Polynomial& b) {
    Polynomial result;
    for (const auto& [x, c] : a) {
        for (const auto& [y, d] : b) {
            std::vector<int> exponents(std::max(x.size(), y.size()), 0);
            for (std::size_t i = 0; i < exponents.size(); ++i) {
                exponents[i] = (i < x.size() ? x[i] : 0) + (i < y.size() ? y[i] : 0);
            }
            add_term(result, std::move(exponents), c * d);
        }
    }
    return result;
}

Polynomial sum(Polynomial a, const Polynomial& b, double sign) {
    for (const auto& [exponents, coefficient] : b) {
        add_term(a, exponents, sign * coefficient);
    }
    return a;
}

Polynomial derivative(const Polynomial& a, std::size_t unknown) {
    Polynomial result;
    for (const auto& [exponents, coefficient] : a) {
        if (unknown < exponents.size() && exponents[unknown] > 0) {
            std::vector<int> lower = exponents;
            --lower[unknown];
            add_term(result, std::move(lower), coefficient * exponents[unknown]);
        }
    }
    return result;
}

/// For all unknowns from 0 on.
bool never_negative(const Polynomial& a) {
    return std::ranges::all_of(a, [](const auto& term) { return term.second >= 0; });
}

struct Quotient {
    Polynomial over, under{{{}, 1.0}};
    bool steps = false;  ///< it jumps: parts are rounded
};

/// a - b is never negative.
bool never_less(const Quotient& a, const Quotient& b) {
    return never_negative(sum(product(a.over, b.under), product(b.over, a.under), -1));
}

/// The program with one argument of each maximum and minimum chosen.
class Selected {
public:
    explicit Selected(const arch::PathLevel& level) : level_(level), rounded_(hops_of(level) + 2) {}

    /// False: a choice does not grow, or it cannot be said.
    bool grows(unsigned choices) {
        choices_ = choices;
        next_unknown_ = rounded_;
        stack_.clear();
        for (const LatencyProgram::Step& step : level_.latency.steps) {
            if (!apply(step)) {
                return false;
            }
        }
        return grows(stack_.back());
    }

private:
    bool grows(const Quotient& f) const {
        for (int u = 0; u < next_unknown_; ++u) {
            const auto unknown = static_cast<std::size_t>(u);
            if (!never_negative(sum(product(derivative(f.over, unknown), f.under),
                                    product(f.over, derivative(f.under, unknown)), -1))) {
                return false;
            }
        }
        return true;
    }

    Quotient unknown(int index) const {
        std::vector<int> exponents(static_cast<std::size_t>(index) + 1, 0);
        exponents.back() = 1;
        return {{{exponents, 1.0}}};
    }

    bool apply(const LatencyProgram::Step& step) {
        if (step.op == Op::constant) {
            stack_.emplace_back();
            if (!std::isfinite(step.value)) {
                return false;
            }
            add_term(stack_.back().over, {}, step.value);
            return true;
        }
        if (is_unknown(step)) {
            stack_.push_back(unknown(unknown_of(level_, step)));
            return true;
        }
        if (is_unary(step)) {
            return replace_by_unknown(never_negative(stack_.back().over));
        }
        const Quotient right = std::move(stack_.back());
        stack_.pop_back();
        return combine(step.op, stack_.back(), right);
    }

    /// What grows and is never negative is as good as an unknown of its own.
    bool replace_by_unknown(bool fits) {
        if (!fits || !grows(stack_.back())) {
            return false;
        }
        stack_.back() = unknown(next_unknown_++);
        stack_.back().steps = true;
        return true;
    }

    bool combine(Op op, Quotient& left, const Quotient& right) {
        const bool steps = left.steps || right.steps;
        if (op == Op::max || op == Op::min) {
            return choose(op, left, right, steps);
        }
        if (op == Op::mul) {
            left = {product(left.over, right.over), product(left.under, right.under)};
        } else if (op == Op::div) {
            // Without any action nothing is divided by 0.
            if (!never_negative(right.over) || !right.over.contains({})) {
                return false;
            }
            left = {product(left.over, right.under), product(left.under, right.over)};
        } else {
            left = {sum(product(left.over, right.under), product(right.over, left.under),
                        op == Op::add ? 1 : -1),
                    product(left.under, right.under)};
        }
        left.steps = steps;
        return left.over.size() <= most_terms && left.under.size() <= most_terms;
    }

    /// Where parts jump, a choice need not agree with the other where they meet.
    bool choose(Op op, Quotient& left, const Quotient& right, bool steps) {
        const bool second = (choices_ & 1) != 0;
        choices_ >>= 1;
        const bool left_larger = never_less(left, right), right_larger = never_less(right, left);
        if (left_larger || right_larger) {
            left = (op == Op::max) == left_larger ? std::move(left) : right;
            return true;
        }
        if (steps) {
            return grows(right) &&
                   replace_by_unknown(never_negative(left.over) && never_negative(right.over));
        }
        left = second ? right : std::move(left);
        return true;
    }

    const arch::PathLevel& level_;
    const int rounded_;  ///< unknowns from here on are rounded parts
    int next_unknown_ = 0;
    unsigned choices_ = 0;
    std::vector<Quotient> stack_;
};

bool all_choices_grow(const arch::PathLevel& level) {
    const auto n = static_cast<std::size_t>(
        std::count_if(level.latency.steps.begin(), level.latency.steps.end(), is_choice));
    if (n > most_choices) {
        return false;
    }
    Selected selected(level);
    for (unsigned choices = 0; choices < 1U << n; ++choices) {
        if (!selected.grows(choices)) {
            return false;
        }
    }
    return true;
}

// --- A place where it falls ----------------------------------------------------------------------

class Search {
public:
    explicit Search(const arch::PathLevel& level)
        : level_(level), at_(static_cast<std::size_t>(hops_of(level)) + 2, 0.0) {
        used_.assign(at_.size(), 0);
        for (const LatencyProgram::Step& step : level.latency.steps) {
            if (is_unknown(step)) {
                used_[static_cast<std::size_t>(unknown_of(level, step))] = 1;
            }
        }
    }

    std::optional<std::string> witness() {
        return from(0);
    }

private:
    static constexpr std::array<double, 14> places = {0,  1,  2,   3,   5,   8,   20,
                                                      50, 99, 150, 512, 1e4, 1e6, 1e9};

    std::optional<std::string> from(std::size_t unknown) {
        if (unknown == at_.size()) {
            return here();
        }
        for (const double place : places) {
            at_[unknown] = place;
            if (std::optional<std::string> found = from(unknown + 1)) {
                return found;
            }
            if (!used_[unknown]) {
                break;
            }
        }
        return std::nullopt;
    }

    std::optional<std::string> here() {
        const double before = value();
        for (std::size_t u = 0; u < at_.size(); ++u) {
            for (std::size_t p = 1; used_[u] && p < places.size(); ++p) {
                const double place = at_[u];
                at_[u] = place + places[p];
                const double after = value();
                at_[u] = place;
                if (after < before - 1e-9 * std::max(1.0, std::abs(before))) {
                    return text(u, before, after, place + places[p]);
                }
            }
        }
        return std::nullopt;
    }

    double value() {
        const std::size_t n = at_.size() - 2;
        return evaluate_latency<double>(level_.latency, std::span(at_).first(n), at_[n], at_[n + 1],
                                        stack_);
    }

    std::string name(std::size_t unknown) const {
        const std::size_t n = at_.size() - 2;
        return unknown < n    ? "the count of '" + level_.actions[unknown].name + "'"
               : unknown == n ? "max_hops"
                              : "max_link_traffic";
    }

    std::string text(std::size_t grown, double before, double after, double to) const {
        std::string result = "falls from " + spec::number_text(before + 0.0) + " to " +
                             spec::number_text(after) + " s where " + name(grown) + " grows from " +
                             spec::number_text(at_[grown]) + " to " + spec::number_text(to);
        for (std::size_t u = 0; u < at_.size(); ++u) {
            if (u != grown && used_[u]) {
                result += ", " + name(u) + " being " + spec::number_text(at_[u]);
            }
        }
        return result;
    }

    const arch::PathLevel& level_;
    std::vector<double> at_, stack_;
    std::vector<char> used_;
};

}  // namespace

std::string falling_latency(const arch::PathLevel& level) {
    if (!level.has_latency || level.latency.steps.empty() || grows_by_parts(level.latency) ||
        all_choices_grow(level)) {
        return "";
    }
    return Search(level).witness().value_or("cannot be shown to grow with its actions");
}

}  // namespace tessera::model
