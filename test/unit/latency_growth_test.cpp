// Which latency expressions are known to grow with their actions.
#include <boost/test/unit_test.hpp>
#include <cctype>
#include <cmath>
#include <map>
#include <random>

#include "model/latency.hpp"
#include "model/latency_growth.hpp"
#include "support/evaluate_text.hpp"
#include "tessera/spec/value.hpp"

using namespace tessera;
using Op = arch::LatencyProgram::Op;

namespace {

/// Why the time of Einsum Y falls; r and w stand for the counts of reads and writes.
std::string falls(const std::string& expression) {
    const auto alone = [&](std::size_t at) {
        const auto letter = [&](std::size_t i) {
            return i < expression.size() && std::isalpha(static_cast<unsigned char>(expression[i]));
        };
        return (expression[at] == 'r' || expression[at] == 'w') && !letter(at + 1) &&
               (at == 0 || !letter(at - 1));
    };
    std::string text;
    for (std::size_t i = 0; i < expression.size(); ++i) {
        const char* const action = expression[i] == 'r' ? "read" : "write";
        text += alone(i) ? std::string("actions[\"") + action + "\"].n_calls"
                         : std::string(1, expression[i]);
    }
    const auto architecture = testing::architecture_of(
        "arch:\n  nodes:\n  - !Memory\n    name: M\n    size: inf\n    total_latency: '" + text +
        "'\n    actions: [{name: read, energy: 1, throughput: 2}, {name: write, energy: 1, "
        "throughput: 4}]\n    tensors: {keep: All}\n"
        "  - !Compute {name: MAC, actions: [{name: compute, energy: 1, throughput: 1}]}\n");
    const auto workload = testing::workload_of(
        "workload:\n  rank_sizes: {M: 4, K: 3}\n  bits_per_value: {All: 1}\n"
        "  einsums: ['Y[m] = X[m, k] * W[k]']\n");
    return model::falling_latency(
        architecture.path(workload, 0, "MAC", arch::Compat::none).levels.front());
}

/// A random expression in postfix over so many actions.
class Drawn {
public:
    explicit Drawn(std::mt19937_64& random) : random_(random) {}

    arch::PathLevel level(int actions) {
        level_ = arch::PathLevel();
        level_.actions.resize(static_cast<std::size_t>(actions));
        expression(4);
        return level_;
    }

private:
    std::size_t below(std::size_t n) {
        return random_() % n;
    }
    void push(Op op, double value = 0, int action = 0) {
        level_.latency.steps.push_back({op, value, action});
    }
    void expression(int depth) {
        if (depth == 0 || below(5) == 0) {
            if (below(3) == 0) {
                push(Op::constant, std::vector<double>{0, 1, 2, 0.5, 7, 30}[below(6)]);
            } else {
                push(Op::n_calls, 0, static_cast<int>(below(level_.actions.size())));
            }
            return;
        }
        expression(depth - 1);
        if (below(8) == 0) {
            push(below(2) == 0 ? Op::ceil : Op::floor);
            return;
        }
        expression(depth - 1);
        push(std::vector{Op::add, Op::add, Op::sub, Op::mul, Op::div, Op::max, Op::min}[below(7)]);
    }

    std::mt19937_64& random_;
    arch::PathLevel level_;
};

std::string text(const arch::PathLevel& level) {
    static const std::map<Op, std::string> names = {
        {Op::add, "+"},   {Op::sub, "-"},   {Op::mul, "*"},     {Op::div, "/"},
        {Op::max, "max"}, {Op::min, "min"}, {Op::ceil, "ceil"}, {Op::floor, "floor"}};
    std::string result;
    for (const auto& step : level.latency.steps) {
        result += " " + (step.op == Op::constant  ? spec::number_text(step.value)
                         : step.op == Op::n_calls ? std::string(1, "xyz"[step.action])
                                                  : names.at(step.op));
    }
    return result;
}

double value(const arch::PathLevel& level, const std::vector<double>& calls) {
    std::vector<double> stack;
    return model::evaluate_latency<double>(level.latency, std::span(calls), 0.0, 0.0, stack);
}

/// Falls by more than rounding between two random places, of which one has no fewer actions.
bool seen_to_fall(const arch::PathLevel& level, std::mt19937_64& random) {
    const auto count = [&](int scale) {
        const auto n = static_cast<double>(random() % 64);
        return scale == 0 ? n : scale == 1 ? n / 8 : n * 1000 + static_cast<double>(random() % 9);
    };
    for (int draw = 0; draw < 400; ++draw) {
        std::vector<double> few(level.actions.size());
        for (double& calls : few) {
            calls = count(draw % 3);
        }
        std::vector<double> many = few;
        many[random() % many.size()] += count((draw / 3) % 3);
        const double before = value(level, few), after = value(level, many);
        if (after < before - 1e-6 * std::max(1.0, std::abs(before))) {
            return true;
        }
    }
    return false;
}

}  // namespace

BOOST_AUTO_TEST_CASE(latencies_that_grow_are_known_to) {
    for (const char* expression : {"sum(a.n_calls / a.throughput for a in actions)",
                                   "max(r / 2, w / 4) + 5",
                                   "7",
                                   "r // 3",
                                   "min(r, w)",
                                   "ceil((r + w) / 8) * 8",
                                   "2 * r - r",
                                   "(r + w) * 2 - r",
                                   "r - r / 2",
                                   "r + w - min(r, w)",
                                   "max(r - 100, 0)",
                                   "r - 100",
                                   "max(5, 3 - r)",
                                   "r * w / (r + w + 1)",
                                   "r / (r + 1)",
                                   "(r + 1) * (r + 1) - 2 * r",
                                   "r * (w + 2) - r",
                                   "min(r, 8) * 3",
                                   "max(r, 2 * w) + min(r, 2 * w)",
                                   "r + max(w, r) - r",
                                   "5 if len(Inputs) > 1 else 9 - r",
                                   "ceil(r / 4) + floor(w / 4)",
                                   "max(ceil(r / 4), w)"}) {
        BOOST_TEST(falls(expression) == "", expression);
    }
}

BOOST_AUTO_TEST_CASE(latencies_that_fall_are_told_with_a_place) {
    for (const auto& [expression, told] : std::vector<std::pair<const char*, const char*>>{
             {"1000 - r - w", "from 1000 to 999 s where the count of 'read' grows from 0 to 1"},
             {"r - w", "from 0 to -1 s where the count of 'write' grows from 0 to 1"},
             {"w - r / 2", "where the count of 'read' grows"},
             {"-1 * r", "from 0 to -1 s"},
             {"100 / (r + 1)", "from 100 to 50 s"},
             {"max(100 - r, 0)", "from 100 to 99 s"},
             {"max(100 - r, r)", "from 100 to 99 s"},
             {"min(r, 100 - r)", "falls from"},
             {"(r - 5) * (r - 5)", "from 25 to 16 s"},
             {"r * (20 - w)", "falls from 0 to -30 s"},
             {"(r + w) / max(r, 1)", "where the count of 'read' grows"},
             {"r / (w + 1)", "where the count of 'write' grows"},
             {"max(r, w) - min(r, w)", "falls from"},
             {"ceil(r / 4) - r / 4", "falls from"},
             {"5 if len(Inputs) > 2 else 9 - r", "from 9 to 8 s"},
             {"r + 300 * min(1, 50 / (w + 1))", "where the count of 'write' grows"}}) {
        const std::string why = falls(expression);
        BOOST_TEST(why.find(told) != std::string::npos, expression << ": " << why);
    }
    for (const char* expression :
         {"2 * ceil(r / 3) - ceil(r / 3)", "r * w / (r + w)", "r - r // 4"}) {
        BOOST_TEST(falls(expression) == "cannot be shown to grow with its actions", expression);
    }
}

BOOST_AUTO_TEST_CASE(random_latencies_that_are_said_to_grow_never_fall) {
    std::mt19937_64 random(7);
    Drawn drawn(random);
    int growing = 0, falling = 0, unknown = 0;
    for (int i = 0; i < 20'000; ++i) {
        const arch::PathLevel level = drawn.level(1 + i % 3);
        const std::string why = model::falling_latency(level);
        growing += why.empty();
        falling += why.find("falls from") != std::string::npos;
        unknown += why.find("cannot") != std::string::npos;
        if (why.empty()) {
            BOOST_TEST(!seen_to_fall(level, random), "expression " << i << ":" << text(level));
        }
    }
    BOOST_TEST(growing > 4000);
    BOOST_TEST(falling > 4000);
    BOOST_TEST(unknown < 5000);
    BOOST_TEST_MESSAGE(growing << " grow, " << falling << " fall, " << unknown << " unknown");
}
