// TreeCosts against the cost model whose numbers and errors it gives: random trees, and the same
// trees with a tile shape changed, most of which are refused.
#include "tessera/model/tree_costs.hpp"

#include <boost/test/unit_test.hpp>

#include "oracle/few_instances.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"

using namespace tessera;

namespace {

void collect_loops(mapping::TreeNode& node, std::vector<mapping::TreeNode*>& loops) {
    if (node.kind == mapping::TreeKind::temporal || node.kind == mapping::TreeKind::spatial) {
        loops.push_back(&node);
    }
    for (mapping::TreeNode& child : node.children) {
        collect_loops(child, loops);
    }
}

struct Answer {
    double energy_j = 0, latency_s = 0;
    std::string refused;

    bool operator==(const Answer&) const = default;
};

template <class Evaluate>
Answer answer(const Evaluate& evaluate) {
    try {
        return evaluate();
    } catch (const std::exception& e) {
        return {0, 0, e.what()};
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(tree_costs_are_those_of_the_model_and_so_are_refusals) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    std::size_t good = 0, refused = 0;
    oracle::for_each_instance(2, [&](const model::Problem& problem, const auto& limits) {
        const search::OpenSpace space(problem, *model, {limits, 1, nullptr});
        search::Worker worker(space);
        search::Rng rng(3);
        model::TreeCosts costs(problem);
        for (std::uint64_t i = 0; i < 30; ++i) {
            search::Point point;
            BOOST_TEST_REQUIRE(worker.draw(i % 10, point).legal());
            for (int n = 0; n < 3; ++n) {
                worker.move(search::Move::tiles, rng.next(), 0, point);
            }
            mapping::Mapping tree = worker.mapping(point);
            std::vector<mapping::TreeNode*> loops;
            collect_loops(tree.root, loops);
            for (int n = 0; n < 3; ++n) {
                const Answer expected = answer([&] {
                    const model::Report report = model->evaluate(problem, tree);
                    return Answer{report.energy_j(), report.latency_s(), ""};
                });
                const Answer found = answer([&] {
                    const model::TreeTotals& totals = costs.evaluate(tree);
                    return Answer{totals.energy_j, totals.latency_s, ""};
                });
                BOOST_TEST((found == expected), expected.refused << " / " << found.refused);
                ++(expected.refused.empty() ? good : refused);
                if (loops.empty()) {
                    break;
                }
                mapping::TreeNode& loop = *loops[rng.below(loops.size())];
                std::int64_t& tile = loop.uses.empty()
                                         ? loop.tile_shape
                                         : loop.uses[rng.below(loop.uses.size())].tile_shape;
                tile = rng.below(2) == 0 ? tile * 2 : (tile + 1) / 2;
            }
        }
    });
    BOOST_TEST(good > 1200u);
    BOOST_TEST(refused > 500u);
}
