// That it fuses nothing, whatever it is told of, and that a run anneals.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tessera/plugin/registry.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/allocation.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/tessera.hpp"

using namespace tessera;
using search::Candidate;

namespace {

plugin::Owned<search::SearchStrategy> salsa() {
    return plugin::Registry<search::SearchStrategy>::instance().create("salsa", {});
}

void evaluate(search::Worker& worker, Candidate& c) {
    worker.run(c);
    c.outcome.value = c.outcome.energy_j * c.outcome.latency_s;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_fused_also_after_a_fused_mapping_was_told) {
    const Problem problem =
        Problem::load("eyeriss", "matmuls", {{"N_EINSUMS", "3"}, {"M", "384"}, {"KN", "128"}});
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const search::OpenSpace space(problem.view(), *model, {});
    search::Worker worker(space);
    const search::Allocation allocation(space);
    Candidate fused;
    for (std::uint64_t seed = 0; !fused.outcome.legal() || allocation.unfused(fused.point);
         ++seed) {
        fused.how = Candidate::How::draw;
        fused.seed = seed;
        evaluate(worker, fused);
        BOOST_TEST_REQUIRE(seed < 10000U);
    }
    fused.outcome.value = 1e-30;  // better than all
    const auto strategy = salsa();
    strategy->start(space, 1);
    strategy->immigrate(fused);
    std::vector<Candidate> batch(1);
    double first = 0, best = std::numeric_limits<double>::infinity();
    std::vector<int> changed(space.n_einsums());
    for (int step = 0; step < 8000; ++step) {
        BOOST_TEST_REQUIRE(strategy->ask(batch) == 1U);
        evaluate(worker, batch[0]);
        if (batch[0].outcome.legal()) {
            BOOST_TEST_REQUIRE(allocation.unfused(batch[0].point));
            first = first == 0 ? batch[0].outcome.value : first;
            best = std::min(best, batch[0].outcome.value);
        }
        strategy->tell(batch);
    }
    BOOST_TEST(best < 0.5 * first);
}

BOOST_AUTO_TEST_CASE(ten_seeds_come_near_the_unfused_optimum_of_a_product) {
    const Problem problem =
        Problem::load("eyeriss", "matmuls", {{"N_EINSUMS", "1"}, {"M", "1024"}, {"KN", "1024"}});
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const search::OpenSpace space(problem.view(), *model, {});
    const double optimum = map(problem).solutions.front().report.edp_js();
    search::Worker worker(space);
    std::vector<double> over;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const auto strategy = salsa();
        strategy->start(space, seed);
        std::vector<Candidate> batch(1);
        double best = std::numeric_limits<double>::infinity();
        for (int step = 0; step < 20000; ++step) {
            strategy->ask(batch);
            evaluate(worker, batch[0]);
            best = batch[0].outcome.legal() ? std::min(best, batch[0].outcome.value) : best;
            strategy->tell(batch);
        }
        over.push_back(best / optimum);
    }
    std::sort(over.begin(), over.end());
    BOOST_TEST(over.front() >= 1 - 1e-9);
    BOOST_TEST(over[5] <= 1.05, over[5]);  // in the median
}
