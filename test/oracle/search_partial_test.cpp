// Partial assignments on small random problems: what they complete to are the points of a
// structure.
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "oracle/few_instances.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/partial.hpp"
#include "tessera/search/point_text.hpp"

using namespace tessera;
using search::Partial;
using search::Point;
using Structure = std::vector<std::uint32_t>;

namespace {

constexpr std::size_t most_points = 20'000;

void add_all(Partial& partial, std::set<std::string>& out) {
    if (partial.complete()) {
        BOOST_TEST(out.insert(search::to_text(partial.point())).second, "the same point twice");
        return;
    }
    const std::vector<std::int64_t> values = partial.values();
    const std::size_t depth = partial.depth();
    for (const std::int64_t value : values) {
        partial.choose(value);
        add_all(partial, out);
        partial.rewind(depth);
        BOOST_TEST((partial.values() == values));
    }
}

/// All points by structure; empty if there are too many.
std::map<Structure, std::set<std::string>> all_points(const search::OpenSpace& space,
                                                      std::map<Structure, Point>& examples) {
    std::map<Structure, std::set<std::string>> all;
    const auto points = space.enumerate();
    Partial partial(space);
    Point point;
    for (std::size_t n = 0; points->next(point); ++n) {
        if (n == most_points) {
            return {};
        }
        if (partial.start(point)) {
            all[partial.structure()].insert(search::to_text(point));
            examples.emplace(partial.structure(), point);
        }
    }
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(partial_assignments_complete_to_the_points_of_their_structure) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::size_t structures = 0, points = 0;
    oracle::for_each_instance(6, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        std::map<Structure, Point> examples;
        const auto all = all_points(space, examples);
        for (const Partial::Order order :
             {Partial::Order::einsums, Partial::Order::fused_first, Partial::Order::fewest}) {
            Partial partial(space, order);
            for (const auto& [structure, expected] : all) {
                BOOST_TEST_REQUIRE(partial.start(examples.at(structure)));
                BOOST_TEST((partial.structure() == structure));
                std::set<std::string> found;
                add_all(partial, found);
                BOOST_TEST((found == expected));
                search::Rng rng(structures++);
                for (int i = 0; i < 4; ++i) {
                    const bool filled = partial.fill(rng);
                    BOOST_TEST((!filled || partial.complete()));
                    BOOST_TEST((!filled || expected.count(search::to_text(partial.point())) == 1));
                    partial.rewind(0);
                    BOOST_TEST(partial.depth() == 0u);
                }
                points += found.size();
            }
        }
    });
    BOOST_TEST(structures > 1000u);
    BOOST_TEST(points > structures);
}

BOOST_AUTO_TEST_CASE(partial_assignments_need_a_point_that_joins) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    oracle::for_each_instance(1, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        Partial partial(space);
        Point point;
        BOOST_TEST(!partial.start(point));
        search::Worker worker(space);
        BOOST_TEST_REQUIRE(worker.draw(1, point).legal());
        BOOST_TEST(partial.start(point));
        point.choices.front().tmpl = space.n_templates(0);
        BOOST_TEST(!partial.start(point));
    });
}
