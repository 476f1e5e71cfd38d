// Timeloop's own figures for given mappings: every printed value equal at printed precision.
#include <boost/test/unit_test.hpp>

#include "support/paths.hpp"
#include "support/reference_cases.hpp"
#include "support/timeloop_figures.hpp"

namespace {

using namespace tessera;
using testing::FigureRows;

const std::string folder = test::test_folder() + "/reference/timeloop/";

/// Evaluates every case of a file; counts rows and reports those that differ.
void compare(const std::string& file, timeloop::Dialect dialect, int cases_at_least) {
    int cases = 0, rows = 0;
    testing::for_each_case(folder + file, [&](const YAML::Node& node) {
        const testing::TimeloopInput input =
            testing::timeloop_input(node["input"].as<std::string>(), dialect);
        const timeloop::Evaluation evaluation = timeloop::evaluate(
            input.problem, input.architecture, input.mapping, {.dialect = dialect});
        const FigureRows ours =
            testing::figure_rows(input.problem, input.architecture, evaluation.stats, dialect);
        BOOST_CHECK(evaluation.fit.ok());
        for (const auto& row : node["rows"]) {
            const std::string key = row.first.as<std::string>();
            const auto it = ours.find(key);
            BOOST_REQUIRE_MESSAGE(it != ours.end(), "case " << cases << " lacks " << key);
            BOOST_CHECK_MESSAGE(it->second == row.second.as<std::string>(),
                                "case " << cases << ", " << key << "\n  Timeloop "
                                        << row.second.as<std::string>() << "\n  ours     "
                                        << it->second);
            ++rows;
        }
        ++cases;
    });
    BOOST_CHECK_GE(cases, cases_at_least);
    BOOST_CHECK_GT(rows, 10 * cases);
}

BOOST_AUTO_TEST_SUITE(timeloop_model)

BOOST_AUTO_TEST_CASE(c5_perfect_factors_print_as_timeloop) {
    compare("random_mappings.jsonl.gz", timeloop::Dialect::v3_0_3, 600);
}

BOOST_AUTO_TEST_CASE(c6_imperfect_factors_and_reuse_limits_print_as_timeloop) {
    compare("imperfect_mappings.jsonl.gz", timeloop::Dialect::v3_0_3, 200);
}

BOOST_AUTO_TEST_CASE(c17_exercises_with_leakage_print_as_timeloop_master) {
    compare("exercises.jsonl.gz", timeloop::Dialect::master, 19);
}

/// Mappings that our own search found, and what the real tool said of them.
BOOST_AUTO_TEST_CASE(c7_mappings_found_print_as_timeloop) {
    compare("round_trip.jsonl.gz", timeloop::Dialect::v3_0_3, 126);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
