// Limits that are met before a search begins.
#include <boost/test/unit_test.hpp>
#include <string>

#include "tessera/search/watch.hpp"
#include "tessera/telemetry/recorder.hpp"

using namespace tessera;

BOOST_AUTO_TEST_CASE(a_limit_that_is_met_from_the_start_needs_no_time_to_be_seen) {
    const telemetry::Recorder recorder;
    base::Budget budget;
    budget.max_memory_bytes = 1;
    for (int i = 0; i < 50; ++i) {
        const search::Watch watch(budget, nullptr, recorder);
        BOOST_TEST(watch.stopped());
        BOOST_TEST(watch.reason() == std::string("max-memory"));
    }
    const std::atomic<bool> stop{true};
    BOOST_TEST(search::Watch({}, &stop, recorder).reason() == std::string("stop"));
    BOOST_TEST(!search::Watch({}, nullptr, recorder).stopped());
}
