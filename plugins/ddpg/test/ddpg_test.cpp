// Strategy `ddpg`: what it proposes becomes better as it learns.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "support/paths.hpp"
#include "tessera/model/cost_model.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/open_space.hpp"

using namespace tessera;

BOOST_AUTO_TEST_CASE(ddpg_learns_to_propose_better_mappings) {
    const std::string folder = test::test_folder() + "/../";
    const auto workload = workload::load_workload(
        folder + "problem-shapes/mttkrp.yaml",
        {{"I", "64"}, {"J", "64"}, {"K", "64"}, {"L", "64"}});
    const auto architecture = arch::load_architecture(folder + "arch-specs/mind-mappings.yaml", {});
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const model::Problem problem{&workload, &architecture, arch::Compat::none};
    const search::OpenSpace space(problem, *model, {});
    search::Worker worker(space);
    const auto strategy = plugin::Registry<search::SearchStrategy>::instance().create("ddpg");
    strategy->start(space, 3);
    // Mean of log2 of what episodes end with; the first 20 are random.
    double first = 0, last = 0;
    constexpr int episodes = 160, counted = 20;
    std::vector<search::Candidate> batch(1);
    double value = 0;
    int episode = -1;
    while (episode < episodes) {
        strategy->ask(batch);
        search::Candidate& c = batch.front();
        if (c.how == search::Candidate::How::draw) {
            first += episode >= 0 && episode < counted ? value : 0;
            last += episode >= episodes - counted ? value : 0;
            ++episode;
        }
        worker.run(c);
        c.outcome.value = c.outcome.energy_j * c.outcome.latency_s;
        value = std::log2(c.outcome.value);
        strategy->tell(batch);
    }
    BOOST_TEST(last / counted < first / counted - 1, last / counted << " and " << first / counted);
}
