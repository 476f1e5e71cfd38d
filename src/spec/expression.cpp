#include "tessera/spec/expression.hpp"

#include <algorithm>
#include <cmath>

#include "spec/ast.hpp"
#include "tessera/spec/node.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::spec {

struct Expression::Source {
    std::string text;
    Position position;
    std::string path;
};

namespace {

/// Integers beyond this are not exact in a double.
constexpr double max_integer = 9007199254740992.0;

void collect_names(const Ast& ast, std::vector<std::string>& bound, std::vector<std::string>& out) {
    const auto has = [](const std::vector<std::string>& names, const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (ast.kind == Ast::Kind::generator) {
        collect_names(*ast.children[1], bound, out);
        bound.push_back(ast.text);
        collect_names(*ast.children[0], bound, out);
        if (ast.children.size() > 2) {
            collect_names(*ast.children[2], bound, out);
        }
        bound.pop_back();
        return;
    }
    if (ast.kind == Ast::Kind::name && !has(bound, ast.text) && !has(out, ast.text)) {
        out.push_back(ast.text);
    }
    for (const AstPtr& child : ast.children) {
        collect_names(*child, bound, out);
    }
}

AstPtr parse_node(const Node& node) {
    auto ast = std::make_shared<Ast>();
    if (node.is_sequence()) {
        ast->kind = Ast::Kind::list;
        for (const Node& item : node.items) {
            ast->children.push_back(parse_node(item));
        }
        return ast;
    }
    if (!node.is_scalar()) {
        fail(node, {"a value is needed here, not " + node.describe(), "",
                    "a number, text or an expression", ""});
    }
    if (node.quoted) {
        ast->value = Value(node.text);
        return ast;
    }
    try {
        return parse_expression(node.text);
    } catch (const SyntaxError& error) {
        fail(node, {"not an expression: " + error.message + " at character " +
                        std::to_string(error.offset + 1),
                    node.text, "", ""});
    }
}

}  // namespace

Expression Expression::parse(const Node& node) {
    Expression result;
    result.ast_ = parse_node(node);
    result.source_ = std::make_shared<const Source>(
        Source{node.is_scalar() ? node.text : node.brief(), node.position, node.path});
    return result;
}

Expression Expression::parse_text(const std::string& text, const Position& position,
                                  const std::string& path) {
    Node node = Node::scalar(text, position);
    node.path = path;
    return parse(node);
}

Expression Expression::constant(Value value, const Position& position, const std::string& path) {
    Expression result;
    result.source_ = std::make_shared<const Source>(Source{value.text(), position, path});
    auto ast = std::make_shared<Ast>();
    ast->value = std::move(value);
    result.ast_ = std::move(ast);
    return result;
}

const std::string& Expression::text() const {
    static const std::string none;
    return source_ ? source_->text : none;
}

const Position& Expression::position() const {
    static const Position none;
    return source_ ? source_->position : none;
}

const std::string& Expression::path() const {
    static const std::string none;
    return source_ ? source_->path : none;
}

std::vector<std::string> Expression::names() const {
    std::vector<std::string> bound;
    std::vector<std::string> result;
    if (ast_) {
        collect_names(*ast_, bound, result);
    }
    return result;
}

void Expression::fail(const std::string& what, const std::string& expected,
                      const std::string& remedy) const {
    spec::fail(position(), path(), {what, text(), expected, remedy});
}

Value Expression::evaluate(const Symbols& symbols) const {
    if (!ast_) {
        throw Bug("an empty expression was evaluated");
    }
    try {
        return evaluate_ast(*ast_, symbols);
    } catch (const EvaluationError& error) {
        // A name that stands alone needs no repetition of the text.
        const bool same = error.unknown_name == text();
        const Complaint complaint{error.message, same ? "" : text(), "", error.remedy};
        if (error.unknown_name.empty()) {
            spec::fail(position(), path(), complaint);
        }
        throw UnknownName(position(), complaint_text(path(), complaint), error.unknown_name);
    }
}

double Expression::number(const Symbols& symbols) const {
    const Value value = evaluate(symbols);
    if (value.is<bool>()) {
        return value.as<bool>() ? 1.0 : 0.0;
    }
    if (!value.is<double>()) {
        fail("this is " + value.type_name(), "a number");
    }
    return value.as<double>();
}

std::int64_t Expression::integer(const Symbols& symbols) const {
    const double value = number(symbols);
    if (value != std::floor(value) || std::abs(value) > max_integer) {
        const bool literal = text() == number_text(value);
        fail("not an integer" + (literal ? "" : " (it evaluates to " + number_text(value) + ")"),
             "an integer of magnitude up to 2^53");
    }
    return static_cast<std::int64_t>(value);
}

bool Expression::truth(const Symbols& symbols) const {
    const Value value = evaluate(symbols);
    if (value.is<bool>() || value.is<double>() || value.is<TensorSet>() ||
        value.is<RankVariableSet>()) {
        return truth_of(value);
    }
    fail("this is " + value.type_name(), "True or False");
}

std::uint64_t Expression::tensors(const Symbols& symbols) const {
    const Value value = evaluate(symbols);
    if (!value.is<TensorSet>()) {
        fail("this is " + value.type_name(), "a set of tensors",
             "use names such as All, Nothing, input, output or a tensor");
    }
    return value.as<TensorSet>().mask;
}

std::uint64_t Expression::rank_variables(const Symbols& symbols) const {
    const Value value = evaluate(symbols);
    if (!value.is<RankVariableSet>()) {
        fail("this is " + value.type_name(), "a set of rank variables",
             "use rank variables or the .rank_variables of a set of tensors");
    }
    return value.as<RankVariableSet>().mask;
}

}  // namespace tessera::spec
