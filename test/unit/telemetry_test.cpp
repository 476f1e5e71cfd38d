// Recorder, snapshots and sinks.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "telemetry/rest.hpp"
#include "telemetry/sampler.hpp"
#include "tessera/base/error.hpp"
#include "tessera/search/watch.hpp"

using namespace tessera;
using namespace tessera::telemetry;

namespace {

Incumbent found(double energy_j, double latency_s, const std::string& by = "random") {
    Incumbent result;
    result.value = energy_j * latency_s;
    result.energy_j = energy_j;
    result.latency_s = latency_s;
    result.found_by = by;
    result.worker = 0;
    return result;
}

/// Keeps what it is shown.
struct Keeper : Sink {
    struct Seen {
        std::vector<SnapshotPtr> snapshots;
        std::vector<Event> events;
        int finished = 0;
    };
    explicit Keeper(Seen& seen, bool shows = true, bool stores = false)
        : seen_(seen), shows_(shows), stores_(stores) {}
    std::string name() const override {
        return "keeper";
    }
    bool shows_mapping() const override {
        return shows_;
    }
    bool stores_checkpoints() const override {
        return stores_;
    }
    void update(const SnapshotPtr& snapshot, const std::vector<Event>& events) override {
        seen_.snapshots.push_back(snapshot);
        seen_.events.insert(seen_.events.end(), events.begin(), events.end());
    }
    void finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) override {
        update(snapshot, events);
        ++seen_.finished;
    }
    Seen& seen_;
    const bool shows_, stores_;
};

struct Broken : Sink {
    std::string name() const override {
        return "broken";
    }
    void update(const SnapshotPtr&, const std::vector<Event>&) override {
        ++calls;
        throw std::runtime_error("disk full");
    }
    static inline std::atomic<int> calls{0};
};

Sampler::Settings settings() {
    Sampler::Settings s;
    s.run.id = "r-1";
    s.run.workload = "w";
    s.run.metrics = {"edp"};
    s.run.seed = ~0ull;
    s.budget.max_evals = 1000;
    s.period = std::chrono::milliseconds(5);
    return s;
}

/// A recorder with something of everything.
void fill(Recorder& recorder) {
    recorder.set_einsums({"A", "B"});
    recorder.begin_phase("tile shapes", 8, "templates").advance(3);
    recorder.einsum(1).templates_total = 8;
    Worker& worker = recorder.worker(1, "random");
    worker.state(WorkerState::running);
    worker.doing(1, 7);
    worker.generated(100);
    worker.evaluated(40);
    worker.rejected(Reason::capacity, 50);
    worker.rejected(Reason::dominated, 10);
    recorder.field("temperature", "K").value = 0.5;
    recorder.incumbent(found(2, 3));
    recorder.bound(1.5);
    recorder.log("a \"line\"\n", LogLevel::warning);
    recorder.checkpoint("state");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(telemetry_test)

BOOST_AUTO_TEST_CASE(only_better_incumbents_are_kept) {
    Recorder recorder;
    BOOST_TEST(recorder.improves(1e300));
    BOOST_TEST(recorder.incumbent(found(2, 3)));
    BOOST_TEST(!recorder.improves(6));
    BOOST_TEST(!recorder.incumbent(found(3, 2)));
    BOOST_TEST(recorder.incumbent(found(2, 2)));
    BOOST_TEST(recorder.best() == 4);
}

BOOST_AUTO_TEST_CASE(of_equal_incumbents_the_later_metric_decides) {
    const auto by = [](const char* metric, double value, double energy_j, double latency_s) {
        Incumbent out = found(energy_j, latency_s);
        out.value = value;
        out.detail = metric;
        return out;
    };
    Recorder latency;
    latency.set_metrics({"latency"});
    BOOST_TEST(latency.incumbent(by("latency", 2, 9, 2)));
    BOOST_TEST(latency.incumbent(by("latency", 2 + 1e-12, 5, 2 + 1e-12)));  // less energy
    BOOST_TEST(!latency.incumbent(by("latency", 2, 6, 2)));
    BOOST_TEST(!latency.incumbent(by("latency", 2.1, 1, 2.1)));
    BOOST_TEST(latency.best() == 2);
    Recorder energy;
    energy.set_metrics({"energy"});
    BOOST_TEST(energy.incumbent(by("energy", 3, 3, 9)));
    BOOST_TEST(energy.incumbent(by("energy", 3, 3, 8)));
    BOOST_TEST(!energy.incumbent(by("energy", 3, 3, 8)));
}

BOOST_AUTO_TEST_CASE(a_sink_says_whether_checkpoints_are_stored) {
    for (const bool stores : {false, true}) {
        Recorder recorder;
        BOOST_TEST(!recorder.stores_checkpoints());
        Keeper::Seen seen;
        Sampler sampler(recorder, settings());
        BOOST_TEST(!recorder.stores_checkpoints());
        sampler.add(std::make_unique<Keeper>(seen, true, stores));
        sampler.add(std::make_unique<Keeper>(seen, true, false));
        BOOST_TEST(recorder.stores_checkpoints() == stores);
    }
    Recorder recorder;
    recorder.listen();  // a program of its own, which takes the events itself
    BOOST_TEST(recorder.stores_checkpoints());
}

BOOST_AUTO_TEST_CASE(several_metrics_keep_a_pareto_set) {
    Recorder recorder;
    recorder.set_metrics({"energy", "latency"});
    BOOST_TEST(recorder.incumbent(found(2, 3)));
    BOOST_TEST(recorder.incumbent(found(3, 2)));
    BOOST_TEST(!recorder.incumbent(found(3, 3)));
    BOOST_TEST(recorder.incumbent(found(1, 2)));
    BOOST_TEST(recorder.front().size() == 1);
}

BOOST_AUTO_TEST_CASE(bound_only_rises) {
    Recorder recorder;
    recorder.bound(2);
    recorder.bound(1);
    BOOST_TEST(recorder.bound() == 2);
}

BOOST_AUTO_TEST_CASE(stall_counts_from_the_last_incumbent) {
    Recorder recorder;
    Worker& worker = recorder.worker(0);
    worker.evaluated(10);
    recorder.incumbent(found(1, 1));
    worker.evaluated(5);
    BOOST_TEST(recorder.stalled() == 5);
}

BOOST_AUTO_TEST_CASE(phases_are_timed_over_all_passes) {
    Recorder recorder;
    recorder.begin_phase("a", 5).advance(5);
    recorder.begin_phase("b");
    Phase& again = recorder.begin_phase("a", 7);
    BOOST_TEST(again.passes == 2);
    BOOST_TEST(again.done == 0);
    BOOST_TEST(again.total == 7);
    BOOST_TEST(recorder.phases().size() == 2);
}

BOOST_AUTO_TEST_CASE(snapshot_shows_what_was_recorded) {
    Recorder recorder;
    Keeper::Seen seen;
    Sampler sampler(recorder, settings());
    sampler.add(std::make_unique<Keeper>(seen));
    fill(recorder);
    sampler.start();
    sampler.finish(RunState::finished);
    const Snapshot& s = *seen.snapshots.back();
    BOOST_TEST(seen.finished == 1);
    BOOST_TEST((s.state == RunState::finished));
    BOOST_TEST(s.funnel.generated == 100);
    BOOST_TEST(s.funnel.rejected_for(Reason::capacity) == 50);
    BOOST_TEST(s.funnel.pruned() == 10);
    BOOST_TEST(s.funnel.invalid() == 50);
    BOOST_TEST(s.funnel.improved == 1);
    BOOST_TEST(*s.best == 6);
    BOOST_TEST(*s.gap == 0.75);
    BOOST_TEST(s.workers.at(1).einsum == "B");
    BOOST_TEST(s.workers.at(1).evaluated == 40);
    BOOST_TEST(s.comparison.at(0).name == "random");
    BOOST_TEST(*s.comparison.at(0).gap == 0);
    BOOST_TEST(s.budgets.at(0).fraction == 0.04);
    BOOST_TEST(s.phases.at(0).done == 3);
    BOOST_TEST(s.log.at(0).text == "a \"line\"\n");
    BOOST_TEST(s.front.size() == 1);
    BOOST_TEST(s.checkpoint_s.has_value());
    BOOST_TEST(s.memory_bytes > 0);
}

// The best mapping of the first metric is described, not each of a thousand that come at once, and
// the last one for certain.
BOOST_AUTO_TEST_CASE(the_best_mapping_is_described_once_a_second_at_most) {
    Recorder recorder;
    Keeper::Seen seen;
    Sampler::Settings how = settings();
    std::vector<std::string> described;
    how.describe = [&](const std::string& yaml) {
        described.push_back(yaml);
        return MappingView{{yaml}, 1, 2, 0.5, {}, {}};
    };
    Sampler sampler(recorder, std::move(how));
    sampler.add(std::make_unique<Keeper>(seen));
    sampler.start();
    for (int i = 1000; i > 0; --i) {
        Incumbent one = found(i, 1);
        one.mapping = [i] { return "mapping " + std::to_string(i); };
        recorder.incumbent(one);
        std::this_thread::sleep_for(std::chrono::microseconds(i % 10 == 0 ? 500 : 0));
    }
    sampler.finish(RunState::finished);
    BOOST_TEST(seen.snapshots.back()->mapping.lines.at(0) == "mapping 1");
    BOOST_TEST(described.size() >= 1);
    BOOST_TEST(described.size() < 20);
    BOOST_TEST(seen.snapshots.size() > described.size());
}

// A model that takes its time is asked for a hundredth of it: once, and at the end.
BOOST_AUTO_TEST_CASE(slow_descriptions_are_rare) {
    Recorder recorder;
    Sampler::Settings how = settings();
    int calls = 0;
    how.describe = [&](const std::string& yaml) {
        ++calls;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return MappingView{{yaml}, 1, 2, 0.5, {}, {}};
    };
    Keeper::Seen seen;
    Sampler sampler(recorder, std::move(how));
    sampler.add(std::make_unique<Keeper>(seen));
    sampler.start();
    for (int i = 130; i > 0; --i) {
        Incumbent one = found(i, 1);
        one.mapping = [i] { return std::to_string(i); };
        recorder.incumbent(one);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    sampler.finish(RunState::finished);
    BOOST_TEST(calls == 2);
    BOOST_TEST(sampler.latest()->mapping.lines.at(0) == "1");
}

// A search that nobody looks at does not pay for views of its mappings.
BOOST_AUTO_TEST_CASE(what_no_sink_shows_is_not_described) {
    for (const bool shows : {false, true}) {
        Recorder recorder;
        Sampler::Settings how = settings();
        int calls = 0;
        how.describe = [&](const std::string& yaml) {
            ++calls;
            return MappingView{{yaml}, 1, 2, 0.5, {}, {}};
        };
        Keeper::Seen seen;
        Sampler sampler(recorder, std::move(how));
        sampler.add(std::make_unique<Keeper>(seen, shows));
        sampler.start();
        Incumbent one = found(3, 1);
        one.mapping = [] { return std::string("m"); };
        recorder.incumbent(one);
        sampler.finish(RunState::finished);
        BOOST_TEST((calls > 0) == shows);
        BOOST_TEST(seen.snapshots.back()->mapping.lines.empty() == !shows);
        BOOST_TEST(seen.snapshots.back()->incumbents.size() == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_description_that_fails_is_told_once) {
    Recorder recorder;
    Sampler::Settings how = settings();
    int calls = 0;
    how.describe = [&](const std::string&) -> MappingView {
        ++calls;
        throw std::runtime_error("no such model");
    };
    Keeper::Seen seen;
    Sampler sampler(recorder, std::move(how));
    sampler.add(std::make_unique<Keeper>(seen));
    for (const double value : {3, 2, 1}) {
        Incumbent one = found(value, 1);
        one.mapping = [] { return std::string("m"); };
        recorder.incumbent(one);
        if (value == 3) {
            sampler.start();
            while (!sampler.latest() || sampler.latest()->serial < 3) {
                std::this_thread::yield();
            }
        }
    }
    while (sampler.latest()->log.empty()) {
        std::this_thread::yield();
    }
    sampler.finish(RunState::finished);
    BOOST_TEST(calls == 1);
    BOOST_TEST(sampler.latest()->log.at(0).text == "the best mapping is not shown: no such model");
}

BOOST_AUTO_TEST_CASE(json_round_trip) {
    Recorder recorder;
    Sampler::Settings how = settings();
    how.describe = [](const std::string& yaml) {
        return MappingView{
            {yaml, "b"},          1, 2, 0.5, {{"Buffer", 1, 2, 0.25}, {"Array", 0, 0, {}}},
            {{"A", 1, 2, "x", 1}}};
    };
    Keeper::Seen seen;
    Sampler sampler(recorder, how);
    sampler.add(std::make_unique<Keeper>(seen));
    fill(recorder);
    Incumbent best = found(1, 1);
    best.mapping = [] { return std::string("tree"); };
    recorder.incumbent(best);
    sampler.start();
    sampler.finish(RunState::interrupted);
    const Snapshot s = *sampler.latest();
    BOOST_TEST(s.mapping.lines.size() == 2u);
    const std::string text = to_json(s);
    BOOST_TEST(text.find('\n') == std::string::npos);
    BOOST_TEST((from_json(text) == s));
    BOOST_TEST(to_json(from_json(text)) == text);
}

BOOST_AUTO_TEST_CASE(json_of_something_else_is_refused) {
    for (const char* text :
         {"", "{", "[]", "{}", "3", R"({"tessera_snapshot": 99})",
          R"({"tessera_snapshot": 1, "elapsed_s": "x"})", R"({"tessera_snapshot": 1, "run": [3]})",
          R"({"tessera_snapshot": 1, "workers": [[{}]]})",
          R"({"tessera_snapshot": 1, "serial": "x"})"}) {
        BOOST_CHECK_THROW(from_json(text), UserError);
    }
    BOOST_TEST(from_json(R"({"tessera_snapshot": 1, "new_key": 3, "serial": 7})").serial == 7);
}

BOOST_AUTO_TEST_CASE(failing_sink_is_detached_and_named) {
    Recorder recorder;
    Keeper::Seen seen;
    Sampler sampler(recorder, settings());
    sampler.add(std::make_unique<Broken>());
    sampler.add(std::make_unique<Keeper>(seen));
    sampler.start();
    while (Broken::calls == 0) {
        std::this_thread::yield();
    }
    recorder.log("after");
    sampler.finish(RunState::finished);
    BOOST_TEST(Broken::calls == 1);
    std::string lines;
    for (const LogView& line : seen.snapshots.back()->log) {
        lines += line.text + "\n";
    }
    BOOST_TEST(lines.find("broken is switched off: disk full\n") != std::string::npos);
    BOOST_TEST(lines.find("after\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_incumbent_reaches_the_sinks) {
    Recorder recorder;
    Keeper::Seen seen;
    Sampler sampler(recorder, settings());
    sampler.add(std::make_unique<Keeper>(seen));
    sampler.start();
    for (int i = 1000; i > 0; --i) {
        recorder.incumbent(found(i, 1));
    }
    sampler.finish(RunState::finished);
    BOOST_TEST(seen.events.size() == 1000);
    BOOST_TEST(seen.snapshots.back()->incumbents.size() <= 500);
    BOOST_TEST(seen.snapshots.back()->incumbents.front().value == 1000);
    BOOST_TEST(seen.snapshots.back()->incumbents.back().value == 1);
    BOOST_TEST(seen.snapshots.back()->funnel.improved == 1000);
}

// By hand: after 100 s the end lies 25 to 400 s ahead. A limit of 120 s leaves 20 to 20.9 s.
BOOST_AUTO_TEST_CASE(the_rest_of_a_search_by_hand) {
    Snapshot s;
    s.elapsed_s = 100;
    s.bound = 6;
    const auto range = [&] {
        estimate_rest(s);
        BOOST_REQUIRE(s.rest.least_s && s.rest.most_s);
        return std::pair(*s.rest.least_s, *s.rest.most_s);
    };
    BOOST_TEST((range() == std::pair(25.0, 400.0)));
    s.budgets = {{"max-time", "s", 100, 300, 0.3}};
    BOOST_TEST((range() == std::pair(25.0, 200 * 1.02 + 0.5)));
    s.budgets = {{"max-evals", "evaluations", 100, 700, 0.1}};
    s.rate_per_s = 10;
    BOOST_TEST((range() == std::pair(25.0, 60 * 1.02 + 0.5)));
    s.budgets = {{"max-time", "s", 100, 120, 0.8}};
    BOOST_TEST((range() == std::pair(20.0, 20 * 1.02 + 0.5)));
    s.bound.reset();
    s.elapsed_s = 20;
    BOOST_TEST((range() == std::pair(5.0, 20 * 1.02 + 0.5)));
    s.elapsed_s = 100;
    BOOST_TEST((range() == std::pair(20.0, 20 * 1.02 + 0.5)));
    s.budgets.clear();
    estimate_rest(s);
    BOOST_TEST(!s.rest.least_s);
    s.bound = 6;
    s.elapsed_s = 0.5;
    estimate_rest(s);
    BOOST_TEST(!s.rest.least_s);
    s.elapsed_s = 100;
    s.state = RunState::finished;
    estimate_rest(s);
    BOOST_TEST(!s.rest.least_s);
}

BOOST_AUTO_TEST_CASE(watch_ends_a_search_at_its_limits) {
    const auto reason = [](base::Budget budget) {
        Recorder recorder;
        recorder.worker(0).evaluated(50);
        recorder.incumbent(found(2, 2));
        recorder.bound(3);
        recorder.worker(0).evaluated(50);
        const search::Watch watch(budget, nullptr, recorder);
        while (!watch.stopped()) {
            std::this_thread::yield();
        }
        return std::string(watch.reason());
    };
    base::Budget budget;
    budget.max_evals = 100;
    BOOST_TEST(reason(budget) == "max-evals");
    budget = {};
    budget.max_time_s = 0.01;
    BOOST_TEST(reason(budget) == "max-time");
    budget = {};
    budget.max_cpu_s = 1e-6;
    BOOST_TEST(reason(budget) == "max-cpu-time");
    budget = {};
    budget.stall_evals = 50;
    BOOST_TEST(reason(budget) == "max-stall");
    budget = {};
    budget.max_memory_bytes = 1;
    BOOST_TEST(reason(budget) == "max-memory");
    budget = {};
    budget.target = 4;
    BOOST_TEST(reason(budget) == "target");
    budget = {};
    budget.gap = 0.25;
    BOOST_TEST(reason(budget) == "gap");
}

BOOST_AUTO_TEST_CASE(watch_lets_a_search_go_on_below_its_limits) {
    Recorder recorder;
    recorder.incumbent(found(2, 2));
    recorder.bound(3);
    base::Budget budget;
    budget.gap = 0.2499;
    budget.target = 3.9;
    budget.max_evals = 1;
    const search::Watch watch(budget, nullptr, recorder);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    BOOST_TEST(!watch.stopped());
    BOOST_TEST(watch.reason() == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
