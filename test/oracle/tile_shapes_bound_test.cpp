#include <boost/test/unit_test.hpp>
#include <numeric>

#include "mapspace/tile_shapes_local_search.hpp"
#include "oracle/tile_shapes_cases.hpp"

// Exploration against an incumbent, spaces that cannot be held in memory, and edge cases.

using namespace tile_shape_cases;

namespace {

TileShapeSymbol symbol(std::int64_t bound, int outer = -1, int inner = -1) {
    TileShapeSymbol s;
    s.bound = bound;
    s.outer = outer;
    s.inner = inner;
    return s;
}

/// Pruned with each of the alternative completion bounds.
bool dropped(const IncumbentBound& incumbent, const std::vector<double>& quantities) {
    const std::size_t n = quantities.size();
    bool all = true;
    for (std::size_t at = 0; at < incumbent.completions.size(); at += n) {
        double product = 1.0;
        std::vector<double> total;
        for (std::size_t q = 0; q < n; ++q) {
            total.push_back(quantities[q] + incumbent.completions[at + q]);
            product *= std::max(0.0, total[q]);
        }
        bool out = product >= incumbent.best_product;
        for (std::size_t p = 0; p < incumbent.points.size(); p += n) {
            const std::vector<double> point(incumbent.points.begin() + p,
                                            incumbent.points.begin() + p + n);
            out = out || not_worse(point, total);
        }
        all = all && out;
    }
    return all;
}

/// Fronts of the rows that the incumbent does not drop; the quantities are the objectives.
Solution without_dropped(const TileShapeProblem& problem) {
    Solution solution;
    std::map<std::vector<double>, std::vector<std::vector<double>>> fronts;
    for (const auto& row : feasible_rows(problem, solution)) {
        std::vector<double> values(problem.objectives.size());
        FormulaWorkspace workspace;
        CompiledFormulas(FormulaPool::current(), problem.objectives)
            .evaluate_one(row, values, workspace);
        if (!dropped(problem.incumbent, values)) {
            solution.fronts[fused_key(problem, row)].push_back(values);
        }
    }
    for (auto& [key, points] : solution.fronts) {
        points = pareto(std::move(points));
    }
    return solution;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tile_shapes_bound)

BOOST_AUTO_TEST_CASE(an_incumbent_drops_what_cannot_beat_it_and_nothing_else) {
    TileShapeExplorer explorer;
    TileShapeResult free, bounded;
    TileShapeOptions options;
    options.prune_from_rows = 0;
    options.prune_min_rows = 0;
    int useful = 0;
    for (std::uint64_t seed = 1; seed < 260; ++seed) {
        FormulaPool pool;
        const tessera::model::FormulaScope scope(pool);
        Flavour flavour;
        flavour.best_effort = seed % 3 == 0;
        TileShapeProblem problem = CaseMaker(700000 + seed, flavour).make();
        explorer.explore(problem, options, free);
        if (free.statistics.space > 5000.0 || free.rows == 0) {
            continue;
        }
        // Some of the reachable points become incumbents, moved by a completion bound.
        Random random{std::mt19937_64(seed)};
        IncumbentBound& incumbent = problem.incumbent;
        incumbent.quantities = problem.objectives;
        for (std::size_t k = 0; k < problem.objectives.size(); ++k) {
            incumbent.completions.push_back(random.below(4));
        }
        if (random.chance(60)) {
            for (int p = 1 + random.below(3); p > 0; --p) {
                const std::size_t row = random.below(static_cast<int>(free.rows));
                for (std::size_t k = 0; k < problem.objectives.size(); ++k) {
                    incumbent.points.push_back(free.objectives[k][row] + incumbent.completions[k] +
                                               random.below(3) - 1);
                }
            }
        } else {
            const std::size_t row = random.below(static_cast<int>(free.rows));
            incumbent.best_product = 1.0;
            for (std::size_t k = 0; k < problem.objectives.size(); ++k) {
                incumbent.best_product *=
                    std::max(0.0, free.objectives[k][row] + incumbent.completions[k]);
            }
        }
        // Every third time the others may also cost more of one and less of another.
        for (std::size_t k = 0; seed % 3 == 1 && k < problem.objectives.size(); ++k) {
            incumbent.completions.push_back(random.below(4));
        }
        explorer.explore(problem, options, bounded);
        BOOST_REQUIRE_MESSAGE(collect(problem, bounded).fronts == without_dropped(problem).fronts,
                              "seed " << seed);
        BOOST_REQUIRE_LE(bounded.rows, free.rows);
        useful += bounded.statistics.dropped_by_incumbent > 0.0 ? 1 : 0;
    }
    BOOST_TEST(useful > 80);
}

BOOST_AUTO_TEST_CASE(beams_and_local_searches_end_in_legal_rows) {
    TileShapeExplorer explorer;
    TileShapeResult result;
    int found = 0, best = 0;
    for (std::uint64_t seed = 1; seed < 160; ++seed) {
        FormulaPool pool;
        const tessera::model::FormulaScope scope(pool);
        Flavour flavour;
        flavour.best_effort = seed % 2 == 0;
        TileShapeProblem problem = CaseMaker(910000 + seed, flavour).make();
        problem.incumbent.quantities = {problem.objectives[0]};
        TileShapeOptions options;
        options.beam = 2;
        options.prune_min_rows = 0;
        explorer.explore(problem, options, result);
        if (result.rows == 0 || result.statistics.space > 5000.0) {
            continue;
        }
        ++found;
        Solution legal;
        const auto rows = feasible_rows(problem, legal);
        const auto is_legal = [&](const std::vector<double>& row) {
            return std::find(rows.begin(), rows.end(), row) != rows.end();
        };
        std::vector<std::int32_t> start;
        std::vector<double> row;
        for (const auto& column : result.shapes) {
            start.push_back(column[0]);
            row.push_back(column[0]);
        }
        BOOST_TEST(is_legal(row), "beam, seed " << seed);
        const double before = problem.objectives[0].value(row);
        TileShapeLocalSearch search(problem, {problem.incumbent.quantities, {}}, start);
        search.run(3000);
        row.assign(search.shapes().begin(), search.shapes().end());
        BOOST_TEST(is_legal(row), "local search, seed " << seed);
        BOOST_TEST(search.value() <= before);
        double least = HUGE_VAL;
        for (const std::vector<double>& other : rows) {
            least = std::min(least, problem.objectives[0].value(other));
        }
        best += search.value() <= least + 1e-9 * std::abs(least) ? 1 : 0;
    }
    BOOST_TEST(found > 40);
    BOOST_TEST(2 * best > found);
}

BOOST_AUTO_TEST_CASE(a_rank_of_1e9_needs_divisors_only) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    TileShapeProblem problem;
    const double bound = 1e9;
    for (int v = 0; v < 2; ++v) {
        problem.symbols.push_back(symbol(1000000000, -1, 2 * v + 1));
        problem.symbols.push_back(symbol(1000000000, 2 * v, -1));
    }
    const Formula a = Formula::symbol(0), b = Formula::symbol(1);
    const Formula c = Formula::symbol(2), d = Formula::symbol(3);
    problem.objectives = {bound / a + bound / c + a / b + c / d};
    problem.constraints = {{a * c + b + d, Relation::less_equal, 1e6}};
    TileShapeOptions options;
    options.max_rows = 20000;
    TileShapeResult result;
    TileShapeExplorer().explore(problem, options, result);
    BOOST_TEST(result.statistics.exact_space == "9150625");  // (55 * 55)^2: exponents 9 and 9
    BOOST_REQUIRE_EQUAL(result.rows, 1u);
    const double x = result.shapes[0][0], y = result.shapes[2][0];
    BOOST_TEST(x * y + result.shapes[1][0] + result.shapes[3][0] <= 1e6);
    // At least as good as the best assignment with b = a and d = c.
    double best = HUGE_VAL;
    for (double p = 1; p <= 1e6; ++p) {
        if (std::fmod(1e9, p) == 0.0) {
            for (double q = 1; p * q + p + q <= 1e6; ++q) {
                best = std::fmod(1e9, q) == 0.0 ? std::min(best, 1e9 / p + 1e9 / q + 2) : best;
            }
        }
    }
    BOOST_TEST(result.objectives[0][0] <= best);
}

BOOST_AUTO_TEST_CASE(large_spaces_are_worked_in_pieces_with_the_same_result) {
    for (const std::uint64_t seed : {3, 14, 15, 92, 65, 35}) {
        FormulaPool pool;
        const tessera::model::FormulaScope scope(pool);
        const TileShapeProblem problem = CaseMaker(seed, {}).make();
        TileShapeExplorer explorer;
        TileShapeResult whole, pieces;
        TileShapeOptions options;
        explorer.explore(problem, options, whole);
        for (const std::size_t rows : {1u, 130u, 1000u}) {
            options.max_rows = rows;
            explorer.explore(problem, options, pieces);
            BOOST_TEST((collect(problem, pieces).fronts == collect(problem, whole).fronts));
        }
    }
}

BOOST_AUTO_TEST_CASE(every_integer_of_a_large_rank_streams_through) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    TileShapeProblem problem;
    problem.symbols = {symbol(3000000)};
    const Formula s = Formula::symbol(0);
    problem.objectives = {ceil(3000000.0 / s) * 1000.0 + s};
    TileShapeResult result;
    TileShapeExplorer explorer;
    TileShapeOptions options;
    options.max_rows = 50000;
    for (const TileChoice choice : {TileChoice::every_integer, TileChoice::one_per_trip_count}) {
        problem.symbols[0].choice = choice;
        explorer.explore(problem, options, result);
        BOOST_REQUIRE_EQUAL(result.rows, 1u);
        // Minimum of 1000 n + 3e6 / n near n = sqrt(3000): n = 55, s = ceil(3e6 / 55).
        BOOST_TEST(result.shapes[0][0] == 54546);
        BOOST_TEST(result.objectives[0][0] == 55.0 * 1000 + 54546);
    }
    BOOST_TEST(result.statistics.enumerated < 4000.0);  // about 2 * sqrt(bound)
}

BOOST_AUTO_TEST_CASE(one_per_trip_count_lists_the_smallest_multiples) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    TileShapeProblem problem;
    problem.symbols = {symbol(10)};
    problem.symbols[0].choice = TileChoice::one_per_trip_count;
    problem.symbols[0].fused = true;
    TileShapeResult result;
    TileShapeExplorer explorer;
    explorer.explore(problem, {}, result);
    BOOST_TEST(result.shapes[0] == (std::vector<std::int32_t>{1, 2, 3, 4, 5, 10}),
               boost::test_tools::per_element());
    // Above an inner tile of 4, only multiples of it: 3 tiles of 4, 2 tiles of 8.
    problem.symbols = {symbol(10, -1, 1), symbol(10, 0, -1)};
    problem.symbols[0].choice = TileChoice::one_per_trip_count;
    problem.symbols[1].choice = TileChoice::divisors_of_outer;
    problem.symbols[0].fused = true;
    problem.constraints = {{Formula::symbol(1), Relation::equal, 4}};
    explorer.explore(problem, {}, result);
    BOOST_TEST(result.shapes[0] == (std::vector<std::int32_t>{4, 8}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_full_array_of_three_is_legal) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    for (int fanout = 2; fanout <= 256; ++fanout) {
        TileShapeProblem problem;
        problem.symbols = {symbol(fanout)};
        const Formula used = static_cast<double>(fanout) / Formula::symbol(0);
        problem.objectives = {Formula::symbol(0) * 1.0};
        problem.constraints = {{used, Relation::less_equal, static_cast<double>(fanout)}};
        problem.best_effort = {{used, static_cast<double>(fanout)}};
        TileShapeResult result;
        TileShapeExplorer().explore(problem, {}, result);
        BOOST_REQUIRE_EQUAL(result.rows, 1u);
        BOOST_REQUIRE_EQUAL(result.shapes[0][0], 1);
    }
}

BOOST_AUTO_TEST_CASE(templates_without_symbols_and_without_rows) {
    FormulaPool pool;
    const tessera::model::FormulaScope scope(pool);
    TileShapeProblem problem;
    problem.objectives = {4.0, 5.0};
    problem.constraints = {{3.0, Relation::less_equal, 3.0}};
    TileShapeExplorer explorer;
    TileShapeResult result;
    explorer.explore(problem, {}, result);
    BOOST_TEST(result.rows == 1u);
    BOOST_TEST(result.objectives[1][0] == 5.0);
    BOOST_TEST(result.statistics.exact_space == "1");
    problem.constraints[0].limit = 2.0;
    explorer.explore(problem, {}, result);
    BOOST_TEST(result.rows == 0u);
    BOOST_TEST(result.statistics.dropped_by_constraint[0] == 1.0);
    problem.symbols = {symbol(12)};
    explorer.explore(problem, {}, result);
    BOOST_TEST(result.rows == 0u);
    problem.symbols[0].outer = 0;
    BOOST_CHECK_THROW(explorer.explore(problem, {}, result), std::exception);
}

BOOST_AUTO_TEST_SUITE_END()
