#include "workload/iteration_space.hpp"

#include <algorithm>

#include "tessera/spec/node.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::workload {

namespace {

// Positions and coefficients stay below 2^53 and 2^31, sums of 64 products below 2^91.
using Wide = __int128;
constexpr Wide max_position = Wide{1} << 53;

Affine difference(const Affine& a, const Affine& b, std::int64_t minus) {
    Affine result = a;
    for (const auto& [variable, coefficient] : b.terms) {
        if ((result.terms[variable] -= coefficient) == 0) {
            result.terms.erase(variable);
        }
    }
    result.constant = a.constant - b.constant - minus;
    return result;
}

Wide floor_divide(Wide a, Wide b) {
    const Wide quotient = a / b;
    return quotient - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

Wide ceil_divide(Wide a, Wide b) {
    return -floor_divide(-a, b);
}

/// One equality is two inequalities, and ISL writes it with a single '='.
std::string with_double_equals(const std::string& text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool part = (i > 0 && std::string("<>=!").find(text[i - 1]) != std::string::npos) ||
                          (i + 1 < text.size() && text[i + 1] == '=');
        result += text[i] == '=' && !part ? "==" : std::string(1, text[i]);
    }
    return result;
}

}  // namespace

void IterationSpace::add_rank(const Affine& affine, std::int64_t size, const Place& place) {
    Affine end;
    end.constant = size;
    const std::string text = "0 <= projection < " + std::to_string(size);
    add_comparison("<=", {}, affine, place, text);
    add_comparison("<", affine, end, place, text);
}

void IterationSpace::add_comparison(const std::string& op, const Affine& left, const Affine& right,
                                    const Place& place, const std::string& text) {
    if (op == "<=" || op == "<" || op == "==") {
        constraints_.push_back({difference(right, left, op == "<" ? 1 : 0), place, text});
    }
    if (op == ">=" || op == ">" || op == "==") {
        constraints_.push_back({difference(left, right, op == ">" ? 1 : 0), place, text});
    }
}

void IterationSpace::add_tree(const spec::Ast& ast, const Place& place, const std::string& text) {
    if (ast.kind == spec::Ast::Kind::binary && ast.text == "and") {
        add_tree(*ast.children[0], place, text);
        add_tree(*ast.children[1], place, text);
        return;
    }
    const bool ordered =
        ast.kind == spec::Ast::Kind::comparison &&
        std::find(ast.operators.begin(), ast.operators.end(), "!=") == ast.operators.end();
    if (!ordered) {
        spec::fail(place.position, place.path,
                   {"not a description of an iteration space", text, "comparisons joined by 'and'",
                    "write e.g. 0 <= m < 128"});
    }
    Affine left = affine_of(*ast.children[0], variables_, place, text);
    for (std::size_t i = 0; i < ast.operators.size(); ++i) {
        Affine right = affine_of(*ast.children[i + 1], variables_, place, text);
        add_comparison(ast.operators[i], left, right, place, text);
        left = std::move(right);
    }
}

void IterationSpace::add_text(const std::string& text, const Place& place) {
    try {
        add_tree(*spec::parse_expression(with_double_equals(text)), place, text);
    } catch (const spec::SyntaxError& error) {
        spec::fail(place.position, place.path,
                   {"not a description of an iteration space: " + error.message, text,
                    "comparisons joined by 'and'", "write e.g. 0 <= m < 128"});
    }
}

namespace {

using BoundsByName = std::map<std::string, IterationSpace::Bounds>;

void check_not_empty(const Constraint& constraint, const IterationSpace::Bounds& b) {
    if (b.lowest && b.highest && *b.lowest > *b.highest) {
        spec::fail(constraint.place.position, constraint.place.path,
                   {"the iteration space is empty: no point also meets this limit", constraint.text,
                    "", "compare it with the other limits of the Einsum"});
    }
}

/// The largest value that the constraint's addends other than `variable` can add up to, with the
/// constant; nothing if one of them is not limited yet.
std::optional<Wide> largest_rest(const Affine& affine, const std::string& variable,
                                 const BoundsByName& bounds) {
    Wide rest = affine.constant;
    for (const auto& [other, factor] : affine.terms) {
        if (other == variable) {
            continue;
        }
        const IterationSpace::Bounds& b = bounds.at(other);
        const std::optional<std::int64_t>& best = factor > 0 ? b.highest : b.lowest;
        if (!best) {
            return std::nullopt;
        }
        rest += Wide{factor} * *best;
    }
    return rest;
}

/// Each variable obeys coefficient * x >= -largest_rest. Returns whether a bound moved.
bool tighten(const Constraint& constraint, BoundsByName& bounds) {
    bool changed = false;
    for (const auto& [variable, coefficient] : constraint.affine.terms) {
        const std::optional<Wide> rest = largest_rest(constraint.affine, variable, bounds);
        if (!rest) {
            continue;
        }
        IterationSpace::Bounds& b = bounds.at(variable);
        const Wide limit =
            coefficient > 0 ? ceil_divide(-*rest, coefficient) : floor_divide(-*rest, coefficient);
        const auto value =
            static_cast<std::int64_t>(std::clamp(limit, -max_position, max_position));
        if (coefficient > 0 && (!b.lowest || value > *b.lowest)) {
            b.lowest = value;
            changed = true;
        } else if (coefficient < 0 && (!b.highest || value < *b.highest)) {
            b.highest = value;
            b.limit = &constraint;
            changed = true;
        }
        check_not_empty(constraint, b);
    }
    return changed;
}

}  // namespace

std::vector<IterationSpace::Bounds> IterationSpace::box(
    const std::vector<std::string>& names) const {
    BoundsByName bounds;
    for (const std::string& name : names) {
        bounds[name];
    }
    // A limit that names variables of other Einsums says nothing here.
    std::vector<const Constraint*> relevant;
    for (const Constraint& constraint : constraints_) {
        const auto& terms = constraint.affine.terms;
        if (std::all_of(terms.begin(), terms.end(),
                        [&](const auto& term) { return bounds.count(term.first) != 0; })) {
            relevant.push_back(&constraint);
        }
    }
    // Slow convergence is possible with negative coefficients; stopping early leaves a larger box.
    bool changed = true;
    for (int round = 0; changed && round < 1000; ++round) {
        changed = false;
        for (const Constraint* constraint : relevant) {
            changed = tighten(*constraint, bounds) || changed;
        }
    }
    std::vector<Bounds> result;
    for (const std::string& name : names) {
        result.push_back(bounds.at(name));
    }
    return result;
}

}  // namespace tessera::workload
