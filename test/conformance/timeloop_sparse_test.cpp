// Sparse designs: every line of stats.txt as Timeloop wrote it.
#include <boost/test/unit_test.hpp>

#include "support/stats_lines.hpp"

namespace {

using namespace tessera;

BOOST_AUTO_TEST_SUITE(timeloop_sparse)

BOOST_AUTO_TEST_CASE(exercises_print_as_timeloop_master) {
    testing::compare_stats("sparse_exercises.jsonl.gz", timeloop::Dialect::master, 10, 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
