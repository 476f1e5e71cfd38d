// Strategy mcts goes on from a saved state, and from one that somebody changed, without harm.
#include <boost/test/unit_test.hpp>
#include <cctype>
#include <span>
#include <sstream>

#include "oracle/few_instances.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/open_space.hpp"

using namespace tessera;

namespace {

auto begin(const search::OpenSpace& space) {
    auto strategy = plugin::Registry<search::SearchStrategy>::instance().create(
        "mcts", {{"variant", "tileseek"}});  // goes deeper
    strategy->start(space, 1);
    return strategy;
}

/// Asks and tells `n` times.
void go_on(search::SearchStrategy& strategy, search::Worker& worker, int n) {
    std::vector<search::Candidate> batch(strategy.width());
    for (int i = 0; i < n; ++i) {
        const std::span<search::Candidate> asked(batch.data(), strategy.ask(batch));
        for (search::Candidate& c : asked) {
            worker.run(c);
            c.outcome.value = c.outcome.energy_j * c.outcome.latency_s;
        }
        strategy.tell(asked);
    }
}

/// One digit becomes another.
void change(std::string& text, search::Rng& rng) {
    const std::size_t at = rng.below(text.size());
    if (std::isdigit(static_cast<unsigned char>(text[at]))) {
        text[at] = static_cast<char>('0' + rng.below(10));
    }
}

/// Every child becomes node 0, a root: the tree has no leaves any more.
std::string endless(const std::string& saved) {
    std::istringstream in(saved);
    std::ostringstream out;
    std::string line;
    for (std::size_t at = 0; std::getline(in, line); ++at) {
        if (at < 2 || line.find(';') != std::string::npos) {
            out << line << '\n';  // no node
            continue;
        }
        std::istringstream words(line);
        std::string word;
        for (std::size_t i = 0; words >> word; ++i) {
            out << (i >= 6 && i % 2 == 0 ? "0" : word) << ' ';
        }
        out << '\n';
    }
    return out.str();
}

}  // namespace

BOOST_AUTO_TEST_CASE(tree_search_survives_changed_states) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::size_t taken = 0, refused = 0;
    oracle::for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        const auto strategy = begin(space);
        go_on(*strategy, worker, 200);
        const std::string saved = strategy->save();
        const auto same = begin(space);
        BOOST_TEST_REQUIRE(same->restore(saved));
        BOOST_TEST(same->save() == saved);
        const auto lost = begin(space);
        BOOST_TEST_REQUIRE(lost->restore(endless(saved)));
        go_on(*lost, worker, 60);
        search::Rng rng(saved.size());
        for (int i = 0; i < 20; ++i) {
            std::string changed = saved;
            for (std::size_t n = 1 + rng.below(30); n > 0; --n) {
                change(changed, rng);
            }
            const auto other = begin(space);
            if (other->restore(changed)) {
                go_on(*other, worker, 60);
                ++taken;
            } else {
                ++refused;
            }
        }
    });
    BOOST_TEST(taken > 50u);
    BOOST_TEST(refused > 50u);
}
