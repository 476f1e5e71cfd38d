// A search by strategy that goes on from any state it saved finds what it would have found, by
// every strategy, however it is run (in batches, as islands).
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/paths.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/strategy.hpp"
#include "tessera/telemetry/recorder.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

struct Run {
    mapper::Result result;
    std::vector<std::string> states;
};

/// Three Einsums on eyeriss, of which no strategy finds the optimum in so few evaluations.
class Fixture {
public:
    /// \param save keep every state that the search can give
    Run run(const std::string& strategy, const plugin::KnobSettings& knobs, std::uint64_t evals,
            const std::string& state, bool save) const {
        plugin::KnobSettings search{{"strategy", strategy}};
        const auto mapper = plugin::Registry<mapper::Mapper>::instance().create("search", search);
        const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
        telemetry::Recorder recorder;
        recorder.listen();
        mapper::Options options;
        options.metrics = {mapper::Metric::edp};
        options.recorder = &recorder;
        options.threads = 2;
        options.seed = 7;
        options.budget.max_evals = evals;
        options.resume = state;
        options.knobs[strategy] = knobs;
        std::atomic<bool> over{false};
        std::thread asking([&] {
            while (save && !over) {
                recorder.ask_for_checkpoint();
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
        });
        Run out;
        out.result = mapper->map({&workload_, &architecture_, arch::Compat::none}, *model, options);
        over = true;
        asking.join();
        for (const telemetry::Event& event : recorder.take_events()) {
            if (event.kind == telemetry::Event::Kind::checkpoint) {
                out.states.push_back(event.text);
            }
        }
        return out;
    }

private:
    const std::string root_ = tessera::test::test_folder() + "/..";
    const workload::Workload workload_ = workload::load_workload(
        root_ + "/problem-shapes/matmuls.yaml", {{"N_EINSUMS", "3"}, {"M", "3072"}, {"KN", "1024"}});
    const arch::Architecture architecture_ =
        arch::load_architecture(root_ + "/arch-specs/eyeriss.yaml", {});
};

void test_resumed(const Fixture& problem, const std::string& strategy,
                  const plugin::KnobSettings& knobs, std::uint64_t evals) {
    BOOST_TEST_CONTEXT(strategy << (knobs.empty() ? "" : " " + knobs.begin()->second)) {
        const Run whole = problem.run(strategy, knobs, evals, "", true);
        BOOST_TEST_REQUIRE(!whole.states.empty());
        for (const std::size_t at : std::set{std::size_t{0}, whole.states.size() / 2}) {
            const Run rest = problem.run(strategy, knobs, evals, whole.states[at], false);
            BOOST_TEST(rest.result.statistics.evaluated == whole.result.statistics.evaluated);
            BOOST_TEST(mapping::to_yaml(rest.result.solutions.at(0).mapping) ==
                       mapping::to_yaml(whole.result.solutions.at(0).mapping));
        }
    }
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(search_resume, Fixture)

BOOST_AUTO_TEST_CASE(every_strategy_goes_on_as_if_it_had_not_stopped) {
    constexpr std::uint64_t few = 2000, many = 40000;  // rounds of islands are long
    for (const char* strategy : {"genetic", "random", "dat", "loma", "gradient"}) {
        test_resumed(*this, strategy, {}, few);
    }
    for (const char* strategy : {"annealing", "mcts", "es", "salsa"}) {
        test_resumed(*this, strategy, {}, many);
    }
    test_resumed(*this, "ddpg", {}, 9000);
}

BOOST_AUTO_TEST_CASE(so_does_every_algorithm_of_pagmo) {
    if (plugin::Registry<search::SearchStrategy>::instance().find("pagmo") == nullptr) {
        BOOST_TEST_MESSAGE("the optional plugin pagmo is not here");
        return;
    }
    for (const char* algorithm : {"de", "sade", "de1220", "pso", "cmaes", "xnes", "sga",
                                  "bee-colony", "gwo", "ihs", "simulated-annealing"}) {
        test_resumed(*this, "pagmo", {{"algorithm", algorithm}}, 10000);
    }
}

BOOST_AUTO_TEST_SUITE_END()
