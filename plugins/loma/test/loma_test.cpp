// That it goes on, ends where it is told to, and fuses nothing.
#include <boost/test/unit_test.hpp>

#include "tessera/plugin/registry.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/allocation.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/tessera.hpp"

using namespace tessera;
using search::Candidate;

namespace {

struct Ran {
    std::size_t candidates = 0, fused = 0;
    double best = std::numeric_limits<double>::infinity();
};

Ran run(const search::OpenSpace& space, const plugin::KnobSettings& knobs, std::uint64_t seed,
        std::size_t most) {
    const auto strategy =
        plugin::Registry<search::SearchStrategy>::instance().create("loma", knobs);
    search::Worker worker(space);
    const search::Allocation allocation(space);
    std::vector<Candidate> batch(64);
    Ran ran;
    strategy->start(space, seed);
    while (ran.candidates < most) {
        const std::size_t n =
            strategy->ask({batch.data(), std::min(batch.size(), most - ran.candidates)});
        if (n == 0) {
            break;
        }
        for (std::size_t i = 0; i < n; ++i) {
            Candidate& c = batch[i];
            worker.run(c);
            c.outcome.value = c.outcome.energy_j * c.outcome.latency_s;
            if (c.outcome.legal()) {
                ran.best = std::min(ran.best, c.outcome.value);
                ran.fused += allocation.unfused(c.point) ? 0 : 1;
            }
        }
        strategy->tell({batch.data(), n});
        ran.candidates += n;
    }
    return ran;
}

}  // namespace

BOOST_AUTO_TEST_CASE(more_passes_find_what_one_way_to_fill_arrays_has_not) {
    const Problem problem =
        Problem::load("eyeriss", "matmuls", {{"N_EINSUMS", "2"}, {"M", "192"}, {"KN", "192"}});
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const search::OpenSpace space(problem.view(), *model, {});
    int better = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        constexpr std::size_t most = 30000;
        const Ran one = run(space, {{"passes", "1"}, {"loops", "3"}}, seed, most);
        BOOST_TEST(one.candidates < most, "seed " << seed);  // it ended
        const Ran all = run(space, {{"loops", "3"}}, seed, most);
        BOOST_TEST(all.candidates == most, "seed " << seed);
        BOOST_TEST(all.best <= one.best, "seed " << seed);
        BOOST_TEST(one.fused + all.fused == 0U);
        better += all.best < 0.999 * one.best ? 1 : 0;
    }
    BOOST_TEST(better >= 1);
}
