// Strategies against the proven optimum, on small random problems of the same mapspace.
#include <boost/test/unit_test.hpp>
#include <map>

#include "oracle/few_instances.hpp"
#include "oracle/points.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;

namespace {

mapper::Result map(const model::Problem& problem, const mapper::Options& options,
                   const std::string& name, const plugin::KnobSettings& knobs = {}) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    return plugin::Registry<mapper::Mapper>::instance()
        .create(name, knobs)
        ->map(problem, *model, options);
}

}  // namespace

BOOST_AUTO_TEST_CASE(strategies_reach_the_optimum_and_are_never_below) {
    std::map<std::string, int> reached;
    int problems = 0;
    oracle::for_each_instance(17, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.threads = 1;
        const double best = map(problem, options, "ffm").solutions.at(0).report.edp_js();
        ++problems;
        for (const std::string strategy : {"annealing", "genetic"}) {
            options.budget.max_evals = 20'000;
            options.budget.target = best * (1 + 1e-9);
            const mapper::Result found = map(problem, options, "search", {{"strategy", strategy}});
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
