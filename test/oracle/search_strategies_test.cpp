// Strategies against the proven optimum, on small random problems of the same mapspace.
#include <boost/test/unit_test.hpp>
#include <map>

#include "api/inputs.hpp"
#include "oracle/few_instances.hpp"
#include "oracle/points.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;

BOOST_AUTO_TEST_CASE(strategies_reach_the_optimum_and_are_never_below) {
    std::map<std::string, int> reached;
    int problems = 0;
    oracle::for_each_instance(17, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        const double best = oracle::mapped(problem, options, "ffm").solutions.at(0).report.edp_js();
        ++problems;
        options.budget.max_evals = 20'000;
        options.budget.target = best * (1 + 1e-9);
        options.knobs["mcts"]["variant"] = problems % 2 == 0 ? "tileflow" : "tileseek";
        for (const std::string strategy : {"annealing", "genetic", "mcts"}) {
            const mapper::Result found =
                oracle::mapped(problem, options, "search", {{"strategy", strategy}});
            BOOST_TEST_REQUIRE(found.solutions.size() == 1u);
            const double value = found.solutions[0].report.edp_js();
            BOOST_TEST(value >= best * (1 - 1e-9), strategy << " " << value << " < " << best);
            reached[strategy] += value <= best * (1 + 1e-9);
        }
    });
    for (const auto& [strategy, count] : reached) {
        BOOST_TEST_MESSAGE(strategy << ": " << count << " of " << problems);
        BOOST_TEST(100 * count >= 95 * problems, strategy << ": " << count << " of " << problems);
    }
    BOOST_TEST(problems >= 200);
}

BOOST_AUTO_TEST_CASE(known_mappings_change_no_optimum_and_are_never_lost) {
    oracle::for_each_instance(4, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        const mapper::Solution best = oracle::mapped(problem, options, "ffm").solutions.at(0);
        const double optimum = best.report.edp_js();
        options.budget.max_evals = 30;
        const mapper::Solution some = oracle::mapped(problem, options, "search").solutions.at(0);
        options.budget = {};
        for (const std::vector<mapper::Solution>& known :
             {std::vector{some}, std::vector{best}, std::vector{some, best}}) {
            options.start = known;
            const mapper::Result found = oracle::mapped(problem, options, "ffm");
            BOOST_TEST((found.status == mapper::Status::optimal));
            BOOST_TEST(oracle::close(found.solutions.at(0).report.edp_js(), optimum));
            BOOST_TEST(oracle::close(found.bound.value_or(0), optimum));
        }
        for (const std::string strategy : {"random", "annealing", "genetic", "mcts"}) {
            options.start = {best};
            options.budget.max_evals = 20;
            const mapper::Result found =
                oracle::mapped(problem, options, "search", {{"strategy", strategy}});
            BOOST_TEST(oracle::close(found.solutions.at(0).report.edp_js(), optimum), strategy);
            options.budget = {};
        }
        // Of several metrics the known one is one of the set, or something is better.
        options.metrics = {mapper::Metric::energy, mapper::Metric::latency};
        options.budget.max_evals = 20;
        bool as_good = false;
        for (const mapper::Solution& s : oracle::mapped(problem, options, "search").solutions) {
            as_good = as_good || (s.report.energy_j() <= best.report.energy_j() * (1 + 1e-9) &&
                                  s.report.latency_s() <= best.report.latency_s() * (1 + 1e-9));
        }
        BOOST_TEST(as_good);
    });
}

// Four Einsums read one fused tensor. Who takes it out of the fusion replaces all four at once.
BOOST_AUTO_TEST_CASE(genetic_search_leaves_a_fusion_that_several_einsums_share) {
    api::InputNames names;
    names.architecture = "simba";
    names.workload = "gpt3-6.7b";
    names.defines = {{"BATCH", "1"}, {"TOKENS", "2048"}};
    const api::Inputs inputs = api::load_inputs(names);
    const model::Problem problem{&*inputs.workload, &*inputs.architecture};
    mapper::Options options;
    options.threads = 1;
    const double best = oracle::mapped(problem, options, "ffm").solutions.at(0).report.edp_js();
    options.budget.max_evals = 100'000;
    for (const std::uint64_t seed : {1, 2, 3}) {
        options.seed = seed;
        const mapper::Result found =
            oracle::mapped(problem, options, "search", {{"strategy", "genetic"}});
        const double value = found.solutions.at(0).report.edp_js();
        BOOST_TEST(value >= best * (1 - 1e-9));
        BOOST_TEST(value <= best * 1.10, "seed " << seed << ": " << value / best);
    }
}
