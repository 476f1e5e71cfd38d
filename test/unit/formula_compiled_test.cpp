#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/model/compiled_formulas.hpp"

// Compiled code against direct evaluation, and its two paths against each other bit by bit.

using namespace tessera::model;

namespace {

int pick(std::mt19937_64& random, int n) {
    return static_cast<int>(random() % n);
}

constexpr int kSymbols = 6;
constexpr double kBound = 5040.0;  // divisors 1..10: every quotient below is whole

/// Counts like those of a cost model: whole multiples of bound / tile, tiles, ceil, leading, max,
/// min.
Formula random_count(std::mt19937_64& random, bool real) {
    Formula sum;
    for (int t = pick(random, 6) + 1; t > 0; --t) {
        Formula term = (pick(random, 9) - 3.0) * (real ? 0.37 : 1.0);
        for (int f = pick(random, 4); f > 0; --f) {
            const Formula s = Formula::symbol(pick(random, kSymbols));
            switch (pick(random, 7)) {
                case 6:
                    term *= leading(Formula(17.0), s * Formula::symbol(pick(random, kSymbols)), s);
                    break;
                case 0:
                    term *= kBound / s;
                    break;
                case 1:
                    term *= ceil(17.0 / s);
                    break;
                case 2:
                    term *= s * s;
                    break;
                default:
                    term *= s;
                    break;
            }
        }
        sum += term;
    }
    switch (pick(random, 6)) {
        case 0:
            return max(sum, Formula::symbol(0) * 100.0);
        case 1:
            return min(sum, Formula::symbol(1) * Formula::symbol(2)) + 3.0;
        case 2:
            return max(sum, Formula(50.0));
        default:
            return sum;
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(formula_compiled)

BOOST_AUTO_TEST_CASE(counts_are_equal_as_integers_and_costs_within_rounding) {
    std::mt19937_64 random(5);
    FormulaWorkspace workspace;
    for (int round = 0; round < 400; ++round) {
        FormulaPool pool;
        const FormulaScope scope(pool);
        const bool real = round % 2 == 1;
        std::vector<Formula> formulas;
        for (int k = pick(random, 5) + 1; k > 0; --k) {
            formulas.push_back(random_count(random, real));
        }
        const CompiledFormulas code(pool, formulas);
        std::vector<double> out(formulas.size());
        for (int row = 0; row < 20; ++row) {
            std::vector<double> x;
            for (int s = 0; s < kSymbols; ++s) {
                x.push_back(1 + pick(random, 10));
            }
            code.evaluate_one(x, out, workspace);
            for (std::size_t k = 0; k < out.size(); ++k) {
                const double direct = formulas[k].value(x);
                if (real) {
                    // Terms of either sign: the rounding error is relative to their size.
                    BOOST_REQUIRE_SMALL(out[k] - direct, 1e-12 * (1e8 + std::abs(direct)));
                } else {
                    BOOST_REQUIRE_EQUAL(out[k], direct);
                    BOOST_REQUIRE_EQUAL(direct, std::floor(direct));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(lanes_round_up_as_single_numbers_do) {
    FormulaPool pool;
    const FormulaScope scope(pool);
    const Formula quotient = ceil(Formula::symbol(0) / Formula::symbol(1));
    const CompiledFormulas code(pool, std::vector<Formula>{quotient});
    std::vector<double> x;
    for (const double whole : {1.0, 2.0, 3.0, 7.0, 1e6, 0x1p50, 0x1p51, 0x1p52, 0x1p53, 1e300}) {
        for (const double part : {0.0, 0.25, 0.5, 0.75}) {
            const double v = whole + part;
            for (const double near : {1 - 1e-13, 1 - 4e-15, 1 - 1e-15, 1.0, 1 + 1e-15, 1 + 1e-13}) {
                x.push_back(v * near);
            }
        }
    }
    for (const double v : {0x1p-1060, 1e-300, 1e-9, 0.3, 0.5, 0.9999999999999999}) {
        x.push_back(v);
    }
    const std::vector<double> ones(x.size(), 1.0);
    std::vector<double> out(x.size());
    double* const output = out.data();
    FormulaWorkspace workspace;
    for (const bool mixed : {false, true}) {  // large numbers by themselves, and among small ones
        std::sort(x.begin(), x.end());
        if (mixed) {
            std::shuffle(x.begin(), x.end(), std::mt19937_64(8));
        }
        code.evaluate(std::vector<const double*>{x.data(), ones.data()}, x.size(), {&output, 1},
                      workspace);
        for (std::size_t i = 0; i < x.size(); ++i) {
            BOOST_REQUIRE_EQUAL(out[i], tessera::model::ceil(x[i]));
        }
    }
}

BOOST_AUTO_TEST_CASE(both_paths_and_orders_give_the_same_bits_at_every_position) {
    std::mt19937_64 random(6);
    FormulaWorkspace workspace;
    for (int round = 0; round < 60; ++round) {
        FormulaPool pool;
        const FormulaScope scope(pool);
        std::vector<Formula> formulas;
        for (int k = 0; k < 4; ++k) {
            formulas.push_back(random_count(random, true) / (Formula::symbol(3) * 7.0));
        }
        const CompiledFormulas code(pool, formulas);
        CompiledFormulas by_kind;
        by_kind.compile(pool, formulas, CompiledFormulas::Order::by_kind);
        const std::size_t rows = 1 + pick(random, 500);
        std::vector<std::vector<double>> columns(kSymbols, std::vector<double>(rows));
        std::vector<const double*> inputs;
        for (auto& column : columns) {
            for (double& x : column) {
                x = 1 + pick(random, 60);
            }
            inputs.push_back(column.data());
        }
        std::vector<std::vector<double>> results(8, std::vector<double>(rows));
        std::vector<double*> outputs;
        for (auto& result : results) {
            outputs.push_back(result.data());
        }
        const std::span<double* const> all(outputs);
        code.evaluate(inputs, rows, all.first(4), workspace);
        by_kind.evaluate(inputs, rows, all.last(4), workspace);
        for (std::size_t row = 0; row < rows; ++row) {
            std::vector<double> x, one(8);
            for (const auto& column : columns) {
                x.push_back(column[row]);
            }
            code.evaluate_one(x, std::span(one).first(4), workspace);
            by_kind.evaluate_one(x, std::span(one).last(4), workspace);
            for (int k = 0; k < 8; ++k) {
                BOOST_REQUIRE_EQUAL(std::bit_cast<std::uint64_t>(one[k]),
                                    std::bit_cast<std::uint64_t>(results[k % 4][row]));
                BOOST_REQUIRE_EQUAL(std::bit_cast<std::uint64_t>(one[k]),
                                    std::bit_cast<std::uint64_t>(results[k][row]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_history_of_a_pool_does_not_change_results) {
    const auto build = [] {
        Formula sum;
        for (int i = 0; i < 12; ++i) {
            sum += (0.1 + i) * Formula::symbol(i % 5) * Formula::symbol((i * 3) % 6) /
                   Formula::symbol((i + 2) % 6);
        }
        return sum;
    };
    FormulaWorkspace workspace;
    const std::vector<double> x{3, 7, 11, 13, 17, 19};
    double results[2];
    for (int history = 0; history < 2; ++history) {
        FormulaPool pool;
        const FormulaScope scope(pool);
        if (history) {
            for (int i = 20; i >= 0; --i) {
                BOOST_TEST(
                    !(Formula::symbol(i % 6) / Formula::symbol(i % 5) + i).to_string().empty());
            }
        }
        const Formula f = build();
        CompiledFormulas(pool, {&f, 1}).evaluate_one(x, {&results[history], 1}, workspace);
    }
    BOOST_TEST(std::bit_cast<std::uint64_t>(results[0]) ==
               std::bit_cast<std::uint64_t>(results[1]));
}

BOOST_AUTO_TEST_CASE(constants_and_shared_outputs) {
    FormulaPool pool;
    const FormulaScope scope(pool);
    const Formula s = Formula::symbol(4);
    const std::vector<Formula> formulas{4.0,           s,       s * 2.0, s, max(s, Formula(9.0)),
                                        s * 2.0 + 1.0, 12.0 / s};
    const CompiledFormulas code(pool, formulas);
    FormulaWorkspace workspace;
    std::vector<double> out(formulas.size());
    code.evaluate_one(std::vector<double>{0, 0, 0, 0, 5}, out, workspace);
    BOOST_TEST(out == (std::vector<double>{4, 5, 10, 5, 9, 11, 2.4}),
               boost::test_tools::per_element());
    BOOST_TEST((code.symbols_read() == SymbolSet::of(4)));
}

BOOST_AUTO_TEST_CASE(programs_that_are_too_long_are_refused) {
    FormulaPool pool;
    const FormulaScope scope(pool);
    std::vector<Formula> formulas;
    for (int k = 2; k < 40000; ++k) {
        formulas.push_back(Formula::symbol(0) * static_cast<double>(k) + 1.0);
    }
    CompiledFormulas code;
    BOOST_CHECK_THROW(code.compile(pool, formulas), tessera::UserError);
    formulas.resize(32000);
    code.compile(pool, formulas);
    FormulaWorkspace workspace;
    std::vector<double> out(formulas.size());
    code.evaluate_one(std::vector<double>{3}, out, workspace);
    BOOST_TEST(out.back() == 3.0 * 32001 + 1);
}

BOOST_AUTO_TEST_SUITE_END()
