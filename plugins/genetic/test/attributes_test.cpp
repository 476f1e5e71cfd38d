// Children of two mappings of one Einsum: where what they have is from.
#include "../attributes.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

#include "tessera/plugin/registry.hpp"
#include "tessera/plugin/search_strategy.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/point_text.hpp"
#include "tessera/tessera.hpp"

using namespace tessera;
using namespace tessera::search;

namespace {

struct Layer {
    const Problem problem = Problem::load("eyeriss", "cnn-layer", {});
    const plugin::Owned<model::CostModel> model =
        plugin::Registry<model::CostModel>::instance().create("looptree");
    const OpenSpace space{problem.view(), *model, {}};
    Worker worker{space};

    Point legal(std::uint64_t& seed) {
        Point point;
        while (!worker.draw(seed++, point).legal()) {
        }
        return point;
    }
};

/// Rank variables whose tile shapes differ; the templates are the same.
std::set<int> different(const Space& space, const Point& a, const Point& b) {
    const mapspace::Template& tmpl = space.tmpl(0, a.choices[0].tmpl);
    std::set<int> found;
    for (std::size_t s = 0; s < a.tiles.size(); ++s) {
        if (a.tiles[s] != b.tiles[s]) {
            found.insert(tmpl.symbols[s].rank_variable);
        }
    }
    return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(children_are_points_with_attributes_of_both) {
    Layer layer;
    std::uint64_t seed = 1;
    Rng rng(7);
    int templates_of_mate = 0, mixed = 0, legal = 0;
    for (int i = 0; i < 300; ++i) {
        const Point a = layer.legal(seed), b = layer.legal(seed);
        const Point child = cross_attributes(layer.space, a, b, 0, Attributes::uniform, rng);
        BOOST_TEST_REQUIRE(has_form_of(layer.space, child));
        const mapspace::Template& tmpl = layer.space.tmpl(0, child.choices[0].tmpl);
        for (std::size_t s = 0; s < child.tiles.size(); ++s) {
            const int outer = tmpl.symbols[s].outer;
            BOOST_TEST_REQUIRE(child.tiles[s] >= 1);
            BOOST_TEST_REQUIRE(
                (outer < 0 || child.tiles[static_cast<std::size_t>(outer)] % child.tiles[s] == 0));
        }
        const bool of_mate = child.choices == b.choices;
        BOOST_TEST_REQUIRE((of_mate || child.choices == a.choices));
        templates_of_mate += of_mate ? 1 : 0;
        mixed += child.tiles != a.tiles && child.tiles != b.tiles ? 1 : 0;
        Point repaired = child;
        legal += layer.worker.repair(i, repaired).legal() ? 1 : 0;
    }
    BOOST_TEST(templates_of_mate > 100);
    BOOST_TEST(templates_of_mate < 200);
    BOOST_TEST(mixed > 200);
    BOOST_TEST(legal > 250);
}

BOOST_AUTO_TEST_CASE(one_attribute_is_the_tile_shapes_of_one_rank_variable) {
    Layer layer;
    std::uint64_t seed = 1;
    Rng rng(3);
    std::set<int> taken;
    for (int i = 0; i < 200; ++i) {
        const Point a = layer.legal(seed);
        Point b = a;
        layer.worker.move(Move::tiles, seed++, 0, b);
        if (b.choices != a.choices) {
            continue;
        }
        const Point child = cross_attributes(layer.space, a, b, 0, Attributes::one, rng);
        const std::set<int> of_mate = different(layer.space, a, child);
        BOOST_TEST_REQUIRE(of_mate.size() <= 1U);
        for (const int variable : of_mate) {
            BOOST_TEST((different(layer.space, child, b).count(variable) == 0));
            taken.insert(variable);
        }
    }
    BOOST_TEST(taken.size() > 3U);
}

BOOST_AUTO_TEST_CASE(on_one_einsum_the_published_forms_cross) {
    const Layer layer;
    for (const char* form : {"generations", "gamma", "deap", "ffm"}) {
        const auto strategy = plugin::Registry<SearchStrategy>::instance().create(
            "genetic", {{"form", form}, {"population", "20"}});
        Worker worker(layer.space);
        strategy->start(layer.space, 1);
        std::vector<Candidate> batch(20);
        int crossed = 0, all = 0;
        for (int i = 0; i < 200; ++i) {
            const std::size_t n = strategy->ask(batch);
            for (std::size_t k = 0; k < n; ++k) {
                crossed += batch[k].how == Candidate::How::repair ? 1 : 0;
                ++all;
                worker.run(batch[k]);
                batch[k].outcome.value = batch[k].outcome.energy_j * batch[k].outcome.latency_s;
            }
            strategy->tell({batch.data(), n});
        }
        BOOST_TEST(crossed > all / 20, form << ": " << crossed << " of " << all);
    }
}

BOOST_AUTO_TEST_CASE(populations_are_as_published) {
    const Layer layer;
    for (const auto& [form, size] : {std::pair{"ffm", 10U}, {"deap", 100U}, {"gamma", 100U}}) {
        const auto strategy =
            plugin::Registry<SearchStrategy>::instance().create("genetic", {{"form", form}});
        Worker worker(layer.space);
        strategy->start(layer.space, 1);
        std::vector<Candidate> batch(1000);
        std::size_t n = strategy->ask(batch);  // founders
        for (std::size_t i = 0; i < n; ++i) {
            worker.run(batch[i]);
            batch[i].outcome.value = batch[i].outcome.energy_j;
        }
        strategy->tell({batch.data(), n});
        n += n < size ? strategy->ask(batch) : 0;
        BOOST_TEST(n == size, form);
    }
}
