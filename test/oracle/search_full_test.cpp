// The searched space is preset `full`: line buffers, prologues and running states, on small random
// problems of which FFM's optimum is held against brute force elsewhere.
//
// With TESSERA_SOAK=n in the environment n problems of each family, from TESSERA_SOAK_FROM on.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oracle/few_instances.hpp"
#include "oracle/oracle_instance.hpp"
#include "oracle/points.hpp"
#include "support/setting.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/point_text.hpp"
#include "tessera/search/strategy.hpp"
#include "tessera/search/vector.hpp"

using namespace tessera;
using oracle::close;
using search::Move;
using search::Point;

namespace {

/// Problems of both families.
void for_problems(std::uint64_t each,
                  const std::function<void(const oracle::LoadedInstance&,
                                           const mapspace::MapSpaceOptions&)>& test) {
    const std::uint64_t from = test::setting("TESSERA_SOAK_FROM", 1);
    const std::uint64_t n = test::setting("TESSERA_SOAK", each);
    for (std::uint64_t seed = from; seed < from + n; ++seed) {
        for (const oracle::Instance& drawn :
             {oracle::random_full_instance(seed), oracle::random_state_instance(seed)}) {
            BOOST_TEST_CONTEXT(drawn.kind << " " << seed) {
                const oracle::LoadedInstance instance(drawn.yaml);
                test(instance, drawn.options);
            }
        }
    }
}

/// No solutions: nothing is legal.
mapper::Result result_of(const model::Problem& problem, const mapper::Options& options,
                         const std::string& mapper, const plugin::KnobSettings& knobs = {}) {
    try {
        return oracle::mapped(problem, options, mapper, knobs);
    } catch (const NoLegalMapping&) {
        return {};
    }
}

std::optional<mapper::Solution> optimum(const model::Problem& problem,
                                        const mapspace::MapSpaceOptions& mapspace) {
    mapper::Options options;
    options.mapspace = mapspace;
    options.threads = 1;
    const mapper::Result best = result_of(problem, options, "ffm");
    return best.solutions.empty() ? std::nullopt : std::optional(best.solutions[0]);
}

std::optional<search::OpenSpace> opened(const model::Problem& problem,
                                        const model::CostModel& model,
                                        const mapspace::MapSpaceOptions& options) {
    try {
        return std::optional<search::OpenSpace>(std::in_place, problem, model,
                                                search::OpenOptions{options, 1, nullptr});
    } catch (const NoLegalMapping&) {
        return std::nullopt;
    }
}

bool has_line_buffer(const std::string& yaml) {
    return yaml.find("line_buffer: True") != std::string::npos;
}

/// Whether no mapping in the order of the workload is as good.
bool needs_other_order(const oracle::LoadedInstance& instance, mapspace::MapSpaceOptions limits,
                       double best) {
    limits.all_einsum_orders = false;
    const std::optional<mapper::Solution> own = optimum(instance.problem, limits);
    return !own || own->report.edp_js() > best * (1 + 1e-9);
}

/// Makes sure that the points are of every kind.
struct Seen {
    int points = 0, line_buffers = 0, prologues = 0, other_orders = 0;

    void count(const std::string& yaml, std::uint32_t order) {
        ++points;
        other_orders += order > 0;
        line_buffers += has_line_buffer(yaml);
        prologues += yaml.find("initial_tile_shape") != std::string::npos;
    }
};

void test_legal(const model::Problem& problem, const mapspace::MapSpaceOptions& limits,
                const mapping::Mapping& tree, const search::Outcome& outcome) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const model::Report report = model->evaluate(problem, tree);
    BOOST_TEST(close(report.energy_j(), outcome.energy_j));
    BOOST_TEST(close(report.latency_s(), outcome.latency_s));
    for (const mapspace::Violation& v : mapspace::check(problem, tree, &limits)) {
        BOOST_TEST((v.severity == mapspace::Severity::warning), mapspace::to_text(v));
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(search_full)

BOOST_AUTO_TEST_CASE(exhaustive_search_finds_the_optimum_of_ffm) {
    int proven = 0, with_line_buffer = 0, in_other_order = 0, infeasible = 0;
    for_problems(120, [&](const oracle::LoadedInstance& instance, const auto& limits) {
        const std::optional<mapper::Solution> best = optimum(instance.problem, limits);
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        options.budget.max_evals = 200'000;
        const mapper::Result all =
            result_of(instance.problem, options, "search", {{"strategy", "exhaustive"}});
        if (!best) {
            BOOST_TEST(all.solutions.empty());
            ++infeasible;
        } else if (all.status == mapper::Status::optimal) {
            ++proven;
            with_line_buffer += has_line_buffer(mapping::to_yaml(best->mapping));
            in_other_order += needs_other_order(instance, limits, best->report.edp_js());
            BOOST_TEST_REQUIRE(all.solutions.size() == 1u);
            BOOST_TEST(close(all.solutions[0].report.edp_js(), best->report.edp_js()),
                       all.solutions[0].report.edp_js() << " and " << best->report.edp_js());
        } else if (!all.solutions.empty()) {
            BOOST_TEST(all.solutions[0].report.edp_js() >= best->report.edp_js() * (1 - 1e-9));
        }
    });
    BOOST_TEST_MESSAGE(proven << " proven, " << with_line_buffer << " with a line buffer, "
                              << in_other_order << " in another order only, " << infeasible
                              << " infeasible");
    BOOST_TEST(proven >= 60);
    BOOST_TEST(with_line_buffer >= 5);
    BOOST_TEST(in_other_order >= 1);
}

// Pmapping tables have the order of the workload alone.
BOOST_AUTO_TEST_CASE(exhaustive_search_of_tables_finds_the_optimum_of_that_order) {
    int proven = 0, with_line_buffer = 0;
    for_problems(120, [&](const oracle::LoadedInstance& instance, auto limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        options.budget.max_evals = 200'000;
        const mapper::Result all = result_of(instance.problem, options, "search",
                                             {{"strategy", "exhaustive"}, {"space", "tables"}});
        limits.all_einsum_orders = false;
        const std::optional<mapper::Solution> best = optimum(instance.problem, limits);
        if (best && !all.solutions.empty()) {
            const double value = all.solutions[0].report.edp_js();
            BOOST_TEST(value >= best->report.edp_js() * (1 - 1e-9));
            if (all.statistics.evaluated < options.budget.max_evals) {
                ++proven;
                with_line_buffer += has_line_buffer(mapping::to_yaml(best->mapping));
                BOOST_TEST(close(value, best->report.edp_js()),
                           value << " and " << best->report.edp_js());
            }
        }
    });
    BOOST_TEST_MESSAGE(proven << " proven, " << with_line_buffer << " with a line buffer");
    BOOST_TEST(proven >= 60);
    BOOST_TEST(with_line_buffer >= 5);
}

BOOST_AUTO_TEST_CASE(what_the_host_makes_is_legal_and_costs_what_the_model_says) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    Seen seen;
    for_problems(60, [&](const oracle::LoadedInstance& instance, const auto& limits) {
        const model::Problem& problem = instance.problem;
        const auto space = opened(problem, *model, limits);
        if (!space || !optimum(problem, limits)) {
            return;
        }
        search::Worker worker(*space);
        const search::VectorEncoding encoding(*space);
        std::vector<float> vector(encoding.size());
        const auto test = [&](const Point& point, const search::Outcome& outcome) {
            if (!outcome.legal()) {
                return;
            }
            const mapping::Mapping tree = worker.mapping(point);
            test_legal(problem, limits, tree, outcome);
            seen.count(mapping::to_yaml(tree), point.order);
            Point back;
            BOOST_TEST_REQUIRE(worker.encode(tree, outcome.energy_j, outcome.latency_s, back),
                               mapping::to_yaml(tree));
            BOOST_TEST(close(worker.evaluate(back).energy_j, outcome.energy_j));
            encoding.encode(point, vector);
            encoding.decode(vector, back);
            BOOST_TEST((back == point), search::to_text(point) << " / " << search::to_text(back));
        };
        for (std::uint64_t seed = 0; seed < 6; ++seed) {
            Point point, other;
            const search::Outcome drawn = worker.draw(seed, point);
            test(point, drawn);
            if (!drawn.legal()) {
                continue;
            }
            for (std::size_t move = 0; move < search::n_moves; ++move) {
                Point moved = point;
                const auto e = static_cast<std::uint32_t>(seed % space->n_einsums());
                const search::Outcome outcome =
                    worker.move(static_cast<Move>(move), seed, e, moved);
                test(moved, outcome);
            }
            if (worker.draw(seed + 100, other).legal()) {
                const search::Outcome crossed =
                    worker.cross(seed, other, 0, (space->n_einsums() + 1) / 2, point);
                test(point, crossed);
                const search::Outcome repaired = worker.repair(seed, other);
                test(other, repaired);
            }
        }
    });
    BOOST_TEST_MESSAGE(seen.points << " points, " << seen.line_buffers << " with line buffers, "
                                   << seen.prologues << " with prologues, " << seen.other_orders
                                   << " in another order");
    BOOST_TEST(seen.points >= 2000);
    BOOST_TEST(seen.line_buffers >= 200);
    BOOST_TEST(seen.prologues >= 50);
    BOOST_TEST(seen.other_orders >= 200);
}

BOOST_AUTO_TEST_CASE(optima_of_ffm_are_points) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    int optima = 0, points = 0;
    for_problems(200, [&](const oracle::LoadedInstance& instance, const auto& limits) {
        const std::optional<mapper::Solution> best = optimum(instance.problem, limits);
        if (!best) {
            return;
        }
        const auto space = opened(instance.problem, *model, limits);
        BOOST_TEST_REQUIRE(space.has_value());
        search::Worker worker(*space);
        Point point;
        ++optima;
        const bool found =
            worker.encode(best->mapping, best->report.energy_j(), best->report.latency_s(), point);
        BOOST_TEST(found, mapping::to_yaml(best->mapping));
        points += found;
    });
    BOOST_TEST(points == optima);
    BOOST_TEST(optima >= 100);
}

BOOST_AUTO_TEST_CASE(strategies_reach_the_optimum_and_are_never_below) {
    int problems = 0;
    std::map<std::string, int> reached;
    for_problems(60, [&](const oracle::LoadedInstance& instance, const auto& limits) {
        const std::optional<mapper::Solution> best = optimum(instance.problem, limits);
        if (!best) {
            return;
        }
        ++problems;
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        options.budget.max_evals = 20'000;
        options.budget.target = best->report.edp_js() * (1 + 1e-9);
        for (const char* strategy : {"annealing", "genetic"}) {
            const mapper::Result found =
                oracle::mapped(instance.problem, options, "search", {{"strategy", strategy}});
            BOOST_TEST_REQUIRE(found.solutions.size() == 1u);
            const double value = found.solutions[0].report.edp_js();
            BOOST_TEST(value >= best->report.edp_js() * (1 - 1e-9));
            reached[strategy] += value <= options.budget.target;
        }
    });
    for (const auto& [strategy, count] : reached) {
        BOOST_TEST_MESSAGE(strategy << ": " << count << " of " << problems);
        BOOST_TEST(100 * count >= 95 * problems, strategy << ": " << count << " of " << problems);
    }
    BOOST_TEST(problems >= 40);
}

BOOST_AUTO_TEST_SUITE_END()
