// A search that goes on from any state it saved ends in the same result, and does less.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/telemetry/recorder.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

/// Ends a search after a number of evaluations: seen wherever formulas are made.
class StoppingModel : public model::CostModel {
public:
    StoppingModel(const model::CostModel& inner, const telemetry::Recorder& recorder,
                  std::uint64_t most, std::atomic<bool>& stop)
        : inner_(inner), recorder_(recorder), most_(most), stop_(stop) {}

    std::string name() const override {
        return inner_.name();
    }
    model::Report evaluate(const model::Problem& p, const mapping::Mapping& m) const override {
        return inner_.evaluate(p, m);
    }
    model::EinsumReport evaluate(const model::Problem& p, const arch::Path& path,
                                 std::span<const mapping::PmappingNode> nodes) const override {
        return inner_.evaluate(p, path, nodes);
    }
    bool has_formulas() const override {
        return inner_.has_formulas();
    }
    model::TemplateFormulas formulate(const model::Problem& p, const arch::Path& path,
                                      const mapspace::Template& t) const override {
        if (recorder_.evaluated() >= most_) {
            stop_ = true;
        }
        return inner_.formulate(p, path, t);
    }

private:
    const model::CostModel& inner_;
    const telemetry::Recorder& recorder_;
    const std::uint64_t most_;
    std::atomic<bool>& stop_;
};

/// GPT-3 6.7B on TPU-v4i.
class Fixture {
public:
    /// A part of a run, which ends after some evaluations of its own. `state`: from the part
    /// before, then what this one leaves.
    mapper::Result part(mapper::Options options, std::uint64_t most, std::string& state) const {
        const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
        const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
        telemetry::Recorder recorder;
        recorder.listen();
        std::atomic<bool> stop{false};
        options.recorder = &recorder;
        options.stop = &stop;
        options.resume = state;
        options.threads = 2;
        const StoppingModel stopping(*model, recorder, most, stop);
        const mapper::Result result =
            ffm->map({&workload_, &architecture_, arch::Compat::none}, stopping, options);
        for (const telemetry::Event& event : recorder.take_events()) {
            state = event.kind == telemetry::Event::Kind::checkpoint ? event.text : state;
        }
        return result;
    }

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

struct InParts {
    mapper::Result whole, last;
    int parts = 0;
};

/// A run at once, and one in parts of a share of its evaluations.
InParts in_parts(const Fixture& problem, mapper::Options options, std::uint64_t share,
                 int most_parts) {
    InParts out;
    telemetry::Recorder recorder;
    options.recorder = &recorder;
    out.whole = problem.run(options);
    std::string state;
    while (out.parts < most_parts && out.last.status != mapper::Status::optimal) {
        out.last = problem.part(options, recorder.evaluated() / share, state);
        ++out.parts;
    }
    return out;
}

/// Values of the lines of a kind in the states that a search has saved.
std::set<std::string> saved_values(const std::vector<telemetry::Event>& events,
                                   const std::string& kind) {
    std::set<std::string> out;
    for (const telemetry::Event& event : events) {
        std::istringstream lines(event.kind == telemetry::Event::Kind::checkpoint ? event.text
                                                                                  : "");
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with(kind + " ")) {
                out.insert(line.substr(kind.size() + 1));
            }
        }
    }
    return out;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(ffm_resume, Fixture)

BOOST_AUTO_TEST_CASE(every_saved_state_ends_in_the_same_result_with_less_work) {
    telemetry::Recorder recorder;
    recorder.listen();
    recorder.ask_for_checkpoint();
    mapper::Options options;
    options.mapspace = mapspace::MapSpaceOptions::accelforge();
    options.recorder = &recorder;
    // More states to save than the beam search leaves.
    options.without = {"beam-search"};
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
        again.mapspace = mapspace::MapSpaceOptions::accelforge();
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
    BOOST_TEST(states >= 2);  // amid the class bounds and after them
    // Threads bound each other, so the number varies; without the class bounds it is far less.
    BOOST_TEST(least_work * 4 < recorder.evaluated() * 3);
}

BOOST_AUTO_TEST_CASE(parts_shorter_than_a_cutoff_reach_the_same_result) {
    mapper::Options options;
    options.mapspace = mapspace::MapSpaceOptions::accelforge();
    options.without = {"beam-search"};
    const InParts cut = in_parts(*this, options, 12, 60);
    BOOST_TEST_REQUIRE((cut.last.status == mapper::Status::optimal));
    BOOST_TEST(cut.parts >= 3);
    BOOST_TEST(mapping::to_yaml(cut.last.solutions[0].mapping) ==
               mapping::to_yaml(cut.whole.solutions[0].mapping));
    BOOST_TEST(*cut.last.bound == *cut.whole.bound);
    BOOST_TEST(cut.last.statistics.mapspace_size == cut.whole.statistics.mapspace_size);
}

// Once the first metric is proven, what is saved is of the later one.
BOOST_AUTO_TEST_CASE(every_state_of_the_later_metric_ends_in_the_same_result) {
    int of_later = 0;
    for (const mapper::Metric metric : {mapper::Metric::latency, mapper::Metric::energy}) {
        telemetry::Recorder recorder;
        recorder.listen();
        mapper::Options options;
        options.metrics = {metric};
        options.recorder = &recorder;
        const mapper::Result whole = run(options);
        BOOST_TEST_REQUIRE((whole.later && whole.later->proven));
        for (const telemetry::Event& event : recorder.take_events()) {
            if (event.kind != telemetry::Event::Kind::checkpoint) {
                continue;
            }
            of_later += event.text.find("\nlater ") != std::string::npos;
            mapper::Options again;
            again.metrics = {metric};
            again.resume = event.text;
            const mapper::Result resumed = run(again);
            BOOST_TEST_REQUIRE((resumed.later && resumed.later->proven));
            BOOST_TEST(mapping::to_yaml(resumed.solutions[0].mapping) ==
                       mapping::to_yaml(whole.solutions[0].mapping));
            BOOST_TEST(*resumed.bound == *whole.bound);
            BOOST_TEST(resumed.later->bound == whole.later->bound);
        }
    }
    BOOST_TEST(of_later >= 2);
}

BOOST_AUTO_TEST_CASE(with_partial_tiles_the_search_without_them_is_kept) {
    mapper::Options options;
    options.mapspace = mapspace::MapSpaceOptions::accelforge();
    options.mapspace.imperfect_temporal = options.mapspace.imperfect_spatial = true;
    std::string state;
    part(options, 200'000, state);
    BOOST_TEST(state.find("\nperfect class_bounds ") != std::string::npos);
    // In the end what the part with them tightens is kept, too.
    for (int i = 0; i < 20 && state.find("\ntightened ") == std::string::npos; ++i) {
        part(options, 200'000, state);
    }
    BOOST_TEST(state.find("\ntightened ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_join_that_never_ends_is_done_below_lower_cutoffs_first) {
    telemetry::Recorder recorder;
    recorder.listen();
    mapper::Options options;
    options.mapspace = mapspace::MapSpaceOptions::accelforge();
    options.recorder = &recorder;
    options.without = {"beam-search"};
    const mapper::Result whole = run(options);
    const std::vector<telemetry::Event> events = recorder.take_events();
    std::string state;
    for (const telemetry::Event& event : events) {
        const bool joins = event.text.find("\njoin ") != std::string::npos;
        state = event.kind == telemetry::Event::Kind::checkpoint && joins ? event.text : state;
    }
    BOOST_TEST_REQUIRE(state.ends_with(" 1\n"));
    state.replace(state.size() - 3, 3, " 2\n");
    telemetry::Recorder again;
    again.listen();
    options.recorder = &again;
    options.resume = state;
    const mapper::Result resumed = run(options);
    BOOST_TEST((resumed.status == mapper::Status::optimal));
    BOOST_TEST(resumed.solutions[0].report.energy_j() * resumed.solutions[0].report.latency_s() ==
                   *whole.bound,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(saved_values(again.take_events(), "join").size() >
               saved_values(events, "join").size() - 1);
}

BOOST_AUTO_TEST_CASE(evaluations_are_limited_over_all_parts) {
    std::string state;
    mapper::Options options;
    options.mapspace = mapspace::MapSpaceOptions::accelforge();
    options.budget.max_evals = 150'000;
    BOOST_TEST((part(options, 1'000'000'000, state).status == mapper::Status::feasible));
    telemetry::Recorder second;
    options.recorder = &second;
    options.resume = state;
    const mapper::Result rest = run(options);
    BOOST_TEST(rest.stopped_by == "max-evals");
    BOOST_TEST(second.evaluated() < 100'000u);
}

// Templates that are given up and those that a stop leaves unfinished included.
BOOST_AUTO_TEST_CASE(what_is_reported_as_evaluated_is_what_was_looked_at) {
    for (const std::uint64_t most : {0, 1'500'000}) {
        telemetry::Recorder recorder;
        mapper::Options options;
        options.mapspace = mapspace::MapSpaceOptions::accelforge();
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
    for (const char* text :
         {"nonsense", "refuted", "refuted x\n", "class_bounds 0 1 5 7\n",
          "class_bounds 0 1 5 7 01 0x1p0\n", "class_bounds 99 1 5 7 01 0x1p0 0x1p0\n",
          "class_bounds 0 1 5 7 012 0x1p0 0x1p0\n", "class_bounds 0 1 -5 7 01\n", "rows 0 0 5 0\n",
          "search 1\nrows 0 0 5 2 1\n", "search 1\nrows 99 0 5 0\n", "search 1\nrows 0 0 5 1 7\n",
          "search 1\nrows 0 0 5 1 -7 0x1p0 0x1p0\n", "join 0x1p0\n", "tightened 0x0p0 0x0p0\n",
          "perfect nonsense\n"}) {
        mapper::Options options;
        options.mapspace = mapspace::MapSpaceOptions::accelforge();
        options.resume = text;
        BOOST_CHECK_THROW(run(options), UserError);
    }
}

BOOST_AUTO_TEST_SUITE_END()
