#include "workload/affine.hpp"

#include <cctype>
#include <cmath>

#include "tessera/spec/node.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::workload {

namespace {

/// Keeps every product of a coefficient and a position exact.
constexpr std::int64_t max_coefficient = std::int64_t{1} << 31;

class Builder {
public:
    Builder(const spec::Symbols& variables, const Place& place, const std::string& text)
        : variables_(variables), place_(place), text_(text) {}

    Affine build(const spec::Ast& ast) const {
        using Kind = spec::Ast::Kind;
        if (ast.kind == Kind::literal && ast.value.is<double>()) {
            return constant(ast.value.as<double>());
        }
        if (ast.kind == Kind::name) {
            return name(ast.text);
        }
        if (ast.kind == Kind::unary && (ast.text == "-" || ast.text == "+")) {
            return scale(build(*ast.children[0]), ast.text == "-" ? -1 : 1);
        }
        if (ast.kind == Kind::binary) {
            return binary(ast);
        }
        error("not an affine expression");
    }

private:
    [[noreturn]] void error(const std::string& what) const {
        spec::fail(place_.position, place_.path,
                   {what, text_, "integer multiples of rank variables and integers, added up",
                    "write e.g. 2*p + r"});
    }

    Affine constant(double value) const {
        if (std::abs(value) > 9007199254740992.0) {
            error("a coefficient or constant is larger than 2^53");
        }
        if (value != std::floor(value)) {
            error("a coefficient or constant is no integer");
        }
        return {{}, static_cast<std::int64_t>(value)};
    }

    Affine name(const std::string& name) const {
        if (is_rank_variable_name(name)) {
            return {{{name, 1}}, 0};
        }
        return constant(
            spec::Expression::parse_text(name, place_.position, place_.path).number(variables_));
    }

    Affine scale(Affine affine, std::int64_t factor) const {
        if (factor == 0) {
            return {};
        }
        if (std::abs(factor) > max_coefficient && !affine.terms.empty()) {
            error("a coefficient is larger than 2^31");
        }
        for (auto& [variable, coefficient] : affine.terms) {
            if (std::abs(coefficient) > max_coefficient / std::abs(factor)) {
                error("a coefficient is larger than 2^31");
            }
            coefficient *= factor;
        }
        return {
            affine.terms,
            constant(static_cast<double>(affine.constant) * static_cast<double>(factor)).constant};
    }

    Affine binary(const spec::Ast& ast) const {
        const Affine left = build(*ast.children[0]);
        const Affine right = build(*ast.children[1]);
        if (ast.text == "+" || ast.text == "-") {
            const Affine addend = scale(right, ast.text == "-" ? -1 : 1);
            Affine result = left;
            for (const auto& [variable, coefficient] : addend.terms) {
                if ((result.terms[variable] += coefficient) == 0) {
                    result.terms.erase(variable);
                }
            }
            result.constant =
                constant(static_cast<double>(left.constant) + static_cast<double>(addend.constant))
                    .constant;
            return result;
        }
        if (ast.text == "*" && left.terms.empty()) {
            return scale(right, left.constant);
        }
        if (ast.text == "*" && right.terms.empty()) {
            return scale(left, right.constant);
        }
        error("not an affine expression");
    }

    const spec::Symbols& variables_;
    const Place& place_;
    const std::string& text_;
};

}  // namespace

Affine affine_of(const spec::Ast& ast, const spec::Symbols& variables, const Place& place,
                 const std::string& text) {
    return Builder(variables, place, text).build(ast);
}

Affine parse_affine(const std::string& text, const spec::Symbols& variables, const Place& place) {
    try {
        const spec::AstPtr ast = spec::parse_expression(text);
        return affine_of(*ast, variables, place, text);
    } catch (const spec::SyntaxError& error) {
        spec::fail(place.position, place.path,
                   {"not an expression: " + error.message, text, "e.g. 2*p + r", ""});
    }
}

bool is_identifier(const std::string& text) {
    const auto letter = [](char c) {
        return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' ||
               static_cast<unsigned char>(c) >= 0x80;
    };
    if (text.empty() || !letter(text[0])) {
        return false;
    }
    for (const char c : text) {
        if (!letter(c) && std::isdigit(static_cast<unsigned char>(c)) == 0) {
            return false;
        }
    }
    return true;
}

bool is_rank_variable_name(const std::string& text) {
    return is_identifier(text) && std::islower(static_cast<unsigned char>(text[0])) != 0;
}

bool is_rank_name(const std::string& text) {
    return is_identifier(text) && std::isupper(static_cast<unsigned char>(text[0])) != 0;
}

std::string upper_case(std::string text) {
    for (char& c : text) {
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return text;
}

}  // namespace tessera::workload
