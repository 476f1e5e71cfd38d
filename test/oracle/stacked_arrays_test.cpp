// FFM below containers that stand right above each other, against brute force: a loop of one array
// is not a loop of the other. With TESSERA_SOAK=N in the environment, N instances from
// TESSERA_SOAK_FROM on are drawn instead.
#include <boost/test/unit_test.hpp>

#include "oracle/full_compare.hpp"

using namespace tessera;

BOOST_AUTO_TEST_CASE(ffm_is_optimal_below_stacked_arrays) {
    const oracle::Judged seen = oracle::judge_drawn(60, {}, oracle::random_stacked_instance);
    BOOST_TEST(seen.judged * 2 >= seen.drawn);
    BOOST_TEST(seen.mapped * 2 >= seen.judged);
}
