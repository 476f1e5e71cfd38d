// Whose tile shapes are looked at, and whether they are all where they are few.
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "tessera/plugin/registry.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/tessera.hpp"

using namespace tessera;
using search::Candidate;

namespace {

/// `dat` on a chain of matrix products.
struct Search {
    Search(const std::string& architecture, const Problem::Defines& defines,
           const plugin::KnobSettings& knobs = {})
        : problem(Problem::load(architecture, "matmuls", defines)),
          model(plugin::Registry<model::CostModel>::instance().create("looptree")),
          space(problem.view(), *model, {}),
          worker(space),
          strategy(plugin::Registry<search::SearchStrategy>::instance().create("dat", knobs)) {
        strategy->start(space, 3);
    }

    /// Runs one batch and \returns it as told.
    std::vector<Candidate> round() {
        std::vector<Candidate> batch(64);
        batch.resize(strategy->ask(batch));
        for (Candidate& c : batch) {
            asked.push_back(c);
            worker.run(c);
            c.outcome.value = c.outcome.energy_j * c.outcome.latency_s;
        }
        strategy->tell(batch);
        return batch;
    }

    const Problem problem;
    const plugin::Owned<model::CostModel> model;
    const search::OpenSpace space;
    search::Worker worker;
    const plugin::Owned<search::SearchStrategy> strategy;
    std::vector<Candidate> asked;
};

}  // namespace

BOOST_AUTO_TEST_CASE(all_einsums_have_turns_of_the_same_length) {
    Search search("eyeriss", {{"N_EINSUMS", "4"}, {"M", "3072"}, {"KN", "1024"}},
                  {{"most", "100"}});
    std::map<std::uint32_t, int> looked_at;
    for (std::uint32_t last = 0; last < 3 || looked_at.size() < 4;) {
        BOOST_TEST_REQUIRE(search.asked.size() < 1000U);
        const std::vector<Candidate> batch = search.round();
        const Candidate& c = batch.front();
        if (c.how == Candidate::How::draw) {
            continue;
        }
        BOOST_TEST_REQUIRE((c.einsum == last || c.einsum == last + 1));
        last = c.einsum;
        looked_at[last] += static_cast<int>(batch.size());
    }
    for (const auto& [einsum, times] : looked_at) {
        BOOST_TEST(times <= 100, einsum << ": " << times);
    }
}

BOOST_AUTO_TEST_CASE(of_few_tile_shapes_all_are_looked_at_once) {
    Search search("simple", {{"N_EINSUMS", "1"}, {"M", "6"}, {"KN", "4"}});
    std::map<std::uint32_t, std::set<std::vector<std::int64_t>>> looked_at;
    for (int i = 0; i < 50; ++i) {
        search.round();
    }
    for (const Candidate& c : search.asked) {
        if (c.how == Candidate::How::cross) {
            const bool fresh = looked_at[c.mate.choices[0].tmpl].insert(c.mate.tiles).second;
            BOOST_TEST(fresh);
        }
    }
    std::map<std::uint32_t, std::set<std::vector<std::int64_t>>> all;
    search::Point point;
    for (const auto points = search.space.enumerate(); points->next(point);) {
        all[point.choices[0].tmpl].insert(point.tiles);
    }
    BOOST_TEST(looked_at.size() > 3U);
    std::size_t whole = 0;
    for (const auto& [tmpl, tiles] : looked_at) {
        whole += tiles == all[tmpl] ? 1 : 0;
    }
    BOOST_TEST(whole + 1 >= looked_at.size());  // the one at hand is not through
}
