// Tile shapes from orders of loops, on small random problems; and the strategies that search
// orders.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>

#include "oracle/few_instances.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/allocation.hpp"
#include "tessera/search/open_space.hpp"

using namespace tessera;
using search::LoopFactor;

namespace {

plugin::Owned<model::CostModel> looptree() {
    return plugin::Registry<model::CostModel>::instance().create("looptree");
}

}  // namespace

BOOST_AUTO_TEST_CASE(factors_are_merged_variable_by_variable) {
    std::vector<LoopFactor> factors{{1, 2}, {0, 2}, {1, 2}, {1, 3}, {2, 5}};
    search::merge_factors(factors, 4);
    BOOST_TEST((factors == std::vector<LoopFactor>{{0, 2}, {1, 3}, {1, 4}, {2, 5}}));
    search::merge_factors(factors, 1);  // a variable keeps one
    BOOST_TEST((factors == std::vector<LoopFactor>{{0, 2}, {1, 12}, {2, 5}}));
}

BOOST_AUTO_TEST_CASE(orders_of_loops_give_legal_mappings) {
    const auto model = looptree();
    std::size_t legal = 0, orders = 0, different = 0;
    oracle::for_each_instance(8, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        if (space.n_einsums() > 1) {
            return;  // of several, memories may overflow together
        }
        search::Worker worker(space);
        search::Allocation allocation(space);
        for (const std::uint32_t t : allocation.unfused(0)) {
            search::Rng rng(t);
            if (!allocation.start(0, t, rng)) {
                continue;
            }
            std::vector<LoopFactor> order = allocation.factors();
            BOOST_TEST(std::is_sorted(order.begin(), order.end()));
            search::merge_factors(order, 4);
            std::vector<std::int64_t> first;
            do {
                const std::vector<std::int64_t> tiles = allocation.allocate(order);
                ++orders;
                if (tiles.empty()) {
                    continue;
                }
                search::Point point;
                point.choices = {{t, 0}};
                point.tiles = tiles;
                const search::Outcome outcome = worker.evaluate(point);
                BOOST_TEST(outcome.legal(), static_cast<int>(outcome.verdict));
                ++legal;
                different += !first.empty() && first != tiles;
                first = tiles;
            } while (std::next_permutation(order.begin(), order.end()));
        }
    });
    BOOST_TEST_MESSAGE(legal << " of " << orders << " orders are legal");
    BOOST_TEST(legal > 500u);
    BOOST_TEST(different > 100u);
}

BOOST_AUTO_TEST_CASE(strategies_of_loop_orders_are_never_below_the_optimum) {
    const auto model = looptree();
    const auto map = [&](const model::Problem& problem, const mapper::Options& options,
                         const std::string& name, const plugin::KnobSettings& knobs = {}) {
        return plugin::Registry<mapper::Mapper>::instance()
            .create(name, knobs)
            ->map(problem, *model, options);
    };
    std::map<std::string, int> reached;
    int problems = 0;
    oracle::for_each_instance(8, [&](const model::Problem& problem, const auto& limits) {
        mapper::Options options;
        options.mapspace = limits;
        options.mapspace.unfused = true;  // what they search
        options.threads = 1;
        const double best = map(problem, options, "ffm").solutions.at(0).report.edp_js();
        ++problems;
        options.budget.max_evals = 5000;
        for (const std::string strategy : {"loma", "salsa"}) {
            const mapper::Result found = map(problem, options, "search", {{"strategy", strategy}});
            BOOST_TEST_REQUIRE(found.solutions.size() == 1u);
            const double value = found.solutions[0].report.edp_js();
            BOOST_TEST(value >= best * (1 - 1e-9), strategy << " " << value << " < " << best);
            reached[strategy] += value <= best * (1 + 1e-9);
        }
    });
    for (const auto& [strategy, count] : reached) {
        BOOST_TEST_MESSAGE(strategy << ": " << count << " of " << problems);
        // Memories filled from the inside out are not always the best.
        BOOST_TEST(10 * count >= 4 * problems, strategy << ": " << count << " of " << problems);
    }
}
