// A search that goes on from any state it saved ends in the same result, and does less.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <map>

#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/telemetry/recorder.hpp"

using namespace tessera;

namespace {

/// GPT-3 6.7B on TPU-v4i.
class Fixture {
public:
    mapper::Result run(mapper::Options options) const {
        const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
        const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
        options.threads = 2;
        return ffm->map({&workload_, &architecture_, arch::Compat::none}, *model, options);
    }

private:
    const std::string root_ = tessera::test::test_folder() + "/..";
    const std::map<std::string, std::string> defines_{{"BATCH", "1"}, {"TOKENS", "2048"}};
    const workload::Workload workload_ =
        workload::load_workload(root_ + "/problem-shapes/gpt3-6.7b.yaml", defines_);
    const arch::Architecture architecture_ =
        arch::load_architecture(root_ + "/arch-specs/tpu-v4i.yaml", {});
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(ffm_resume, Fixture)

BOOST_AUTO_TEST_CASE(every_saved_state_leads_to_the_same_result_with_less_work) {
    telemetry::Recorder recorder;
    recorder.listen();
    recorder.ask_for_checkpoint();
    mapper::Options options;
    options.recorder = &recorder;
    // More states to save than the dive leaves.
    options.without = {"dive"};
    const mapper::Result whole = run(options);
    BOOST_TEST_REQUIRE(whole.solutions.size() == 1u);
    int states = 0;
    std::uint64_t least_work = recorder.evaluated();
    for (const telemetry::Event& event : recorder.take_events()) {
        if (event.kind != telemetry::Event::Kind::checkpoint) {
            continue;
        }
        ++states;
        mapper::Options again;
        again.without = options.without;
        again.resume = event.text;
        telemetry::Recorder counts;
        again.recorder = &counts;
        const mapper::Result resumed = run(again);
        BOOST_TEST_REQUIRE(resumed.solutions.size() == 1u);
        BOOST_TEST(mapping::to_yaml(resumed.solutions[0].mapping) ==
                   mapping::to_yaml(whole.solutions[0].mapping));
        BOOST_TEST(*resumed.bound == *whole.bound);
        BOOST_TEST(resumed.statistics.mapspace_size == whole.statistics.mapspace_size);
        least_work = std::min(least_work, counts.evaluated());
    }
    BOOST_TEST(states >= 2);  // amid the floors and after them
    // Threads bound each other, so the number varies; without the floors it is far less.
    BOOST_TEST(least_work * 4 < recorder.evaluated() * 3);
}

// Templates that are given up and those that a stop leaves unfinished included.
BOOST_AUTO_TEST_CASE(what_is_reported_as_evaluated_is_what_was_looked_at) {
    for (const std::uint64_t most : {0, 1'500'000}) {
        telemetry::Recorder recorder;
        mapper::Options options;
        options.recorder = &recorder;
        options.mapspace.imperfect_temporal = options.mapspace.imperfect_spatial = most > 0;
        options.budget.max_evals = most;
        const mapper::Result r = run(options);
        BOOST_TEST((r.status == mapper::Status::feasible) == (most > 0));
        BOOST_TEST(r.statistics.evaluated == recorder.evaluated());
        BOOST_TEST(r.statistics.evaluated >= most);
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_state_of_this_search_is_refused) {
    for (const char* text : {"nonsense", "beaten", "beaten x\n", "floors 0 1 5 7\n",
                             "floors 0 1 5 7 01 0x1p0\n", "floors 99 1 5 7 01 0x1p0 0x1p0\n",
                             "floors 0 1 5 7 012 0x1p0 0x1p0\n", "floors 0 1 -5 7 01\n"}) {
        mapper::Options options;
        options.resume = text;
        BOOST_CHECK_THROW(run(options), UserError);
    }
}

BOOST_AUTO_TEST_SUITE_END()
