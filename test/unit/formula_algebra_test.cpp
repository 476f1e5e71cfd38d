#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "tessera/model/formula.hpp"
#include "tessera/model/formula_pool.hpp"

// Formula algebra against plain arithmetic on the same numbers.

using namespace tessera::model;

namespace {

/// A random expression, built as formula and as number at once.
struct Pair {
    Formula formula;
    double number = 0.0;
};

struct RandomExpression {
    std::mt19937_64 random;
    std::vector<double> symbols;
    bool divide = true;

    int pick(int n) {
        return static_cast<int>(random() % n);
    }

    Pair leaf() {
        if (pick(3) == 0) {
            const double c = pick(9) + 1;
            return {Formula(c), c};
        }
        const int s = pick(static_cast<int>(symbols.size()));
        return {Formula::symbol(s), symbols[s]};
    }

    /// ceil of a quotient of integers: exact in plain arithmetic too.
    static Pair tiles(const Pair& a, const Pair& b, const Pair& c) {
        return {ceil(a.formula * b.formula / c.formula),
                tessera::model::ceil(a.number * b.number / c.number)};
    }

    Pair make(int depth) {
        if (depth == 0) {
            return leaf();
        }
        const Pair a = make(depth - 1);
        const Pair b = make(depth - 1);
        switch (pick(divide ? 8 : 6)) {
            case 0:
            case 1:
                return {a.formula + b.formula, a.number + b.number};
            case 2:
            case 3:
                return {a.formula * b.formula, a.number * b.number};
            case 4:
                return {max(a.formula, b.formula), max(a.number, b.number)};
            case 5:
                return {min(a.formula, b.formula), min(a.number, b.number)};
            case 6:
                return tiles(leaf(), leaf(), leaf());
            default:
                return {a.formula / b.formula, a.number / b.number};
        }
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(formula_algebra)

BOOST_AUTO_TEST_CASE(constants_need_no_pool) {
    const Formula a = Formula(3.0) * 2 + 1;
    BOOST_TEST(a.is_constant());
    BOOST_TEST(a.constant_value() == 7.0);
    BOOST_TEST(max(a, Formula(9.0)).constant_value() == 9.0);
    BOOST_TEST(ceil(a / 2.0).constant_value() == 4.0);
    BOOST_TEST((a == Formula(7.0)));
}

BOOST_AUTO_TEST_CASE(equal_formulas_are_one_node) {
    FormulaPool pool;
    const FormulaScope scope(pool);
    const Formula a = Formula::symbol(0), b = Formula::symbol(1), c = Formula::symbol(2);
    BOOST_TEST(((a + b) * c == c * b + a * c));
    BOOST_TEST((a * b / a == b));
    BOOST_TEST((a - a == Formula(0.0)));
    BOOST_TEST((max(max(a, b), c) == max(c, max(b, a))));
    BOOST_TEST((max(a, b) + c == max(c + b, c + a)));
    BOOST_TEST((max(a, b) * 2.0 == max(2.0 * a, b * 2.0)));
    BOOST_TEST((ceil(8.0 / a) * b == b * ceil(8.0 / a)));
    BOOST_TEST(!(a == b));
}

BOOST_AUTO_TEST_CASE(proven_order_removes_branches) {
    FormulaPool pool;
    const FormulaScope scope(pool);
    const Formula a = Formula::symbol(0), b = Formula::symbol(1);
    BOOST_TEST((max(a, Formula(1.0)) == a));
    BOOST_TEST((max(a * b, a) == a * b));
    BOOST_TEST((min(a * b, a) == a));
    BOOST_TEST((min(a + b - 1.0, a) == a));
    BOOST_TEST(pool.is_max(max(a, b)));
    BOOST_TEST((ceil(a * 3.0) == a * 3.0));
}

BOOST_AUTO_TEST_CASE(a_subtracted_maximum_is_opaque_but_right) {
    FormulaPool pool;
    const FormulaScope scope(pool);
    const Formula f = Formula::symbol(0) - 2.0 * max(Formula::symbol(1), Formula::symbol(2));
    BOOST_TEST(!pool.is_max(f));
    BOOST_TEST(f.value(std::vector<double>{5, 2, 7}) == -9.0);
    BOOST_TEST((f.depends_on() == (SymbolSet::of(0) | SymbolSet::of(1) | SymbolSet::of(2))));
}

BOOST_AUTO_TEST_CASE(random_expressions_have_the_value_of_plain_arithmetic) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        RandomExpression make{std::mt19937_64(seed), {}};
        for (int s = 0; s < 5; ++s) {
            make.symbols.push_back(1 + make.pick(12));
        }
        FormulaPool pool;
        const FormulaScope scope(pool);
        make.divide = seed % 2 == 0;
        const Pair pair = make.make(make.divide ? 3 : 4);
        const double value = pair.formula.value(make.symbols);
        if (make.divide) {
            BOOST_TEST(std::abs(value - pair.number) <= 1e-12 * std::abs(pair.number),
                       "seed " << seed << ": " << pair.formula.to_string());
        } else {
            BOOST_TEST(value == pair.number);
        }
    }
}

// Against counting one by one; and what may stand for it: the average is never more, and it moves
// with its arguments as it says.
BOOST_AUTO_TEST_CASE(leading_counts_the_first_of_every_period) {
    using tessera::model::leading;
    FormulaPool pool;
    const FormulaScope scope(pool);
    const Formula f =
        leading(Formula::symbol(0), Formula::symbol(1) * Formula::symbol(2), Formula::symbol(2));
    for (int count = 1; count <= 30; ++count) {
        for (int trips = 1; trips <= 8; ++trips) {
            for (int own = 1; own <= 8; ++own) {
                const int period = trips * own;
                int counted = 0;
                for (int x = 0; x < count; ++x) {
                    counted += x % period < own ? 1 : 0;
                }
                const double number = leading(count, period, own);
                BOOST_REQUIRE_EQUAL(number, counted);
                const std::vector<double> at{1.0 * count, 1.0 * trips, 1.0 * own};
                BOOST_REQUIRE_EQUAL(f.value(at), counted);
                BOOST_REQUIRE_GE(number * period, 1.0 * count * own);
                BOOST_REQUIRE_GE(number, leading(count, period + 1, own));
                BOOST_REQUIRE_LE(number, leading(count + 1, period, own));
                BOOST_REQUIRE_LE(number, leading(count, period, own + 1));
            }
        }
    }
    BOOST_TEST((leading(Formula(20.0), Formula(20.0), Formula::symbol(0)) == Formula::symbol(0)));
    BOOST_TEST((leading(Formula(20.0), Formula::symbol(0), Formula::symbol(0)) == Formula(20.0)));
    BOOST_TEST((leading(Formula(20.0), Formula::symbol(0), Formula(1.0)) ==
                ceil(20.0 / Formula::symbol(0))));
}

BOOST_AUTO_TEST_CASE(ceil_is_not_misled_by_rounded_quotients) {
    FormulaPool pool;
    const FormulaScope scope(pool);
    for (int divisor = 1; divisor <= 200; ++divisor) {
        const Formula tiles = ceil(Formula::symbol(0) * Formula::symbol(1) / divisor);
        for (int n = 1; n <= 200; ++n) {
            const double exact = (3 * n + divisor - 1) / divisor;
            BOOST_REQUIRE_EQUAL(tiles.value(std::vector<double>{3, n + 0.0}), exact);
            BOOST_REQUIRE_EQUAL(tessera::model::ceil(3.0 * n * (1.0 / divisor)), exact);
        }
    }
}

BOOST_AUTO_TEST_CASE(hash_ignores_pool_and_order) {
    const auto build = [](bool reversed) {
        const Formula a = Formula::symbol(0), b = Formula::symbol(1), c = Formula::symbol(2);
        const Formula x = a * b * 3.0, y = 2.0 / c, z = ceil(10.0 / a);
        const Formula sum = reversed ? z * c + y + x : x + y + c * z;
        return reversed ? max(sum, b * b) : max(b * b, sum);
    };
    FormulaPool first, second;
    StructuralHash hashes[2];
    std::string texts[2];
    {
        const FormulaScope scope(first);
        const Formula f = build(false);
        hashes[0] = first.hash(f);
        texts[0] = f.to_string();
    }
    {
        const FormulaScope scope(second);
        const Formula noise =
            Formula::symbol(7) * Formula::symbol(2) + ceil(5.0 / Formula::symbol(3));
        BOOST_TEST(!noise.is_constant());
        const Formula f = build(true);
        hashes[1] = second.hash(f);
        texts[1] = f.to_string();
        BOOST_TEST((second.hash(noise) != hashes[1]));
    }
    BOOST_TEST((hashes[0] == hashes[1]));
    BOOST_TEST(texts[0] == texts[1]);
}

BOOST_AUTO_TEST_CASE(clear_keeps_the_pool_usable) {
    FormulaPool pool;
    const FormulaScope scope(pool);
    for (int round = 0; round < 3; ++round) {
        Formula sum;
        for (int i = 0; i < 32; ++i) {
            sum += Formula::symbol(i) * Formula::symbol((i * 7 + 3) % 32) * (i + 1.0);
        }
        BOOST_TEST(sum.value(std::vector<double>(32, 1.0)) == 528.0);
        pool.clear();
        BOOST_TEST(pool.node_count() == 0u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
