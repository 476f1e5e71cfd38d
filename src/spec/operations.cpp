// Operators and functions on values: numbers, and formulas of quantities not known yet.

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

#include "spec/ast.hpp"
#include "spec/limits.hpp"

namespace tessera::spec {

namespace {

using Op = Formula::Op;

constexpr double most_exact = 9007199254740992;  // 2^53

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

/// A whole number, cut off towards zero; of a text, the number in it.
Value to_integer(const std::vector<Value>& arguments) {
    const double number = number_of(to_float(arguments));
    if (std::isinf(number)) {
        throw EvaluationError{"int() of an infinite number", "", ""};
    }
    return std::trunc(number);
}

Value to_text(const std::vector<Value>& arguments) {
    if (arguments.size() == 1 && arguments[0].is<std::string>()) {
        return arguments[0];
    }
    if (arguments.size() == 1 && numeric(arguments[0])) {
        return number_text(number_of(arguments[0]));
    }
    throw EvaluationError{"str() needs a number or a text", "", ""};
}

Value product(const std::vector<Value>& arguments) {
    Value result = 1.0;
    for (const Value& item : items_of("prod", arguments)) {
        demand_numbers("prod", {item});
        result = arithmetic("*", result, item);
    }
    return result;
}

bool is_whole(double number) {
    return std::abs(number) <= most_exact && number == std::trunc(number);
}

Value greatest_divisor(const std::vector<Value>& arguments) {
    std::int64_t result = 0;
    for (const Value& item : arguments) {
        if (!numeric(item) || !is_whole(number_of(item))) {
            throw EvaluationError{"gcd() needs whole numbers", "", ""};
        }
        result = std::gcd(result, static_cast<std::int64_t>(number_of(item)));
    }
    return static_cast<double>(result);
}

double factorial(double number) {
    if (!is_whole(number) || number < 0) {
        throw EvaluationError{"factorial() needs a whole number, 0 or more", "", ""};
    }
    double result = 1;
    for (double i = 2; i <= number && !std::isinf(result); ++i) {
        result *= i;
    }
    return result;
}

/// Ordered choices of k things among n.
double choices(double n, double k) {
    if (!is_whole(n) || !is_whole(k) || n < 0 || k < 0) {
        throw EvaluationError{"comb() and perm() need whole numbers, 0 or more", "", ""};
    }
    double result = 1;
    for (double i = 0; i < k && result != 0 && !std::isinf(result); ++i) {
        result *= n - i;
    }
    return result;
}

Value power(const std::vector<Value>& arguments) {
    if (arguments.size() != 2) {
        throw EvaluationError{"pow() takes two arguments", "", ""};
    }
    return arithmetic("**", arguments[0], arguments[1]);
}

struct Function {
    const char* name;
    double (*on_number)(double);
    bool on_formula = false;
    Op op = Op::constant;
};

const std::vector<Function>& functions() {
    static const std::vector<Function> table = {
        {"abs", [](double x) { return std::abs(x); }},
        {"acos", [](double x) { return std::acos(x); }},
        {"acosh", [](double x) { return std::acosh(x); }},
        {"asin", [](double x) { return std::asin(x); }},
        {"asinh", [](double x) { return std::asinh(x); }},
        {"atan", [](double x) { return std::atan(x); }},
        {"atanh", [](double x) { return std::atanh(x); }},
        {"bool", [](double x) { return x != 0 ? 1.0 : 0.0; }},
        {"ceil", [](double x) { return std::ceil(x); }, true, Op::ceil},
        {"cos", [](double x) { return std::cos(x); }},
        {"cosh", [](double x) { return std::cosh(x); }},
        {"degrees", [](double x) { return x * 180 / std::numbers::pi; }},
        {"erf", [](double x) { return std::erf(x); }},
        {"erfc", [](double x) { return std::erfc(x); }},
        {"exp", [](double x) { return std::exp(x); }},
        {"expm1", [](double x) { return std::expm1(x); }},
        {"fabs", [](double x) { return std::abs(x); }},
        {"factorial", &factorial},
        {"floor", [](double x) { return std::floor(x); }, true, Op::floor},
        {"gamma", [](double x) { return std::tgamma(x); }},
        {"isqrt", [](double x) { return std::floor(std::sqrt(x)); }},
        {"log", [](double x) { return std::log(x); }},
        {"log10", [](double x) { return std::log10(x); }},
        {"log1p", [](double x) { return std::log1p(x); }},
        {"log2", [](double x) { return std::log2(x); }},
        {"radians", [](double x) { return x * std::numbers::pi / 180; }},
        {"round", [](double x) { return std::nearbyint(x); }},
        {"sin", [](double x) { return std::sin(x); }},
        {"sinh", [](double x) { return std::sinh(x); }},
        {"sqrt", [](double x) { return std::sqrt(x); }},
        {"tan", [](double x) { return std::tan(x); }},
        {"tanh", [](double x) { return std::tanh(x); }},
        {"trunc", [](double x) { return std::trunc(x); }},
    };
    return table;
}

/// Of two numbers; `log` is that to a base.
const std::map<std::string, double (*)(double, double)>& functions_of_two() {
    static const std::map<std::string, double (*)(double, double)> table = {
        {"atan2", [](double y, double x) { return std::atan2(y, x); }},
        {"comb", [](double n, double k) { return choices(n, k) / factorial(k); }},
        {"copysign", [](double x, double sign) { return std::copysign(x, sign); }},
        {"fmod", [](double x, double y) { return std::fmod(x, y); }},
        {"hypot", [](double x, double y) { return std::hypot(x, y); }},
        {"log", [](double x, double base) { return std::log(x) / std::log(base); }},
        {"perm", &choices},
    };
    return table;
}

using Several = Value (*)(const std::vector<Value>&);

/// Those that take texts, lists or sets, or several arguments.
const std::map<std::string, Several>& functions_of_several() {
    static const std::map<std::string, Several> table = {
        {"float", &to_float},
        {"gcd", &greatest_divisor},
        {"int", &to_integer},
        {"len", &length},
        {"max", [](const std::vector<Value>& a) { return extremum("max", a); }},
        {"min", [](const std::vector<Value>& a) { return extremum("min", a); }},
        {"pow", &power},
        {"prod", &product},
        {"str", &to_text},
        {"sum", &sum},
    };
    return table;
}

}  // namespace

bool is_function(const std::string& name) {
    return functions_of_several().count(name) > 0 || functions_of_two().count(name) > 0 ||
           std::any_of(functions().begin(), functions().end(),
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
    const auto several = functions_of_several().find(name);
    if (several != functions_of_several().end()) {
        return several->second(arguments);
    }
    demand_numbers(name, arguments);
    const auto of_two = functions_of_two().find(name);
    if (of_two != functions_of_two().end() && arguments.size() == 2 && numeric(arguments[0]) &&
        numeric(arguments[1])) {
        return checked(of_two->second(number_of(arguments[0]), number_of(arguments[1])),
                       name + "()");
    }
    if (arguments.size() != 1) {
        const bool two = of_two != functions_of_two().end() && name != "log";
        throw EvaluationError{name + "() takes " + (two ? "two arguments" : "one argument"), "",
                              ""};
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
