// However heavy the phase, a stop ends the engine after little more work. Measured in CPU time of
// the searching thread, which the load of the machine does not stretch.
#include <pthread.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <ctime>
#include <map>
#include <random>
#include <thread>

#include "support/paths.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

/// The token is polled every 50 ms of work; what was in the making is thrown away besides.
constexpr double limit_s = 0.1;

double cpu_s(clockid_t clock) {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// CPU seconds from a stop `after_s` CPU seconds to the return of the mapper.
double seconds_to_stop(const model::Problem& problem, double after_s) {
    clockid_t clock{};
    BOOST_TEST_REQUIRE(::pthread_getcpuclockid(::pthread_self(), &clock) == 0);
    std::atomic<bool> stop{false};
    std::atomic<double> stopped_at_s{0};
    const double from_s = cpu_s(clock);
    std::jthread timer([&](const std::stop_token& done) {
        while (!done.stop_requested() && cpu_s(clock) - from_s < after_s) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        stopped_at_s = cpu_s(clock);
        stop = true;
    });
    mapper::Options options;
    options.mapspace = mapspace::MapSpaceOptions::accelforge();
    options.threads = 1;
    options.stop = &stop;
    const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const mapper::Result r = ffm->map(problem, *model, options);
    const double end_s = cpu_s(clock);
    BOOST_TEST_REQUIRE(stop);  // else the case is not heavy enough
    BOOST_TEST(r.solutions.size() == 1u);
    BOOST_TEST(r.stopped_by == "stop");
    return end_s - stopped_at_s;
}

struct HeavyCase {
    const char* architecture;
    const char* workload;
    std::map<std::string, std::string> defines;
    double until_s;  ///< stopped before that
    int stops;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(ffm_stop)

BOOST_AUTO_TEST_CASE(heavy_phases_end_within_milliseconds_of_work) {
    // Many rows to be compared at once; then large tables to be joined.
    const HeavyCase cases[] = {
        {"simba", "resnet-50", {}, 2.5, 6},
        {"tpu-v4i", "gpt3-6.7b", {{"BATCH", "64"}, {"TOKENS", "2048"}}, 1.0, 4}};
    const std::string root = tessera::test::test_folder() + "/..";
    std::mt19937_64 random(11);
    for (const HeavyCase& c : cases) {
        const workload::Workload workload =
            workload::load_workload(root + "/problem-shapes/" + c.workload + ".yaml", c.defines);
        const arch::Architecture architecture =
            arch::load_architecture(root + "/arch-specs/" + c.architecture + ".yaml", {});
        const model::Problem problem{&workload, &architecture, arch::Compat::none};
        for (int i = 0; i < c.stops; ++i) {
            const double at_s =
                0.1 + (c.until_s - 0.1) * static_cast<double>(random() % 1000) / 1000;
            const double took_s = seconds_to_stop(problem, at_s);
            BOOST_TEST(took_s <= limit_s,
                       c.workload << " stopped after " << at_s << " s: took " << took_s << " s");
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
