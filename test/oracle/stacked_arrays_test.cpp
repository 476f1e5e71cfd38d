// FFM below containers that stand right above each other, against brute force: a loop of one array
// is not a loop of the other. With TESSERA_SOAK=N in the environment, N instances from
// TESSERA_SOAK_FROM on are drawn instead.
#include <boost/test/unit_test.hpp>

#include "oracle/full_compare.hpp"
#include "support/setting.hpp"

using namespace tessera;

BOOST_AUTO_TEST_SUITE(stacked_arrays)

BOOST_AUTO_TEST_CASE(ffm_is_optimal_below_stacked_arrays) {
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    const std::uint64_t n = soak > 0 ? soak : 60;
    const std::uint64_t from = test::setting("TESSERA_SOAK_FROM", 0);
    std::uint64_t judged = 0, mapped = 0;
    for (std::uint64_t seed = from; seed < from + n; ++seed) {
        const oracle::Instance instance = oracle::random_stacked_instance(seed);
        const oracle::Outcome o = oracle::judge(instance);
        judged += o.judged ? 1 : 0;
        mapped += o.mapped ? 1 : 0;
        BOOST_TEST(o.error.empty(), "seed " << seed << " (" << o.kind << "): " << o.error << "\n"
                                            << instance.yaml);
        BOOST_TEST_MESSAGE("seed " << seed << " " << o.kind << " " << o.judged << " " << o.seconds);
    }
    BOOST_TEST(judged * 2 >= n);
    BOOST_TEST(mapped * 2 >= judged);
}

BOOST_AUTO_TEST_SUITE_END()
