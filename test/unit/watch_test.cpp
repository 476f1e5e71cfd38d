// Limits that are met before a search begins, or while its inputs are read.
#include <boost/test/unit_test.hpp>
#include <string>

#include "base/reading_stop.hpp"
#include "cli/run/reading_limit.hpp"
#include "tessera/base/error.hpp"
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

BOOST_AUTO_TEST_CASE(a_limit_ends_the_reading_of_inputs) {
    base::Budget budget;
    budget.max_memory_bytes = 1;
    const auto without_end = [] {
        for (;;) {
            base::poll_reading();
        }
    };
    BOOST_CHECK_EXCEPTION(cli::read_within(budget, without_end), LimitReached,
                          [](const LimitReached& error) {
                              return std::string(error.what()).find("--max-memory was met while") !=
                                     std::string::npos;
                          });
    bool read = false;  // small inputs are read in any case
    cli::read_within(budget, [&] {
        base::poll_reading();
        read = true;
    });
    BOOST_TEST(read);
}
