#include "tessera/spec/expression.hpp"
#include "tessera/spec/node.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>

using namespace tessera;
using namespace tessera::spec;
namespace data = boost::unit_test::data;

namespace {

/// A 3-tensor Einsum: A[m,k], W[k,n], Z[m,n]; rank variables k, m, n.
Symbols matmul_symbols() {
    auto universe = std::make_shared<SetUniverse>();
    universe->tensors = {"A", "W", "Z"};
    universe->rank_variables = {"k", "m", "n"};
    universe->rank_variables_of = {0b011, 0b101, 0b110};
    universe->bits_per_value = {8, 4, 16};
    Symbols symbols;
    symbols.set_universe(universe);
    symbols.set("A", TensorSet{1});
    symbols.set("W", TensorSet{2});
    symbols.set("Z", TensorSet{4});
    symbols.set("All", TensorSet{7});
    symbols.set("Nothing", TensorSet{0});
    symbols.set("output", TensorSet{4});
    symbols.set("k", RankVariableSet{1});
    symbols.set("m", RankVariableSet{2});
    symbols.set("n", RankVariableSet{4});
    symbols.set("N", 12.0);
    symbols.set("half", 0.5);
    symbols.set("decode", true);
    return symbols;
}

Expression parse(const std::string& text) {
    return Expression::parse_text(text, Position{"test", 3, 7}, "a.b");
}

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

struct NumberCase {
    const char* text;
    double value;
};
std::ostream& operator<<(std::ostream& out, const NumberCase& c) {
    return out << c.text;
}

const NumberCase number_cases[] = {
    {"42", 42},
    {"1e9", 1e9},
    {"-1.5E-3", -1.5e-3},
    {".5", 0.5},
    {"1 + 2 * 3", 7},
    {"(1 + 2) * 3", 9},
    {"10 - 4 - 3", 3},
    {"2 ** 3 ** 2", 512},
    {"-2 ** 2", -4},
    {"2 ** -1", 0.5},
    {"7 // 2", 3},
    {"-7 // 2", -4},
    {"7 / 2", 3.5},
    {"-7 % 3", 2},
    {"7 % -3", -2},
    {"N * 2", 24},
    {"ceil(N / 5)", 3},
    {"floor(-0.5)", -1},
    {"min(3, N, 5)", 3},
    {"max([3, N, 5])", 12},
    {"sum([1, 2, 3])", 6},
    {"abs(-3)", 3},
    {"round(2.5)", 2},
    {"round(3.5)", 4},
    {"log2(8)", 3},
    {"sqrt(16)", 4},
    {"exp(0) + log10(1000)", 4},
    {"pow(2, 5) - 2 ** 5", 0},
    {"prod(2, 3, 4)", 24},
    {"prod([2, 3])", 6},
    {"gcd(12, 18)", 6},
    {"int(2.7) + int(-2.7) + int('3')", 3},
    {"len(str(128))", 3},
    {"trunc(-1.5)", -1},
    {"factorial(5)", 120},
    {"sin(0) + cos(0) + tan(0)", 1},
    {"asin(0) + acos(1) + atan(0)", 0},
    {"sinh(0) + cosh(0) + tanh(0)", 1},
    {"round(pi * 1e6)", 3141593},
    {"round(e * 1e6) + round(tau / pi)", 2718284},
    {"asinh(0) + acosh(1) + atanh(0) + atan2(0, 1)", 0},
    {"degrees(pi) + radians(0)", 180},
    {"comb(5, 2) + perm(5, 2)", 30},
    {"log(8, 2) + hypot(3, 4) + fmod(7, 4)", 11},
    {"copysign(2, -1) + fabs(-3) + isqrt(17)", 5},
    {"erf(0) + erfc(0) + expm1(0) + log1p(0) + gamma(4)", 7},
    {"bool(3) + bool(0)", 1},
    {"log(1)", 0},
    {"1 if decode else N", 1},
    {"1 if not decode else N", 12},
    {"1 if False else 2 if False else 3", 3},
    {"len(All)", 3},
    {"len(All - Z)", 2},
    {"len([1, 2])", 2},
    {"W.bits_per_value", 4},
    {"sum(x * x for x in [1, 2, 3])", 14},
    {"max(x for x in [1, 2, 3] if x < 3)", 2},
    {"[4, 5, 6][1]", 5},
    {"N()", 12},
    {"len(\"abc\")", 3},
    {"len('a' + 'bc')", 3},
    {"True + True", 2},
    {"0 or 5", 5},
    {"3 and 5", 5},
};

struct TruthCase {
    const char* text;
    bool value;
};
std::ostream& operator<<(std::ostream& out, const TruthCase& c) {
    return out << c.text;
}

const TruthCase truth_cases[] = {
    {"True", true},
    {"false", false},
    {"len(All) == 3", true},
    {"len(All) != 3", false},
    {"0 <= N < 16", true},
    {"0 <= N < 12", false},
    {"1 < 2 and 2 < 1", false},
    {"1 < 2 or 2 < 1", true},
    {"not Nothing", true},
    {"All", true},
    {"All & Nothing", false},
    {"A == W", false},
    {"A | W | Z == All", true},
    {"A <= All", true},
    {"A < A", false},
    {"All > A", true},
    {"A == 1", false},
    {"'x' == \"x\"", true},
    {"'a' < 'b'", true},
    {"N >= 12", true},
};

struct SetCase {
    const char* text;
    std::uint64_t mask;
};
std::ostream& operator<<(std::ostream& out, const SetCase& c) {
    return out << c.text;
}

const SetCase tensor_cases[] = {
    {"A | W", 3},       {"All & W", 2},
    {"All - A", 6},     {"A ^ All", 6},
    {"~A", 6},          {"~(A | W)", 4},
    {"~A & ~W", 4},     {"output()", 4},
    {"All.tensors", 7}, {"A if len(All) == 3 else W", 1},
    {"~All", 0},        {"~A.tensors", 6},
};

const SetCase variable_cases[] = {
    {"m | n", 6},
    {"~m", 5},
    {"A.rank_variables", 3},
    {"~output.rank_variables", 1},
    {"(A & output).rank_variables", 0},
    {"m.rank_variables", 2},
    {"All.rank_variables - k", 6},
};

}  // namespace

BOOST_DATA_TEST_CASE(numbers, data::make(number_cases), c) {
    BOOST_TEST(parse(c.text).number(matmul_symbols()) == c.value);
}

BOOST_DATA_TEST_CASE(conditions, data::make(truth_cases), c) {
    BOOST_TEST(parse(c.text).truth(matmul_symbols()) == c.value);
}

BOOST_DATA_TEST_CASE(tensor_sets, data::make(tensor_cases), c) {
    BOOST_TEST(parse(c.text).tensors(matmul_symbols()) == c.mask);
}

BOOST_DATA_TEST_CASE(rank_variable_sets, data::make(variable_cases), c) {
    BOOST_TEST(parse(c.text).rank_variables(matmul_symbols()) == c.mask);
}

BOOST_AUTO_TEST_CASE(infinity_is_a_number) {
    BOOST_TEST(parse("inf").number({}) == std::numeric_limits<double>::infinity());
    BOOST_TEST(parse("-inf").number({}) == -std::numeric_limits<double>::infinity());
    BOOST_TEST(parse("5 / inf").number({}) == 0);
}

BOOST_AUTO_TEST_CASE(quoted_text_is_a_literal) {
    const Node node = Node::scalar("1 + 1", Position{}, true);
    BOOST_TEST(Expression::parse(node).evaluate({}).as<std::string>() == "1 + 1");
}

BOOST_AUTO_TEST_CASE(lazy_names_are_evaluated_where_they_are_defined) {
    Symbols outer;
    outer.set("x", 1.0);
    outer.set_lazy("y", parse("x + 1"));
    Symbols inner = outer.child();
    inner.set("x", 10.0);
    BOOST_TEST(parse("x + y").number(inner) == 12);
}

BOOST_AUTO_TEST_CASE(a_copy_of_symbols_does_not_see_later_changes) {
    Symbols original;
    original.set("x", 1.0);
    const Symbols copy = original;
    const Symbols scope = original.child();
    original.set("x", 2.0);
    BOOST_TEST(parse("x").number(copy) == 1);
    BOOST_TEST(parse("x").number(scope) == 1);
    BOOST_TEST(parse("x").number(original) == 2);
}

BOOST_AUTO_TEST_CASE(a_cycle_of_names_is_an_error) {
    Symbols symbols;
    symbols.set_lazy("x", parse("y + 1"));
    symbols.set_lazy("y", parse("x"));
    const std::string message = message_of([&] { parse("x").number(symbols); });
    BOOST_TEST(message.find("is defined by itself") != std::string::npos);
    // The failed evaluation leaves no trace.
    BOOST_TEST(message_of([&] { parse("x").number(symbols); }) == message);
}

BOOST_AUTO_TEST_CASE(what_failed_is_known_until_a_name_is_set) {
    Symbols symbols;
    symbols.set_lazy("x", parse("y + 1"));
    symbols.set_lazy("y", parse("z + 1"));
    const std::string message = message_of([&] { parse("x").number(symbols); });
    BOOST_TEST(message.find("unknown name 'z'") != std::string::npos);
    for (int again = 0; again < 2; ++again) {
        BOOST_TEST(message_of([&] { parse("y").number(symbols); }) == message);
        BOOST_CHECK_THROW(parse("x").number(symbols), UnknownName);
        symbols.resolve_all();
    }
    const Symbols before = symbols;
    symbols.set("z", 1.0);
    BOOST_TEST(parse("x").number(symbols) == 3);
    BOOST_CHECK_THROW(parse("x").number(before), UnknownName);
}

BOOST_AUTO_TEST_CASE(unknown_names_are_errors_that_name_the_nearest) {
    BOOST_TEST(message_of([] { parse("ouput | A").tensors(matmul_symbols()); }) ==
               "test:3:7: a.b: unknown name 'ouput': 'ouput | A'; did you mean 'output'?");
    BOOST_CHECK_THROW(parse("weight").evaluate(matmul_symbols()), UnknownName);
}

BOOST_AUTO_TEST_CASE(free_names_leave_out_functions_and_generator_variables) {
    const auto names = parse("max(a.n_calls / f for a in actions) + ~g.tensors + f").names();
    BOOST_TEST(names == (std::vector<std::string>{"actions", "f", "g"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(wrong_types_and_syntax_are_errors) {
    const auto fails = [](const std::string& text, const std::string& part) {
        const std::string message = message_of([&] { parse(text).evaluate(matmul_symbols()); });
        BOOST_TEST(message.find(part) != std::string::npos, text << " -> " << message);
    };
    fails("1 +", "ends too early");
    fails("(1", "expected ')'");
    fails("1 2", "unexpected '2'");
    fails("A $ B", "has no meaning");
    fails("'abc", "quote is not closed");
    fails("1 / 0", "division by zero");
    fails("1 // (N - 12)", "division by zero");
    fails("inf - inf", "no defined result");
    fails("A | 1", "two sets of one kind");
    fails("A | m", "two sets of one kind");
    fails("A + 1", "needs numbers");
    fails("~N", "needs a set");
    fails("A.size", "no attribute 'size'");
    fails("All.bits_per_value", "exactly one");
    fails("max()", "of nothing");
    fails("foo(1)", "not a function");
    fails("[1, 2][5]", "outside a list");
    fails("A < 1", "cannot compare");
    fails("12abc", "runs into a name");
    fails("1e999", "too large");
    fails(std::string(500, '('), "nested too deeply");
    fails(std::string(30000, '-') + "1", "too long");
}

BOOST_AUTO_TEST_CASE(a_chain_of_choices_may_be_long) {
    std::string chain = "0.5";
    for (int i = 0; i < 400; ++i) {
        chain = std::to_string(i) + " if N == " + std::to_string(i) + " else " + chain;
    }
    Symbols symbols = matmul_symbols();
    BOOST_TEST(parse(chain).number(symbols) == 12);
    for (const auto& [size, value] : {std::pair{0.0, 0.0}, {399.0, 399.0}, {400.0, 0.5}}) {
        symbols.set("N", size);
        BOOST_TEST(parse(chain).number(symbols) == value);
    }
    BOOST_TEST(parse("1 if False else (2 if False else 3) if True else 4").number(symbols) == 3);
}

BOOST_AUTO_TEST_CASE(typed_results_check_their_type) {
    const auto symbols = matmul_symbols();
    BOOST_TEST(message_of([&] { parse("A").number(symbols); }) ==
               "test:3:7: a.b: this is a set of tensors: 'A' (expected a number)");
    BOOST_TEST(message_of([&] {
                   parse("half").integer(symbols);
               }).find("not an integer (it evaluates to 0.5)") != std::string::npos);
    BOOST_TEST(parse("half * 4").integer(symbols) == 2);
    BOOST_CHECK_THROW(parse("m").tensors(symbols), UserError);
    BOOST_CHECK_THROW(parse("A").rank_variables(symbols), UserError);
    BOOST_CHECK_THROW(parse("'yes'").truth(symbols), UserError);
}

namespace {

class Action final : public Object {
public:
    Action(std::string name, int leaf, double throughput)
        : name_(std::move(name)), leaf_(leaf), throughput_(throughput) {}
    std::string type_name() const override {
        return "an action";
    }
    std::vector<std::string> attributes() const override {
        return {"n_calls", "name", "throughput"};
    }
    std::unique_ptr<Value> attribute(std::string_view name) const override {
        if (name == "name") {
            return std::make_unique<Value>(name_);
        }
        if (name == "n_calls") {
            return std::make_unique<Value>(Formula::leaf(leaf_));
        }
        return name == "throughput" ? std::make_unique<Value>(throughput_) : nullptr;
    }

private:
    std::string name_;
    int leaf_;
    double throughput_;
};

double evaluate(const Formula& formula, const std::vector<double>& leaves) {
    std::vector<double> stack;
    for (const Formula::Step& step : formula.steps) {
        using Op = Formula::Op;
        if (step.op == Op::constant || step.op == Op::leaf) {
            stack.push_back(step.op == Op::leaf ? leaves.at(static_cast<std::size_t>(step.leaf))
                                                : step.value);
            continue;
        }
        if (step.op == Op::ceil || step.op == Op::floor) {
            stack.back() = step.op == Op::ceil ? std::ceil(stack.back()) : std::floor(stack.back());
            continue;
        }
        const double b = stack.back();
        stack.pop_back();
        double& a = stack.back();
        a = step.op == Op::add   ? a + b
            : step.op == Op::sub ? a - b
            : step.op == Op::mul ? a * b
            : step.op == Op::div ? a / b
            : step.op == Op::max ? std::max(a, b)
                                 : std::min(a, b);
    }
    return stack.back();
}

/// Two actions, read (leaf 0, 4 per second) and write (leaf 1, infinitely fast); 100 and 30 calls.
double latency(const std::string& text) {
    const ObjectPtr read = std::make_shared<Action>("read", 0, 4);
    const ObjectPtr write =
        std::make_shared<Action>("write", 1, std::numeric_limits<double>::infinity());
    Symbols symbols;
    symbols.set("actions", Value::list({read, write}));
    const Value value = parse(text).evaluate(symbols);
    return evaluate(
        value.is<Formula>() ? value.as<Formula>() : Formula::constant(value.as<double>()),
        {100, 30});
}

}  // namespace

BOOST_AUTO_TEST_CASE(action_counts_compile_to_postfix) {
    BOOST_TEST(latency("sum(a.n_calls / a.throughput for a in actions)") == 25);
    BOOST_TEST(latency("2 * sum(a.n_calls for a in actions) / 32 / 5") == 2 * 130.0 / 32 / 5);
    BOOST_TEST(latency("max(a.n_calls / a.throughput for a in actions) + 1e-6") == 25 + 1e-6);
    BOOST_TEST(latency("ceil(sum(a.n_calls for a in actions) / 8) / 2") == 8.5);
    BOOST_TEST(latency("max(actions[\"read\"].n_calls / 2, actions[\"write\"].n_calls)") == 50);
    BOOST_TEST(latency("min(a.n_calls for a in actions)") == 30);
    BOOST_TEST(latency("actions[0].n_calls // 3 - 1") == 32);
    BOOST_TEST(latency("sum(a.n_calls for a in actions if a.name == 'write')") == 30);
    BOOST_TEST(latency("-actions[1].n_calls") == -30);
    BOOST_TEST(latency("7") == 7);
    BOOST_CHECK_THROW(latency("sqrt(actions[0].n_calls)"), UserError);
    BOOST_CHECK_THROW(latency("1 if actions[0].n_calls > 3 else 2"), UserError);
    BOOST_CHECK_THROW(latency("actions['reed'].n_calls"), UserError);
}

BOOST_AUTO_TEST_CASE(evaluation_has_an_end) {
    Symbols symbols = matmul_symbols();
    const auto message = [&](const std::string& text) {
        return message_of([&] { parse(text).evaluate(symbols); });
    };
    // Names that stand for names, deeper than the stack.
    const int links = 100'000;
    for (int i = 0; i < links; ++i) {
        symbols.set_lazy("V" + std::to_string(i), parse("V" + std::to_string(i + 1) + " + 1"));
    }
    symbols.set("V" + std::to_string(links), 1.0);
    BOOST_TEST(message("V0").find("nested too deeply") != std::string::npos);
    BOOST_TEST(parse("V" + std::to_string(links - 100)).number(symbols) == 101);
    // Texts that double, and lists of lists whose text would.
    symbols.set("T0", "xxxxxxxx");
    symbols.set("L0", Value::list({1.0, 2.0}));
    for (int i = 1; i < 40; ++i) {
        const std::string text = "T" + std::to_string(i - 1), list = "L" + std::to_string(i - 1);
        symbols.set_lazy("T" + std::to_string(i), parse(text + " + " + text));
        symbols.set_lazy("L" + std::to_string(i), parse("[" + list + ", " + list + "]"));
    }
    BOOST_TEST(message("T39").find("longer than a million") != std::string::npos);
    BOOST_TEST(message("L0[L39]").size() < 1000u);
    // Lists in lists in lists.
    symbols.set("S", Value::list(std::vector<Value>(1000, 1.0)));
    BOOST_TEST(message("sum(sum(sum(1 for a in S) for b in S) for c in S)")
                   .find("more than a million steps") != std::string::npos);
    // Formulas that double.
    symbols.set("F0", Formula::leaf(0));
    for (int i = 1; i < 40; ++i) {
        const std::string before = "F" + std::to_string(i - 1);
        symbols.set_lazy("F" + std::to_string(i), parse(before + " * " + before));
    }
    BOOST_TEST(message("F39").find("10000 operations") != std::string::npos);
}
