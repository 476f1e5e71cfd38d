// Strategy `ddpg`: what it proposes becomes better as it learns.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "support/changed_states.hpp"
#include "support/paths.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/point_text.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;

namespace {

struct Case {
    const std::string folder = test::test_folder() + "/../";
    const workload::Workload workload =
        workload::load_workload(folder + "problem-shapes/mttkrp.yaml",
                                {{"I", "64"}, {"J", "64"}, {"K", "64"}, {"L", "64"}});
    const arch::Architecture architecture =
        arch::load_architecture(folder + "arch-specs/mind-mappings.yaml", {});
    const plugin::Owned<model::CostModel> model =
        plugin::Registry<model::CostModel>::instance().create("looptree");
    const model::Problem problem{&workload, &architecture, arch::Compat::none};
    const search::OpenSpace space{problem, *model, {}};
};

plugin::Owned<search::SearchStrategy> started(const Case& c,
                                              const plugin::KnobSettings& knobs = {}) {
    auto strategy = plugin::Registry<search::SearchStrategy>::instance().create("ddpg", knobs);
    strategy->start(c.space, 3);
    return strategy;
}

std::vector<std::string> run(const Case& c, search::SearchStrategy& strategy, int steps) {
    search::Worker worker(c.space);
    std::vector<search::Candidate> batch(1);
    std::vector<std::string> asked;
    for (int i = 0; i < steps; ++i) {
        strategy.ask(batch);
        search::Candidate& one = batch.front();
        const bool drawn = one.how == search::Candidate::How::draw;
        asked.push_back(std::to_string(one.seed) + (drawn ? "" : search::to_text(one.point)));
        worker.run(one);
        one.outcome.value = one.outcome.energy_j * one.outcome.latency_s;
        strategy.tell(batch);
    }
    return asked;
}

}  // namespace

// In the warm-up, in the midst of an episode, after some learning.
BOOST_AUTO_TEST_CASE(ddpg_goes_on_from_a_saved_state) {
    const Case c;
    const plugin::KnobSettings knobs = {{"warm_up", "5"}, {"width", "8"}};
    for (const int before : {3, 18, 90}) {
        const auto first = started(c, knobs), second = started(c, knobs);
        run(c, *first, before);
        const std::string state = first->save();
        BOOST_TEST(!state.empty());
        BOOST_TEST(second->restore(state));
        BOOST_TEST(second->save() == state);
        const auto expected = run(c, *first, 60);
        BOOST_TEST(run(c, *second, 60) == expected, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(ddpg_refuses_states_that_are_none_of_its_own) {
    const Case c;
    const plugin::KnobSettings knobs = {{"warm_up", "2"}, {"width", "4"}};
    const auto saved = started(c, knobs);
    run(c, *saved, 20);
    const std::string state = saved->save();
    const auto understood = [&](const std::string& text) {
        return started(c, knobs)->restore(text);
    };
    BOOST_TEST(understood(state));
    for (const std::string& changed : test::changed_states(state)) {
        BOOST_TEST(!understood(changed));
    }
    BOOST_TEST(!started(c, {{"warm_up", "2"}, {"width", "8"}})->restore(state));
}

BOOST_AUTO_TEST_CASE(ddpg_learns_to_propose_better_mappings) {
    const Case c;
    search::Worker worker(c.space);
    const auto strategy = started(c);
    // Mean of log2 of what episodes end with; the first 20 are random.
    double first = 0, last = 0;
    constexpr int episodes = 160, counted = 20;
    std::vector<search::Candidate> batch(1);
    double value = 0;
    int episode = -1;
    while (episode < episodes) {
        strategy->ask(batch);
        search::Candidate& one = batch.front();
        if (one.how == search::Candidate::How::draw) {
            first += episode >= 0 && episode < counted ? value : 0;
            last += episode >= episodes - counted ? value : 0;
            ++episode;
        }
        worker.run(one);
        one.outcome.value = one.outcome.energy_j * one.outcome.latency_s;
        value = std::log2(one.outcome.value);
        strategy->tell(batch);
    }
    BOOST_TEST(last / counted < first / counted - 1, last / counted << " and " << first / counted);
}
