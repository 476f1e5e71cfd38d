// FFM below networks against brute force. Hops depend on the order of the loops around one that
// spreads data, so that every order is a mapping of its own, in one Einsum and across a join.
// With TESSERA_SOAK=N in the environment, N instances from TESSERA_SOAK_FROM on are drawn instead.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <map>

#include "oracle/full_compare.hpp"

using namespace tessera;

BOOST_AUTO_TEST_SUITE(network)

BOOST_AUTO_TEST_CASE(ffm_is_optimal_below_networks) {
    const char* const soak = std::getenv("TESSERA_SOAK");
    const char* const start = std::getenv("TESSERA_SOAK_FROM");
    const std::uint64_t n = soak != nullptr ? std::strtoull(soak, nullptr, 10) : 80;
    const std::uint64_t from = start != nullptr ? std::strtoull(start, nullptr, 10) : 0;
    std::uint64_t judged = 0, mapped = 0;
    std::map<std::string, int> kinds;
    for (std::uint64_t seed = from; seed < from + n; ++seed) {
        const oracle::Instance instance = oracle::random_network_instance(seed);
        const oracle::Outcome o = oracle::judge(instance);
        judged += o.judged ? 1 : 0;
        mapped += o.mapped ? 1 : 0;
        kinds[o.kind] += o.judged ? 1 : 0;
        BOOST_TEST(o.error.empty(), "seed " << seed << " (" << o.kind << "): " << o.error << "\n"
                                            << instance.yaml);
        BOOST_TEST_MESSAGE("seed " << seed << " " << o.kind << " " << o.judged << " " << o.seconds);
    }
    BOOST_TEST(judged * 2 >= n);
    BOOST_TEST(mapped * 2 >= judged);
    BOOST_TEST(kinds.size() >= 6u);
}

BOOST_AUTO_TEST_SUITE_END()
