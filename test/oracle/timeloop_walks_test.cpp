// What Timeloop's algorithms say is proven.
#include <boost/test/unit_test.hpp>

#include "support/small_mapspace.hpp"
#include "timeloop/mapper.hpp"

namespace {

using namespace tessera;
using namespace tessera::timeloop;
struct Drawn {
    testing::SmallMapSpace c;
};

BOOST_AUTO_TEST_SUITE(timeloop_walks)

// Two instances along Y, and a dimension of one iteration before the one that is spread: Timeloop's
// pruning puts that in front along X, and the other one with it.
BOOST_AUTO_TEST_CASE(a_pruned_walk_proves_nothing_of_what_it_leaves_out) {
    Drawn drawn;
    Problem& problem = drawn.c.problem;
    problem.dimensions = {{"R", 2}, {"P", 1}};
    const auto space = [](const char* name, std::vector<std::vector<Term>> ranks, bool output) {
        DataSpace made;
        made.name = name;
        made.ranks = std::move(ranks);
        made.read_write = output;
        return made;
    };
    problem.data_spaces = {space("W", {{{0, 1, -1}}}, false),
                           space("I", {{{1, 1, -1}, {0, 1, -1}}}, false),
                           space("O", {{{1, 1, -1}}}, true)};
    Architecture& architecture = drawn.c.architecture;
    StorageLevel inner, outer;
    inner.name = "Reg";
    inner.size = 4;
    inner.instances = inner.mesh_y = 2;
    outer.name = "DRAM";
    outer.technology = Technology::dram;
    architecture.storage = {inner, outer};
    architecture.arithmetic.instances = architecture.arithmetic.mesh_y = 2;
    apply_default_energies(architecture);
    MapperSettings settings;
    settings.timeout = settings.victory = 0;
    settings.threads = 1;
    const auto search = [&](Algorithm algorithm) {
        settings.algorithm = algorithm;
        return search_mappings(problem, architecture, drawn.c.constraints, settings);
    };
    const MapperResult whole = search(Algorithm::exhaustive);
    const MapperResult pruned = search(Algorithm::linear_pruned);
    BOOST_REQUIRE(whole.best && pruned.best);
    BOOST_CHECK(whole.proof == Proof::optimal);
    BOOST_CHECK_GT(pruned.cost.edp(), whole.cost.edp());
    BOOST_CHECK(pruned.proof == Proof::none && pruned.left_out && !pruned.bound);
    // Where the array has to be used, the walk finds nothing.
    drawn.c.constraints.parallelism.push_back({ConstraintSource::mapspace, 1.0, {}});
    BOOST_CHECK(search(Algorithm::exhaustive).best);
    const MapperResult none = search(Algorithm::linear_pruned);
    BOOST_CHECK(!none.best && none.proof == Proof::none);
    BOOST_CHECK_NE(none.reasons.back().find("leave 'algorithm' out"), std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
