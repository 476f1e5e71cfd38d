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
    // TESSERA_SOAK_PARTIAL=N: N instances from seed TESSERA_SOAK_FROM on instead of those of the
    // list, TESSERA_SOAK_LIST=1: a line for each.
    const std::uint64_t soak = tessera::test::setting("TESSERA_SOAK_PARTIAL", 0);
    const bool list = tessera::test::setting("TESSERA_SOAK_LIST", 0) != 0;
    std::vector<std::uint64_t> seeds;
    std::ifstream in(tessera::test::test_folder() + "/oracle/full_seeds.txt");
    for (std::uint64_t seed; in >> seed;) {
        seeds.push_back(seed);
    }
    const std::uint64_t from = tessera::test::setting("TESSERA_SOAK_FROM", 1'000'000);
    const std::size_t drawn = soak > 0 ? 20 * soak : std::min<std::size_t>(seeds.size(), 1000);
    const std::uint64_t wanted = soak > 0 ? soak : 240;
    std::atomic<std::size_t> next{0};
    std::atomic<std::uint64_t> judged{0}, mapped{0};
    std::vector<std::string> errors;
    std::mutex guard;
    const auto work = [&] {
        // Some are too large to enumerate with partial tiles.
        for (std::size_t i = next++; i < drawn && judged < wanted; i = next++) {
            const std::uint64_t seed = soak > 0 ? from + i : seeds[i];
            oracle::Instance instance = oracle::random_full_instance(seed);
            instance.options.imperfect_temporal = instance.options.imperfect_spatial = true;
            const oracle::Outcome o = oracle::judge(instance);
            const std::lock_guard lock(guard);
            judged += o.judged ? 1 : 0;
            mapped += o.mapped ? 1 : 0;
            if (list) {
                std::fprintf(stderr, "%llu %s %d %.3f %s\n", static_cast<unsigned long long>(seed),
                             o.kind.c_str(), o.judged, o.seconds, o.error.c_str());
            }
            if (!o.error.empty()) {
                errors.push_back("seed " + std::to_string(seed) + " (" + o.kind + "): " + o.error +
                                 "\n" + instance.yaml);
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
    BOOST_TEST(judged * 10 >= wanted * 8);
    BOOST_TEST(mapped * 2 >= judged);
}
