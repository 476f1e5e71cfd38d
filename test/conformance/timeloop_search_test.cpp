// Timeloop's own algorithms against what timeloop-mapper v3.0.3 returned for the same inputs, and
// the optimal search against the best that it found in 60 and 300 seconds.
#include <boost/test/unit_test.hpp>

#include "support/timeloop_design.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop/mapspace.hpp"

namespace {

using namespace tessera;
using namespace tessera::timeloop;

struct Recorded {
    const char* design;
    double shipped;    ///< EDP, random, timeout 10000, victory-condition 100, two threads
    double hybrid;     ///< EDP, all defaults, two threads; 0: "no valid mappings found"
    double best;       ///< EDP, best algorithm after 60 s (300 s where it was run so long)
    const char* size;  ///< mapspace size: product of the four sizes printed
};

// EDPs are computed from printed cycles and energy per compute, hence good to about 1e-6.
constexpr Recorded recorded[] = {
    {"eyeriss_like-default_problem", 8.991826583979297, 19.2857, 3.6414661680798113,
     "1058158080000"},
    {"eyeriss_like-conv64", 426.37115644270614, 0, 203.2959490090441, "19752284160000"},
    {"simba_like-default_problem", 125.6125858518034, 165.0032251973193, 65.78245237796241,
     "12914978974557431817830400000"},
    {"simba_like-conv64", 10071.716563396729, 10369.012814584796, 1273.76433481148,
     "1185626958701346456757862400000"},
    {"simple_weight_stationary-default_problem", 136.86173346054537, 335.2486589945296,
     100.19155218970707, "30725775360000000"},
    {"simple_weight_stationary-conv64", 6087.013779066387, 8433.935137589711, 5939.493294344189,
     "702303436800000000"},
};

MapperResult search(const testing::TimeloopDesign& design, const MapperSettings& settings,
                    const MapperHooks& hooks = {}) {
    return search_mappings(design.problem, design.architecture, design.constraints, settings,
                           hooks);
}

BOOST_AUTO_TEST_SUITE(timeloop_search)

BOOST_AUTO_TEST_CASE(random_returns_what_timeloop_returned) {
    for (const Recorded& r : recorded) {
        MapperSettings settings;
        settings.algorithm = Algorithm::random;
        settings.timeout = 10000;
        settings.victory = 100;
        settings.threads = 2;
        const MapperResult result = search(testing::timeloop_design(r.design), settings);
        BOOST_TEST_CONTEXT(r.design) {
            BOOST_REQUIRE(result.best);
            BOOST_CHECK_CLOSE_FRACTION(result.cost.edp(), r.shipped, 2e-6);
            BOOST_CHECK_EQUAL(result.mapspace_size, r.size);
        }
    }
}

BOOST_AUTO_TEST_CASE(hybrid_returns_what_timeloop_returned) {
    for (const Recorded& r : recorded) {
        MapperSettings settings;
        settings.algorithm = Algorithm::hybrid;
        settings.threads = 2;
        const MapperResult result = search(testing::timeloop_design(r.design), settings);
        BOOST_TEST_CONTEXT(r.design) {
            BOOST_REQUIRE_EQUAL(result.best.has_value(), r.hybrid != 0);
            if (result.best) {
                BOOST_CHECK_CLOSE_FRACTION(result.cost.edp(), r.hybrid, 2e-6);
            } else {
                BOOST_CHECK_GE(result.reasons.size(), 2U);
                BOOST_CHECK(result.proof == Proof::none);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(c9_first_incumbents_beat_the_best_of_timeloop) {
    for (const Recorded& r : recorded) {
        MapperSettings settings;
        settings.threads = 1;
        MapperHooks hooks;
        hooks.budget.max_evals = 20'000;  // about 20 ms of evaluations
        hooks.budget.target = r.best;
        const MapperResult result = search(testing::timeloop_design(r.design), settings, hooks);
        BOOST_TEST_CONTEXT(r.design) {
            BOOST_REQUIRE(result.best);
            BOOST_CHECK_LE(result.cost.edp(), r.best);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_optimum_is_proven) {
    for (const Recorded& r : recorded) {
        MapperSettings settings;
        settings.threads = 1;
        settings.time_limit_s = 600;
        const MapperResult result = search(testing::timeloop_design(r.design), settings);
        BOOST_TEST_CONTEXT(r.design) {
            BOOST_REQUIRE(result.best && result.bound);
            BOOST_CHECK(result.proof == Proof::optimal);
            BOOST_CHECK_LE(result.cost.edp(), r.best);
            BOOST_CHECK_CLOSE_FRACTION(*result.bound, result.cost.edp(), 1e-8);
        }
    }
}

BOOST_AUTO_TEST_CASE(c11_default_options_succeed_where_timeloop_found_nothing) {
    const auto design = testing::timeloop_design("eyeriss_like-conv64");
    MapperSettings settings;  // no algorithm named
    settings.threads = 1;
    const MapperResult result = search(design, settings);
    BOOST_REQUIRE(result.best);
    const MapSpace space(design.problem, design.architecture, design.constraints);
    BOOST_CHECK(space.audit(*result.best).empty());
}

BOOST_AUTO_TEST_CASE(other_objectives_are_proven_too) {
    using Kind = Objective::Kind;
    const auto design = testing::timeloop_design("eyeriss_like-conv64");
    for (const Kind kind : {Kind::energy, Kind::delay}) {
        MapperSettings settings;
        settings.threads = 1;
        settings.time_limit_s = 600;
        settings.objectives = {{kind, 0}};
        const MapperResult result = search(design, settings);
        BOOST_TEST_CONTEXT(static_cast<int>(kind)) {
            BOOST_REQUIRE(result.best);
            BOOST_CHECK(result.proof == Proof::optimal);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
