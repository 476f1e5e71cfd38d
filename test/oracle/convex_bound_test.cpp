#include <boost/test/unit_test.hpp>
#include <limits>

#include "oracle/tile_shapes_cases.hpp"

// Lower bounds by convex problems, against plain enumeration and closed forms.

using namespace tile_shape_cases;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Tally {
    int problems = 0, close = 0, better = 0;
};

/// The bounds of random problems of a kind are never above the least of all legal rows.
Tally compare(const Flavour& flavour, std::uint64_t first, int count) {
    TileShapeExplorer explorer;
    Tally tally;
    for (std::uint64_t seed = first; tally.problems < count; ++seed) {
        FormulaPool pool;
        const tessera::model::FormulaScope scope(pool);
        TileShapeProblem problem = CaseMaker(seed, flavour).make();
        problem.loop_limits.clear();
        TileShapeResult all;
        explorer.explore(problem, {}, all);
        if (all.statistics.space > 5000.0) {
            continue;
        }
        Solution solution;
        const auto rows = feasible_rows(problem, solution);
        if (rows.empty() || problem.objectives.size() < 2) {
            continue;
        }
        Random random{std::mt19937_64(seed)};
        const std::vector<double> offsets{static_cast<double>(random.below(50)),
                                          static_cast<double>(random.below(50))};
        const std::vector<Formula> two(problem.objectives.begin(), problem.objectives.begin() + 2);
        double least = infinity, product = infinity, lowest = infinity;
        for (const auto& row : rows) {
            const double a = two[0].value(row), b = two[1].value(row);
            least = std::min(least, a);
            lowest = std::min({lowest, a, b});
            product = std::min(product, (a + offsets[0]) * (b + offsets[1]));
        }
        if (lowest < 0) {
            continue;  // no cost
        }
        const double one = explorer.convex_bound(problem, {two.data(), 1}, {}, infinity);
        const double both = explorer.convex_bound(problem, two, offsets, infinity);
        BOOST_REQUIRE_MESSAGE(one <= least * (1 + 1e-9),
                              "seed " << seed << ": " << one << " above " << least);
        BOOST_REQUIRE_MESSAGE(both <= product * (1 + 1e-9),
                              "seed " << seed << ": " << both << " above " << product);
        // What is enough must not be claimed without being reached.
        BOOST_REQUIRE_LE(explorer.convex_bound(problem, {two.data(), 1}, {}, least * 0.9),
                         least * (1 + 1e-9));
        ++tally.problems;
        tally.close += one >= 0.5 * least ? 1 : 0;
        tally.better += one > 1.02 * explorer.lower_bound(problem, two[0]) ? 1 : 0;
    }
    return tally;
}

/// Halos of one or two tile shapes, stride * (x - 1) + y or a filter of a given size.
Formula random_extent(FormulaPool& pool, Random& random, int symbols) {
    Formula out(1.0);
    const int n = 1 + random.below(2);
    for (int i = 0; i < n; ++i) {
        const Formula x = Formula::symbol(random.below(symbols));
        out = out + (x - 1.0) * (1.0 + random.below(4));
    }
    return pool.whole(out + random.below(3));
}

/// Traffic of tensors with halos, refetched by trips: sums of products of extents over tile shapes.
Formula random_traffic(FormulaPool& pool, Random& random, int symbols, bool fractions) {
    Formula out(random.chance(50) ? 0.0 : random.below(40));
    for (int i = 0; i < 2; ++i) {
        Formula product(1.0 + random.below(100));
        for (int k = random.below(3); k >= 0; --k) {
            product = product * random_extent(pool, random, symbols);
        }
        for (int k = random.below(3); fractions && k > 0; --k) {
            product = product / Formula::symbol(random.below(symbols));
        }
        out = out + product;
    }
    return random.chance(20) ? max(out, Formula::symbol(random.below(symbols)) * 50.0) : out;
}

/// Tile shapes of as many variables of this bound; no conditions.
TileShapeProblem problem_of(std::size_t n, int bound) {
    TileShapeProblem out;
    TileShapeSymbol symbol;
    symbol.bound = bound;
    out.symbols.assign(n, symbol);
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(convex_bound)

BOOST_AUTO_TEST_CASE(no_row_costs_less_whatever_tiles_are_like) {
    Flavour perfect, imperfect, partial;
    imperfect.imperfect = imperfect.real_coefficients = true;
    partial.partial = partial.best_effort = true;
    for (const Flavour& flavour : {perfect, imperfect, partial}) {
        const Tally t = compare(flavour, 40000, 200);
        BOOST_TEST(t.close > t.problems / 3);
        BOOST_TEST(t.better > t.problems / 10);
    }
}

// Traffic of an outer product, c (1/x + 1/y) with x y <= S: least at x = y = sqrt(S).
BOOST_AUTO_TEST_CASE(a_shared_capacity_is_divided_as_by_hand) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    TileShapeProblem problem = problem_of(2, 4096);
    const Formula x = Formula::symbol(0), y = Formula::symbol(1);
    const Formula traffic = 1e6 / x + 1e6 / y;
    problem.constraints.push_back({x * y, Relation::less_equal, 1024.0});
    TileShapeExplorer explorer;
    const double bound = explorer.convex_bound(problem, {&traffic, 1}, {}, infinity);
    BOOST_TEST(bound <= 2e6 / 32);
    BOOST_TEST(bound > 0.998 * 2e6 / 32);
    // One tile shape at a time says that either may be as large as the bound.
    BOOST_TEST(explorer.lower_bound(problem, traffic) < 1e3);
    // A maximum of both, and what other Einsums add: (10 + 1e6 / 32) (5 + 32 + 32).
    const std::vector<Formula> two{max(1e6 / x, 1e6 / y), x + y};
    const std::vector<double> offsets{10.0, 5.0};
    problem.constraints.push_back({x * y, Relation::greater_equal, 1024.0});
    const double product = explorer.convex_bound(problem, two, offsets, infinity);
    BOOST_TEST(product <= (10 + 1e6 / 32) * 69);
    BOOST_TEST(product > 0.99 * (10 + 1e6 / 32) * 69);
}

// Work W over the units in use. x is spread over columns and rows, y over columns, of 16 columns
// and 8 rows, so that it takes at least W / 128. Neither limit alone says so.
BOOST_AUTO_TEST_CASE(a_variable_in_two_dimensions_fills_both) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    TileShapeProblem problem = problem_of(5, 4096);
    const auto chain = [&](std::initializer_list<int> symbols) {
        int outer = -1;
        for (const int s : symbols) {
            problem.symbols[static_cast<std::size_t>(s)].outer = outer;
            if (outer >= 0) {
                problem.symbols[static_cast<std::size_t>(outer)].inner = s;
            }
            outer = s;
        }
    };
    chain({0, 1, 2});
    chain({3, 4});
    const auto x = [](int s) { return Formula::symbol(s); };
    const Formula columns = x(0) / x(1) * x(3) / x(4), rows = x(1) / x(2);
    problem.constraints.push_back({columns, Relation::less_equal, 16.0});
    problem.constraints.push_back({rows, Relation::less_equal, 8.0});
    const Formula work = 1e6 / (x(0) / x(2) * x(3) / x(4));
    TileShapeExplorer explorer;
    BOOST_TEST(explorer.lower_bound(problem, work) <= 1e6 / 128);
    BOOST_TEST(explorer.lower_bound(problem, work) >= 1e6 / 128 * (1 - 1e-9));
}

// Partial sums written A B times and read A B - B times, next to further traffic of A B C = 1024 /
// z
// >= 128: least where A = B = 1. Paying for the reads that do not take place out of that traffic,
// which is never less either, would take 0.13 times 128 away.
BOOST_AUTO_TEST_CASE(what_is_taken_away_is_paid_by_what_is_close_to_it) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    TileShapeProblem problem = problem_of(3, 1024);
    for (int s = 0; s < 3; ++s) {
        problem.symbols[static_cast<std::size_t>(s)].outer = s - 1;
        problem.symbols[static_cast<std::size_t>(s)].inner = s < 2 ? s + 1 : -1;
    }
    const Formula x = Formula::symbol(0), y = Formula::symbol(1), z = Formula::symbol(2);
    const Formula cost = 0.01 * (1024.0 / z) + 0.25 * (1024.0 / y) - 0.13 * (x / y);
    problem.constraints.push_back({z, Relation::less_equal, 8.0});
    TileShapeExplorer explorer;
    const double bound = explorer.convex_bound(problem, {&cost, 1}, {}, infinity, true);
    BOOST_TEST(bound <= 1.28 + 0.12);
    BOOST_TEST(bound > 0.99 * (1.28 + 0.12));
}

BOOST_AUTO_TEST_CASE(conditions_that_contradict_each_other_raise_the_bound_beyond_all_rows) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    TileShapeProblem problem = problem_of(1, 64);
    const Formula x = Formula::symbol(0);
    problem.constraints = {{x, Relation::less_equal, 4.0}, {x, Relation::greater_equal, 32.0}};
    TileShapeExplorer explorer;
    BOOST_TEST(explorer.convex_bound(problem, {&x, 1}, {}, infinity) > 64.0);
}

BOOST_AUTO_TEST_CASE(an_exploration_is_given_up_when_it_makes_too_many_rows) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    TileShapeProblem problem = CaseMaker(7, {}).make();
    TileShapeExplorer explorer;
    TileShapeOptions options;
    TileShapeResult result;
    explorer.explore(problem, options, result);
    BOOST_REQUIRE(!result.given_up);
    const double all = result.statistics.enumerated;
    BOOST_REQUIRE_GT(all, 2.0);
    options.most_enumerated = all / 2;
    explorer.explore(problem, options, result);
    BOOST_TEST(result.given_up);
    BOOST_TEST(result.rows == 0u);
    options.most_enumerated = all;
    explorer.explore(problem, options, result);
    BOOST_TEST(!result.given_up);
}

// Extents as factors: the bound is below every legal row, as is that of the same sum multiplied
// out. Either may be the higher one.
BOOST_AUTO_TEST_CASE(no_row_costs_less_where_extents_are_factors) {
    TileShapeExplorer explorer;
    int problems = 0, higher = 0, lower = 0;
    for (std::uint64_t seed = 70000; problems < 600; ++seed) {
        FormulaPool pool;
        const tessera::model::FormulaScope scope(pool);
        TileShapeProblem problem = CaseMaker(seed, {}).make();
        const int symbols = static_cast<int>(problem.symbols.size());
        double rows_at_most = 1;
        for (const TileShapeSymbol& s : problem.symbols) {
            rows_at_most *= s.bound;
        }
        if (symbols == 0 || rows_at_most > 20000.0) {
            continue;
        }
        Random random{std::mt19937_64(seed)};
        pool.keep_sums(true);
        problem.loop_limits.clear();
        problem.best_effort.clear();
        problem.objectives = {random_traffic(pool, random, symbols, true)};
        problem.constraints = {{random_traffic(pool, random, symbols, false), Relation::less_equal,
                                20.0 + random.below(2000)}};
        Solution solution;
        const auto rows = feasible_rows(problem, solution);
        double least = infinity;
        for (const auto& row : rows) {
            least = std::min(least, problem.objectives[0].value(row));
        }
        if (rows.empty() || !(least > 0)) {
            continue;
        }
        const auto bound = [&] {
            return explorer.convex_bound(problem, problem.objectives, {}, infinity, true);
        };
        const double whole = bound();
        BOOST_REQUIRE_MESSAGE(whole <= least * (1 + 1e-9),
                              "seed " << seed << ": " << whole << " above " << least);
        const Formula kept = problem.objectives[0];
        problem.objectives[0] = pool.is_max(kept) ? kept : pool.multiplied_out(kept);
        for (const auto& row : rows) {
            BOOST_REQUIRE_CLOSE(problem.objectives[0].value(row), kept.value(row), 1e-9);
        }
        const double split = bound();
        BOOST_REQUIRE_MESSAGE(split <= least * (1 + 1e-9),
                              "seed " << seed << ": " << split << " above " << least);
        higher += whole > split * 1.02 ? 1 : 0;
        lower += whole < split * 0.98 ? 1 : 0;
        ++problems;
    }
    BOOST_TEST(higher > problems / 20);
    BOOST_TEST(lower > problems / 20, higher << " higher, " << lower << " lower");
}

// (2 x - 1)^2 (64 / x)^2: least at x = 1, where it is 4096; at x = 64 it is 16129. The chord of
// 2 x - 1 has the slope log 127 / log 64 = 1.165 there, so the bound rises as the cost does, and
// is exact. Multiplied out, 4 x^2 - 4 x + 1 is not paid for term by term, which would leave nothing
// of it: its quotient by x^2 rises with x.
BOOST_AUTO_TEST_CASE(a_strided_halo_keeps_its_cost) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    const TileShapeProblem problem = problem_of(1, 64);
    const Formula x = Formula::symbol(0), halo = 2.0 * x - 1.0;
    TileShapeExplorer explorer;
    const auto bound = [&](const Formula& extent) {
        const Formula cost = extent * extent * (64.0 / x) * (64.0 / x);
        return explorer.convex_bound(problem, {&cost, 1}, {}, infinity, true);
    };
    BOOST_TEST(bound(halo) <= 4096);
    BOOST_TEST(bound(halo) > 0.998 * 4096);
    pool.keep_sums(true);
    BOOST_TEST(bound(pool.whole(halo)) <= 4096);
    BOOST_TEST(bound(pool.whole(halo)) > 0.998 * 4096);
}

// 96 x 96 inputs of a 3 x 3 window, fetched in tiles of p x q and r x s of it at least 16 times:
// (p + r - 1) (q + s - 1) values each. No convex function is close to that for small and large r at
// once; case by case each sum is one of positive terms. In tiles of 6 x 6 and windows as a whole it
// takes (8/18)^2 of the 82944 points of the four variables.
BOOST_AUTO_TEST_CASE(tiles_of_a_window_are_taken_one_by_one) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    TileShapeProblem problem = problem_of(4, 96);
    problem.symbols[2].bound = problem.symbols[3].bound = 3;
    const Formula p = Formula::symbol(0), q = Formula::symbol(1);
    const Formula r = Formula::symbol(2), s = Formula::symbol(3);
    const Formula rows = (p + r - 1.0) / (p * r), columns = (q + s - 1.0) / (q * s);
    const Formula cost = 82944.0 * rows * columns;
    problem.constraints.push_back({p * q, Relation::less_equal, 36.0});
    TileShapeExplorer explorer;
    const double least = 82944.0 * (8.0 / 18) * (8.0 / 18);
    const double bound = explorer.convex_bound(problem, {&cost, 1}, {}, infinity, true);
    BOOST_TEST(bound <= least * (1 + 1e-9));
    BOOST_TEST(bound > 0.99 * least);
}

BOOST_AUTO_TEST_SUITE_END()
