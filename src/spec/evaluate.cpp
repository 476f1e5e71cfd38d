// Evaluation of a syntax tree by plain recursion; the parser bounds the depth.

#include <bit>
#include <cmath>
#include <numbers>

#include "spec/ast.hpp"
#include "spec/limits.hpp"
#include "tessera/spec/expression.hpp"

namespace tessera::spec {

namespace {

// What an expression recurses through keeps its errors' texts in functions of their own: a frame
// holds room for every one of them, used or not.
[[noreturn, gnu::noinline]] void unknown_name(const std::string& name, const Symbols& symbols) {
    const std::vector<std::string> names = symbols.names();
    std::string remedy = did_you_mean(name, names);
    if (symbols.universe() != nullptr &&
        (name == "input" || name == "output" || name == "weight")) {
        remedy = "the workload has no rename '" + name + "': add it under 'renames'";
    }
    if (remedy.empty()) {
        remedy = "known names: " + name_list(names);
    }
    throw EvaluationError{"unknown name '" + name + "'", remedy, name};
}

[[noreturn, gnu::noinline]] void fails(const char* message, const char* remedy = "") {
    throw EvaluationError{message, remedy, ""};
}

Value lookup(const std::string& name, const Symbols& symbols) {
    if (std::optional<Value> value = symbols.find(name)) {
        return std::move(*value);
    }
    if (name == "pi" || name == "e" || name == "tau") {
        return name == "e"    ? std::numbers::e
               : name == "pi" ? std::numbers::pi
                              : 2 * std::numbers::pi;
    }
    unknown_name(name, symbols);
}

template <class Set>
Set set_operation(const std::string& op, Set a, Set b) {
    if (op == "|") {
        return {a.mask | b.mask};
    }
    if (op == "&") {
        return {a.mask & b.mask};
    }
    if (op == "^") {
        return {a.mask ^ b.mask};
    }
    return {a.mask & ~b.mask};
}

bool is_set(const Value& value) {
    return value.is<TensorSet>() || value.is<RankVariableSet>();
}

Value binary(const std::string& op, const Value& a, const Value& b) {
    const bool set_operator = op == "|" || op == "&" || op == "^";
    if (!set_operator && !(op == "-" && (is_set(a) || is_set(b)))) {
        if (op == "+" && a.is<std::string>() && b.is<std::string>()) {
            if (a.as<std::string>().size() + b.as<std::string>().size() > max_text) {
                throw EvaluationError{"the text becomes longer than a million characters", "", ""};
            }
            return a.as<std::string>() + b.as<std::string>();
        }
        return arithmetic(op, a, b);
    }
    if (a.is<TensorSet>() && b.is<TensorSet>()) {
        return set_operation(op, a.as<TensorSet>(), b.as<TensorSet>());
    }
    if (a.is<RankVariableSet>() && b.is<RankVariableSet>()) {
        return set_operation(op, a.as<RankVariableSet>(), b.as<RankVariableSet>());
    }
    throw EvaluationError{
        "'" + op + "' needs two sets of one kind, not " + a.type_name() + " and " + b.type_name(),
        "", ""};
}

Value complement(const Value& value, const Symbols& symbols) {
    if (!is_set(value)) {
        throw EvaluationError{"'~' needs a set, not " + value.type_name(), "", ""};
    }
    const SetUniverse* universe = symbols.universe();
    if (universe == nullptr) {
        throw EvaluationError{"'~' can only be used where an Einsum is known", "", ""};
    }
    if (value.is<TensorSet>()) {
        return TensorSet{universe->all_tensors() & ~value.as<TensorSet>().mask};
    }
    return RankVariableSet{universe->all_rank_variables() & ~value.as<RankVariableSet>().mask};
}

[[gnu::noinline]] Value unary(const Ast& ast, const Symbols& symbols) {
    const Value value = evaluate_ast(*ast.children[0], symbols);
    if (ast.text == "not") {
        return !truth_of(value);
    }
    if (ast.text == "~") {
        return complement(value, symbols);
    }
    return ast.text == "-" ? arithmetic("-", 0.0, value) : arithmetic("+", 0.0, value);
}

[[gnu::noinline]] Value logical(const Ast& ast, const Symbols& symbols) {
    Value left = evaluate_ast(*ast.children[0], symbols);
    const bool stop = truth_of(left) == (ast.text == "or");
    return stop ? left : evaluate_ast(*ast.children[1], symbols);
}

template <class T>
bool ordered(const std::string& op, const T& a, const T& b) {
    if (op == "<") {
        return a < b;
    }
    if (op == "<=") {
        return a <= b;
    }
    return op == ">" ? a > b : a >= b;
}

/// <= on sets is "is a subset of".
bool ordered_sets(const std::string& op, std::uint64_t a, std::uint64_t b) {
    if (op == ">" || op == ">=") {
        return ordered_sets(op == ">" ? "<" : "<=", b, a);
    }
    return (a & ~b) == 0 && (op == "<=" || a != b);
}

bool numeric(const Value& value) {
    return value.is<double>() || value.is<bool>();
}

double number_of(const Value& value) {
    return value.is<bool>() ? (value.as<bool>() ? 1.0 : 0.0) : value.as<double>();
}

bool equal(const Value& a, const Value& b) {
    if (numeric(a) && numeric(b)) {
        return number_of(a) == number_of(b);
    }
    if (a.is<std::string>() && b.is<std::string>()) {
        return a.as<std::string>() == b.as<std::string>();
    }
    if (a.is<TensorSet>() && b.is<TensorSet>()) {
        return a.as<TensorSet>() == b.as<TensorSet>();
    }
    if (a.is<RankVariableSet>() && b.is<RankVariableSet>()) {
        return a.as<RankVariableSet>() == b.as<RankVariableSet>();
    }
    if (a.is<Formula>() || b.is<Formula>()) {
        throw EvaluationError{"action counts cannot be compared", "", ""};
    }
    return false;
}

bool compare(const std::string& op, const Value& a, const Value& b) {
    if (op == "==" || op == "!=") {
        return equal(a, b) == (op == "==");
    }
    if (numeric(a) && numeric(b)) {
        return ordered(op, number_of(a), number_of(b));
    }
    if (a.is<std::string>() && b.is<std::string>()) {
        return ordered(op, a.as<std::string>(), b.as<std::string>());
    }
    if (a.is<TensorSet>() && b.is<TensorSet>()) {
        return ordered_sets(op, a.as<TensorSet>().mask, b.as<TensorSet>().mask);
    }
    if (a.is<RankVariableSet>() && b.is<RankVariableSet>()) {
        return ordered_sets(op, a.as<RankVariableSet>().mask, b.as<RankVariableSet>().mask);
    }
    throw EvaluationError{"'" + op + "' cannot compare " + a.type_name() + " with " + b.type_name(),
                          "", ""};
}

[[gnu::noinline]] Value comparison(const Ast& ast, const Symbols& symbols) {
    Value left = evaluate_ast(*ast.children[0], symbols);
    for (std::size_t i = 0; i < ast.operators.size(); ++i) {
        Value right = evaluate_ast(*ast.children[i + 1], symbols);
        if (!compare(ast.operators[i], left, right)) {
            return false;
        }
        left = std::move(right);
    }
    return true;
}

std::vector<Value> elements_of(const Value& value) {
    if (value.is<List>()) {
        return *value.as<List>();
    }
    if (value.is<ObjectPtr>()) {
        return value.as<ObjectPtr>()->elements();
    }
    throw EvaluationError{"'in' needs a list, not " + value.type_name(), "", ""};
}

[[gnu::noinline]] std::vector<Value> generate(const Ast& ast, const Symbols& symbols) {
    std::vector<Value> result;
    Symbols scope = symbols.child();
    for (const Value& element : elements_of(evaluate_ast(*ast.children[1], symbols))) {
        scope.set(ast.text, element);
        if (ast.children.size() < 3 || truth_of(evaluate_ast(*ast.children[2], scope))) {
            result.push_back(evaluate_ast(*ast.children[0], scope));
        }
    }
    return result;
}

[[gnu::noinline]] Value conditional(const Ast& ast, const Symbols& symbols) {
    std::size_t i = 0;
    while (i + 1 < ast.children.size() && !truth_of(evaluate_ast(*ast.children[i], symbols))) {
        i += 2;
    }
    return evaluate_ast(*ast.children[i + 1 < ast.children.size() ? i + 1 : i], symbols);
}

[[gnu::noinline]] Value call(const Ast& ast, const Symbols& symbols) {
    std::vector<Value> arguments;
    for (const AstPtr& child : ast.children) {
        arguments.push_back(evaluate_ast(*child, symbols));
    }
    return call_function(ast.text, arguments);
}

Value tensor_set_attribute(TensorSet set, const std::string& name, const Symbols& symbols) {
    const SetUniverse* universe = symbols.universe();
    if (name == "tensors") {
        return set;
    }
    if (name == "rank_variables" && universe != nullptr) {
        std::uint64_t mask = 0;
        for (std::uint64_t rest = set.mask; rest != 0; rest &= rest - 1) {
            mask |=
                universe->rank_variables_of.at(static_cast<std::size_t>(std::countr_zero(rest)));
        }
        return RankVariableSet{mask};
    }
    if (name == "bits_per_value" && universe != nullptr && !universe->bits_per_value.empty()) {
        if (std::popcount(set.mask) != 1) {
            throw EvaluationError{"bits_per_value needs a set of exactly one tensor, not " +
                                      Value(set).text(universe),
                                  "", ""};
        }
        return universe->bits_per_value.at(static_cast<std::size_t>(std::countr_zero(set.mask)));
    }
    throw EvaluationError{"a set of tensors has no attribute '" + name + "'",
                          "attributes: bits_per_value, rank_variables, tensors", ""};
}

[[gnu::noinline]] Value attribute(const Ast& ast, const Symbols& symbols) {
    const Value object = evaluate_ast(*ast.children[0], symbols);
    if (object.is<TensorSet>()) {
        return tensor_set_attribute(object.as<TensorSet>(), ast.text, symbols);
    }
    if (object.is<RankVariableSet>() && ast.text == "rank_variables") {
        return object;
    }
    if (object.is<ObjectPtr>()) {
        if (const auto value = object.as<ObjectPtr>()->attribute(ast.text)) {
            return *value;
        }
        const std::vector<std::string> known = object.as<ObjectPtr>()->attributes();
        const std::string hint = did_you_mean(ast.text, known);
        throw EvaluationError{object.type_name() + " has no attribute '" + ast.text + "'",
                              hint.empty() ? "attributes: " + name_list(known) : hint, ""};
    }
    throw EvaluationError{object.type_name() + " has no attribute '" + ast.text + "'", "", ""};
}

/// list[0], list["name"] (the element whose attribute `name` is that text).
[[gnu::noinline]] Value index(const Ast& ast, const Symbols& symbols) {
    const std::vector<Value> elements = elements_of(evaluate_ast(*ast.children[0], symbols));
    const Value key = evaluate_ast(*ast.children[1], symbols);
    if (key.is<std::string>()) {
        std::vector<std::string> known;
        for (const Value& element : elements) {
            const auto name =
                element.is<ObjectPtr>() ? element.as<ObjectPtr>()->attribute("name") : nullptr;
            if (name && name->is<std::string>()) {
                if (name->as<std::string>() == key.as<std::string>()) {
                    return element;
                }
                known.push_back(name->as<std::string>());
            }
        }
        throw EvaluationError{"there is no element '" + key.as<std::string>() + "'",
                              "elements: " + name_list(known), ""};
    }
    if (!key.is<double>() || key.as<double>() != std::floor(key.as<double>()) ||
        key.as<double>() < 0 || key.as<double>() >= static_cast<double>(elements.size())) {
        throw EvaluationError{
            "index " + key.text() + " is outside a list of " + std::to_string(elements.size()), "",
            ""};
    }
    return elements[static_cast<std::size_t>(key.as<double>())];
}

[[gnu::noinline]] Value list(const Ast& ast, const Symbols& symbols) {
    std::vector<Value> items;
    for (const AstPtr& child : ast.children) {
        items.push_back(evaluate_ast(*child, symbols));
    }
    return Value::list(std::move(items));
}

/// The way from the expression asked for to the part that is evaluated, through the names on it.
class Step {
public:
    Step() {
        steps_ = depth_ == 0 ? 0 : steps_;
        if (depth_ == max_depth) {
            fails("the expression is nested too deeply, with the names in it");
        }
        if (++steps_ > max_steps) {
            fails("the expression takes more than a million steps", "use shorter lists");
        }
        ++depth_;
    }
    ~Step() {
        --depth_;
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

private:
    static thread_local int depth_;
    static thread_local std::size_t steps_;
};

thread_local int Step::depth_ = 0;
thread_local std::size_t Step::steps_ = 0;

}  // namespace

Value evaluate_ast(const Ast& ast, const Symbols& symbols) {
    const Step step;
    switch (ast.kind) {
        case Ast::Kind::literal:
            return ast.value;
        case Ast::Kind::name:
            return lookup(ast.text, symbols);
        case Ast::Kind::unary:
            return unary(ast, symbols);
        case Ast::Kind::binary:
            if (ast.text == "and" || ast.text == "or") {
                return logical(ast, symbols);
            }
            return binary(ast.text, evaluate_ast(*ast.children[0], symbols),
                          evaluate_ast(*ast.children[1], symbols));
        case Ast::Kind::comparison:
            return comparison(ast, symbols);
        case Ast::Kind::conditional:
            return conditional(ast, symbols);
        case Ast::Kind::call:
            return call(ast, symbols);
        case Ast::Kind::generator:
            return Value::list(generate(ast, symbols));
        case Ast::Kind::attribute:
            return attribute(ast, symbols);
        case Ast::Kind::index:
            return index(ast, symbols);
        case Ast::Kind::list:
            return list(ast, symbols);
    }
    fails("the expression cannot be evaluated");
}

}  // namespace tessera::spec
