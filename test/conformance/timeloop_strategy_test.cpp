// Search strategies on the six designs of bench/timeloop, against the best mapping that
// timeloop-mapper v3.0.3 found there in 60 seconds.
#include <boost/test/unit_test.hpp>

#include "support/timeloop_design.hpp"
#include "timeloop/mapper.hpp"

namespace {

using namespace tessera;
using namespace tessera::timeloop;

struct Recorded {
    const char* design;
    double best;  ///< EDP
};

// As in timeloop_search_test.cpp.
constexpr Recorded recorded[] = {
    {"eyeriss_like-default_problem", 3.6414661680798113},
    {"eyeriss_like-conv64", 203.2959490090441},
    {"simba_like-default_problem", 65.78245237796241},
    {"simba_like-conv64", 1273.76433481148},
    {"simple_weight_stationary-default_problem", 100.19155218970707},
    {"simple_weight_stationary-conv64", 5939.493294344189},
};

BOOST_AUTO_TEST_SUITE(timeloop_strategies)

BOOST_AUTO_TEST_CASE(strategies_beat_what_timeloop_finds_in_a_minute) {
    for (const Recorded& r : recorded) {
        const testing::TimeloopDesign design = testing::timeloop_design(r.design);
        for (const char* strategy : {"annealing", "genetic"}) {
            MapperSettings settings;
            settings.strategy = StrategySettings{strategy, {}};
            settings.seed = 1;
            MapperHooks hooks;
            hooks.budget.max_evals = 200'000;
            const MapperResult result = search_mappings(design.problem, design.architecture,
                                                        design.constraints, settings, hooks);
            BOOST_TEST_CONTEXT(r.design << ", " << strategy) {
                BOOST_REQUIRE(result.best);
                BOOST_TEST(result.cost.edp() <= r.best * (1 + 2e-6));
                BOOST_TEST_MESSAGE(r.design << " " << strategy << " " << result.cost.edp() / r.best
                                            << " after " << result.best_s << " s of "
                                            << result.wall_s);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
