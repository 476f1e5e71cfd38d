// Convolutions with residuals: which loops may have a prologue is worked out by the data's ways
// (src/workload/prologues), and the oracle lets any loop have any.
//
// TESSERA_SOAK=n: n instances in place of a few, from number TESSERA_SOAK_FROM.
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>

#include "oracle/full_compare.hpp"
#include "support/setting.hpp"

using namespace tessera;

BOOST_AUTO_TEST_CASE(prologues_that_no_reader_brings_about_change_no_optimum) {
    const std::uint64_t wanted = test::setting("TESSERA_SOAK", 240);
    std::uint64_t judged = 0, mapped = 0;
    std::map<std::string, int> kinds;
    for (std::uint64_t seed = test::setting("TESSERA_SOAK_FROM", 1); judged < wanted; ++seed) {
        const oracle::Outcome outcome =
            oracle::judge(oracle::random_residual_instance(seed), nullptr, arch::Compat::none);
        BOOST_TEST(outcome.error == "",
                   "seed " << seed << " (" << outcome.kind << "): " << outcome.error);
        judged += outcome.judged;
        mapped += outcome.mapped;
        kinds[outcome.kind] += outcome.judged;
    }
    BOOST_TEST(mapped * 2 >= judged);
    BOOST_TEST(kinds.size() >= 7u);
}
