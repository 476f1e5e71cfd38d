#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "tessera/model/formula.hpp"
#include "tessera/model/formula_pool.hpp"

// Enclosures and directions must hold at every point of the box.

using namespace tessera::model;

namespace {

int pick(std::mt19937_64& random, int n) {
    return static_cast<int>(random() % n);
}

/// Sum of up to five signed monomials in three symbols, sometimes with ceil, leading and max.
Formula random_formula(std::mt19937_64& random) {
    Formula sum;
    for (int t = pick(random, 5) + 1; t > 0; --t) {
        Formula term = pick(random, 7) - 2.0;
        for (int s = 0; s < 3; ++s) {
            for (int e = pick(random, 3); e > 0; --e) {
                term = pick(random, 2) ? term * Formula::symbol(s) : term / Formula::symbol(s);
            }
        }
        if (pick(random, 5) == 0) {
            term *= ceil(12.0 / Formula::symbol(pick(random, 3)));
        }
        if (pick(random, 5) == 0) {
            const auto any = [&] { return Formula::symbol(pick(random, 3)); };
            Formula first = leading(any() + 9.0, any(), any());
            first = pick(random, 3) == 0 ? leading(first, any(), any()) : first;
            term = pick(random, 4) == 0 ? term / first : term * first;
        }
        sum += term;
    }
    return pick(random, 4) == 0 ? max(sum, Formula::symbol(0) * 2.0 - Formula::symbol(1)) : sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(formula_bounds)

BOOST_AUTO_TEST_CASE(bounds_and_directions_hold_on_random_boxes) {
    std::mt19937_64 random(11);
    int known = 0;
    for (int round = 0; round < 2000; ++round) {
        FormulaPool pool;
        const FormulaScope scope(pool);
        const Formula f = random_formula(random);
        std::vector<Interval> box;
        for (int s = 0; s < 3; ++s) {
            const double lo = 1 + pick(random, 4);
            box.push_back({lo, lo + pick(random, 5)});
        }
        const Interval bounds = f.bounds(box);
        Monotone directions[3];
        for (int s = 0; s < 3; ++s) {
            directions[s] = f.monotone_in(s, box);
            known += directions[s] != Monotone::unknown;
        }
        std::vector<double> x(3);
        for (x[0] = box[0].lo; x[0] <= box[0].hi; ++x[0]) {
            for (x[1] = box[1].lo; x[1] <= box[1].hi; ++x[1]) {
                for (x[2] = box[2].lo; x[2] <= box[2].hi; ++x[2]) {
                    const double here = f.value(x);
                    BOOST_REQUIRE_LE(bounds.lo, here);
                    BOOST_REQUIRE_GE(bounds.hi, here);
                    for (int s = 0; s < 3; ++s) {
                        std::vector<double> next = x;
                        if (++next[s] > box[s].hi) {
                            continue;
                        }
                        const double step = f.value(next) - here;
                        const double slack = 1e-10 * (1 + std::abs(here));
                        const Monotone d = directions[s];
                        BOOST_REQUIRE(d != Monotone::increasing || step >= -slack);
                        BOOST_REQUIRE(d != Monotone::decreasing || step <= slack);
                        BOOST_REQUIRE(d != Monotone::constant || std::abs(step) <= slack);
                    }
                }
            }
        }
    }
    BOOST_TEST(known > 2000);  // the test must not pass by knowing nothing
}

BOOST_AUTO_TEST_CASE(first_read_elision_is_seen_as_not_negative) {
    FormulaPool pool;
    const FormulaScope scope(pool);
    const Formula k = Formula::symbol(0), m = Formula::symbol(1);
    const double K = 7 * 3, M = 5;
    // M*(K/k) - M, the reads of partial sums without the first.
    const Formula reads = M * K / k - M;
    const std::vector<Interval> box{{1, K}, {1, M}};
    BOOST_TEST(reads.bounds(box).lo >= -1e-9);
    BOOST_TEST((reads.monotone_in(0, box) == Monotone::decreasing));
    const Formula weighted = m * reads;
    BOOST_TEST((weighted.monotone_in(1, box) == Monotone::increasing));
    BOOST_TEST((weighted.monotone_in(0, box) == Monotone::decreasing));
    BOOST_TEST((weighted.monotone_in(2, box) == Monotone::constant));
}

BOOST_AUTO_TEST_CASE(halo_tiles_grow_with_both_symbols) {
    FormulaPool pool;
    const FormulaScope scope(pool);
    const Formula halo = (Formula::symbol(0) + Formula::symbol(1) - 1.0) * Formula::symbol(2);
    const std::vector<Interval> box{{1, 28}, {1, 3}, {1, 64}};
    for (int s = 0; s < 3; ++s) {
        BOOST_TEST((halo.monotone_in(s, box) == Monotone::increasing));
    }
    BOOST_TEST(halo.bounds(box).lo == 1.0);
    BOOST_TEST(halo.bounds(box).hi == 30.0 * 64.0);
}

BOOST_AUTO_TEST_SUITE_END()
