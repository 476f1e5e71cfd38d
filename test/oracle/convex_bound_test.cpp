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
    const double bound = explorer.convex_bound(problem, {&cost, 1}, {}, infinity);
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

BOOST_AUTO_TEST_SUITE_END()
