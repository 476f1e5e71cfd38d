// FFM in the preset `full` against brute force: every instance for energy, latency, EDP and the
// Pareto set, over all Einsum orders.
//
// full_seeds.txt lists seeds of random_full_instance() that are quick to enumerate (a few are not,
// and are left out). With TESSERA_SOAK=N in the environment, N instances from TESSERA_SOAK_FROM
// (default 1000000) on are drawn instead, those too large to enumerate left out, and a line per
// instance goes to stderr if TESSERA_SOAK_LIST is set.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "oracle/full_compare.hpp"
#include "support/paths.hpp"
#include "support/setting.hpp"

using namespace tessera;
using oracle::judge;
using oracle::Outcome;

namespace {

std::vector<std::uint64_t> listed_seeds() {
    std::vector<std::uint64_t> seeds;
    std::ifstream in(tessera::test::test_folder() + "/oracle/full_seeds.txt");
    for (std::uint64_t seed; in >> seed;) {
        seeds.push_back(seed);
    }
    return seeds;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ffm_is_optimal_in_the_whole_mapspace) {
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    const std::uint64_t from = test::setting("TESSERA_SOAK_FROM", 1'000'000);
    const bool list = test::setting("TESSERA_SOAK_LIST", 0) != 0;
    const std::vector<std::uint64_t> seeds = listed_seeds();
    const std::uint64_t wanted = soak > 0 ? soak : seeds.size();
    std::atomic<std::uint64_t> next{0}, judged{0}, mapped{0};
    std::map<std::string, int> kinds;
    std::vector<std::string> errors;
    std::mutex guard;
    const auto work = [&] {
        for (std::uint64_t i = next++; soak > 0 ? judged < wanted : i < wanted; i = next++) {
            const std::uint64_t seed = soak > 0 ? from + i : seeds[i];
            oracle::Instance drawn = oracle::random_full_instance(seed);
            if (seed % 8 == 3) {
                drawn.yaml = oracle::with_persistent_inputs(drawn.yaml);
            }
            const Outcome o = judge(drawn);
            judged += o.judged ? 1 : 0;
            mapped += o.mapped ? 1 : 0;
            const std::lock_guard lock(guard);
            kinds[o.kind] += o.judged ? 1 : 0;
            if (list) {
                std::fprintf(stderr, "%llu %s %d %.3f %s\n", static_cast<unsigned long long>(seed),
                             o.kind.c_str(), o.judged, o.seconds, o.error.c_str());
            }
            if (!o.error.empty()) {
                errors.push_back("seed " + std::to_string(seed) + " (" + o.kind + "): " + o.error);
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
    BOOST_TEST(judged >= (soak > 0 ? soak : 2000u));
    BOOST_TEST(mapped * 2 >= judged);
    BOOST_TEST(kinds.size() >= 10u);
    if (soak > 0) {
        std::fprintf(stderr, "%llu instances, %llu of them with a mapping, %zu disagree\n",
                     static_cast<unsigned long long>(judged.load()),
                     static_cast<unsigned long long>(mapped.load()), errors.size());
    }
}
