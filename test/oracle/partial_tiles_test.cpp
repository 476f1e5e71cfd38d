// FFM with partial tiles against brute force: random instances of the preset `full`, every tile
// shape of every outermost loop, for energy, latency, EDP and the Pareto set.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>

#include "oracle/full_compare.hpp"
#include "support/paths.hpp"
#include "support/setting.hpp"

using namespace tessera;

BOOST_AUTO_TEST_CASE(ffm_is_optimal_with_partial_tiles) {
    // TESSERA_SOAK_PARTIAL=N: N seeds of the list instead, TESSERA_SOAK_LIST=1: a line for each.
    const std::uint64_t soak = tessera::test::setting("TESSERA_SOAK_PARTIAL", 0);
    const bool list = tessera::test::setting("TESSERA_SOAK_LIST", 0) != 0;
    std::vector<std::uint64_t> seeds;
    std::ifstream in(tessera::test::test_folder() + "/oracle/full_seeds.txt");
    for (std::uint64_t seed; in >> seed;) {
        seeds.push_back(seed);
    }
    const std::size_t wanted = std::min<std::size_t>(seeds.size(), soak > 0 ? soak : 1000);
    std::atomic<std::size_t> next{0};
    std::atomic<int> judged{0}, mapped{0};
    std::vector<std::string> errors;
    std::mutex guard;
    const auto work = [&] {
        // Some are too large to enumerate with partial tiles.
        for (std::size_t i = next++; i < wanted && (soak > 0 || judged < 240); i = next++) {
            oracle::Instance instance = oracle::random_full_instance(seeds[i]);
            instance.options.imperfect_temporal = instance.options.imperfect_spatial = true;
            const oracle::Outcome o = oracle::judge(instance);
            const std::lock_guard lock(guard);
            judged += o.judged ? 1 : 0;
            mapped += o.mapped ? 1 : 0;
            if (list) {
                std::fprintf(stderr, "%llu %s %d %.3f %s\n",
                             static_cast<unsigned long long>(seeds[i]), o.kind.c_str(), o.judged,
                             o.seconds, o.error.c_str());
            }
            if (!o.error.empty()) {
                errors.push_back("seed " + std::to_string(seeds[i]) + " (" + o.kind +
                                 "): " + o.error);
            }
        }
    };
    {
        const std::jthread other(work);
        work();
    }
    for (const std::string& error : errors) {
        BOOST_ERROR(error);
    }
    BOOST_TEST(judged >= 200);
    BOOST_TEST(mapped * 2 >= judged);
}
