// Computing in memory: rmw_first_update and no_coalesce, every line of stats.txt as Timeloop.
#include <boost/test/unit_test.hpp>

#include "support/stats_lines.hpp"

namespace {

using namespace tessera;

BOOST_AUTO_TEST_SUITE(timeloop_cim)

BOOST_AUTO_TEST_CASE(converters_and_first_updates_print_as_timeloop) {
    testing::compare_stats("cim_mappings.jsonl.gz", timeloop::Dialect::v3_0_3, 60, 0);
}

const std::string dot = R"(problem:
  shape:
    dimensions: [K, J]
    data-spaces:
    - {name: A, projection: [K]}
    - {name: B, projection: [K]}
    - {name: Z, projection: [J], read-write: true}
  instance: {K: 8, J: 1}
mapping:
- {target: M, type: temporal, factors: K=8 J=1}
arch:
  arithmetic: {instances: 1}
  storage:
  - {name: M, technology: DRAM, instances: 1, read_bandwidth: 1)";

/// Cycles of 8 computes, which read 8 A, 8 B and 7 Z.
std::uint64_t cycles_with(const std::string& scale) {
    const testing::TimeloopInput input =
        testing::timeloop_input(dot + scale + "}\n", timeloop::Dialect::master);
    return timeloop::evaluate(input.problem, input.architecture, input.mapping,
                              {.dialect = timeloop::Dialect::master})
        .stats.cycles;
}

BOOST_AUTO_TEST_CASE(words_take_their_share_of_the_bandwidth) {
    const std::string scale = ", per_dataspace_bandwidth_consumption_scale: ";
    BOOST_CHECK_EQUAL(cycles_with(""), 23);
    BOOST_CHECK_EQUAL(cycles_with(scale + "{A: 0.5}"), 19);
    BOOST_CHECK_EQUAL(cycles_with(scale + "{A: 0.5, B: 0.5, Z: 0}"), 8);
    BOOST_CHECK_EQUAL(cycles_with(scale + "{A: 2}"), 31);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
