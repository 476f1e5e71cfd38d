// Operators and functions on values: numbers, and formulas of quantities not known yet.

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>

#include "spec/ast.hpp"
#include "spec/limits.hpp"

namespace tessera::spec {

namespace {

using Op = Formula::Op;

bool numeric(const Value& value) {
    return value.is<double>() || value.is<bool>();
}

double number_of(const Value& value) {
    return value.is<bool>() ? (value.as<bool>() ? 1.0 : 0.0) : value.as<double>();
}

Formula formula_of(const Value& value) {
    return value.is<Formula>() ? value.as<Formula>() : Formula::constant(number_of(value));
}

Value formula(Op op, const Value& a, const Value& b) {
    Formula result = formula_of(a);
    const Formula right = formula_of(b);
    if (result.steps.size() + right.steps.size() > max_formula) {
        throw EvaluationError{"more than 10000 operations on action counts", "", ""};
    }
    result.steps.insert(result.steps.end(), right.steps.begin(), right.steps.end());
    result.steps.push_back({op, 0, 0});
    return result;
}

Value formula(Op op, const Value& a) {
    Formula result = formula_of(a);
    result.steps.push_back({op, 0, 0});
    return result;
}

double checked(double result, const std::string& op) {
    if (std::isnan(result)) {
        throw EvaluationError{"'" + op + "' has no defined result here (such as inf - inf)", "",
                              ""};
    }
    return result;
}

double number_arithmetic(const std::string& op, double a, double b) {
    if ((op == "/" || op == "//" || op == "%") && b == 0) {
        throw EvaluationError{"division by zero", "", ""};
    }
    if (op == "+") {
        return a + b;
    }
    if (op == "-") {
        return a - b;
    }
    if (op == "*") {
        return a * b;
    }
    if (op == "/") {
        return a / b;
    }
    if (op == "//") {
        return std::floor(a / b);
    }
    if (op == "%") {
        // The result has the sign of the divisor.
        return a - b * std::floor(a / b);
    }
    return std::pow(a, b);
}

bool is_number(const Value& value, double number) {
    return numeric(value) && number_of(value) == number;
}

/// Folds what a formula need not carry: neutral elements, and division by an infinite throughput.
Value formula_arithmetic(const std::string& op, const Value& a, const Value& b) {
    if (op == "+") {
        return is_number(a, 0) ? b : is_number(b, 0) ? a : formula(Op::add, a, b);
    }
    if (op == "-") {
        return is_number(b, 0) ? a : formula(Op::sub, a, b);
    }
    if (op == "*") {
        if (is_number(a, 0) || is_number(b, 0)) {
            return 0.0;
        }
        return is_number(a, 1) ? b : is_number(b, 1) ? a : formula(Op::mul, a, b);
    }
    if (op == "/" || op == "//") {
        if (numeric(b) && number_of(b) == 0) {
            throw EvaluationError{"division by zero", "", ""};
        }
        if ((numeric(b) && std::isinf(number_of(b))) || is_number(a, 0)) {
            return 0.0;
        }
        const Value quotient = is_number(b, 1) ? a : formula(Op::div, a, b);
        return op == "/" ? quotient : formula(Op::floor, quotient);
    }
    throw EvaluationError{"'" + op + "' cannot be applied to action counts",
                          "use + - * / // max min ceil floor", ""};
}

std::vector<Value> items_of(const std::string& name, const std::vector<Value>& arguments) {
    if (arguments.size() != 1 || numeric(arguments[0]) || arguments[0].is<Formula>()) {
        return arguments;
    }
    if (arguments[0].is<List>()) {
        return *arguments[0].as<List>();
    }
    throw EvaluationError{name + "() needs numbers, not " + arguments[0].type_name(), "", ""};
}

void demand_numbers(const std::string& name, const std::vector<Value>& values) {
    for (const Value& value : values) {
        if (!numeric(value) && !value.is<Formula>()) {
            throw EvaluationError{name + "() needs numbers, not " + value.type_name(), "", ""};
        }
    }
}

/// max and min: numbers are folded first, formulas follow.
Value extremum(const std::string& name, const std::vector<Value>& arguments) {
    const std::vector<Value> items = items_of(name, arguments);
    demand_numbers(name, items);
    if (items.empty()) {
        throw EvaluationError{name + "() of nothing", "", ""};
    }
    Value result = items[0];
    for (std::size_t i = 1; i < items.size(); ++i) {
        if (numeric(result) && numeric(items[i])) {
            const double a = number_of(result);
            const double b = number_of(items[i]);
            result = name == "max" ? std::max(a, b) : std::min(a, b);
        } else {
            result = formula(name == "max" ? Op::max : Op::min, result, items[i]);
        }
    }
    return result;
}

Value sum(const std::vector<Value>& arguments) {
    Value result = 0.0;
    for (const Value& item : items_of("sum", arguments)) {
        demand_numbers("sum", {item});
        result = arithmetic("+", result, item);
    }
    return result;
}

Value length(const std::vector<Value>& arguments) {
    if (arguments.size() == 1) {
        const Value& value = arguments[0];
        if (value.is<TensorSet>()) {
            return static_cast<double>(std::popcount(value.as<TensorSet>().mask));
        }
        if (value.is<RankVariableSet>()) {
            return static_cast<double>(std::popcount(value.as<RankVariableSet>().mask));
        }
        if (value.is<List>()) {
            return static_cast<double>(value.as<List>()->size());
        }
        if (value.is<std::string>()) {
            return static_cast<double>(value.as<std::string>().size());
        }
        if (value.is<ObjectPtr>()) {
            return static_cast<double>(value.as<ObjectPtr>()->elements().size());
        }
        throw EvaluationError{"len() of " + value.type_name(), "give it a set or a list", ""};
    }
    throw EvaluationError{"len() takes one argument", "", ""};
}

/// float("inf") is how Python writes infinity.
Value to_float(const std::vector<Value>& arguments) {
    if (arguments.size() == 1 && arguments[0].is<std::string>()) {
        const std::string& text = arguments[0].as<std::string>();
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc() && end == text.data() + text.size() && !std::isnan(number)) {
            return number;
        }
    }
    if (arguments.size() == 1 && numeric(arguments[0])) {
        return number_of(arguments[0]);
    }
    throw EvaluationError{"float() needs a number or the text of one", "", ""};
}

struct Function {
    const char* name;
    std::function<double(double)> on_number;  ///< empty: takes lists or sets
    bool on_formula = false;
    Op op = Op::constant;
};

const std::vector<Function>& functions() {
    static const std::vector<Function> table = {
        {"abs", [](double x) { return std::abs(x); }},
        {"ceil", [](double x) { return std::ceil(x); }, true, Op::ceil},
        {"floor", [](double x) { return std::floor(x); }, true, Op::floor},
        {"log", [](double x) { return std::log(x); }},
        {"log2", [](double x) { return std::log2(x); }},
        {"round", [](double x) { return std::nearbyint(x); }},
        {"sqrt", [](double x) { return std::sqrt(x); }},
        {"float", {}},
        {"len", {}},
        {"max", {}},
        {"min", {}},
        {"sum", {}},
    };
    return table;
}

}  // namespace

bool is_function(const std::string& name) {
    return std::any_of(functions().begin(), functions().end(),
                       [&](const Function& function) { return function.name == name; });
}

Value arithmetic(const std::string& op, const Value& a, const Value& b) {
    for (const Value* operand : {&a, &b}) {
        if (!numeric(*operand) && !operand->is<Formula>()) {
            throw EvaluationError{"'" + op + "' needs numbers, not " + operand->type_name(), "",
                                  ""};
        }
    }
    if (numeric(a) && numeric(b)) {
        return checked(number_arithmetic(op, number_of(a), number_of(b)), op);
    }
    return formula_arithmetic(op, a, b);
}

Value call_function(const std::string& name, const std::vector<Value>& arguments) {
    if (name == "len") {
        return length(arguments);
    }
    if (name == "float") {
        return to_float(arguments);
    }
    if (name == "sum") {
        return sum(arguments);
    }
    if (name == "max" || name == "min") {
        return extremum(name, arguments);
    }
    demand_numbers(name, arguments);
    if (arguments.size() != 1) {
        throw EvaluationError{name + "() takes one argument", "", ""};
    }
    for (const Function& function : functions()) {
        if (function.name != name) {
            continue;
        }
        if (numeric(arguments[0])) {
            return checked(function.on_number(number_of(arguments[0])), name + "()");
        }
        if (function.on_formula) {
            return formula(function.op, arguments[0]);
        }
    }
    throw EvaluationError{name + "() cannot be applied to action counts",
                          "use + - * / // max min ceil floor", ""};
}

bool truth_of(const Value& value) {
    if (numeric(value)) {
        return number_of(value) != 0;
    }
    if (value.is<TensorSet>()) {
        return value.as<TensorSet>().mask != 0;
    }
    if (value.is<RankVariableSet>()) {
        return value.as<RankVariableSet>().mask != 0;
    }
    if (value.is<std::string>()) {
        return !value.as<std::string>().empty();
    }
    if (value.is<List>()) {
        return !value.as<List>()->empty();
    }
    throw EvaluationError{"a condition cannot be " + value.type_name(), "", ""};
}

}  // namespace tessera::spec
