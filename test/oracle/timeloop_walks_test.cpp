// What Timeloop's algorithms and the optimal search say is proven, against all mappings of small
// mapspaces: constraints, bypasses, imperfect factors, arrays that are flat along X or Y, bounds
// next to a fan-out, lists of metrics.
//
// With TESSERA_SOAK=N in the environment N problems, from seed TESSERA_SOAK_FROM on.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "support/setting.hpp"
#include "support/small_mapspace.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/mapper.hpp"

namespace {

using namespace tessera;
using namespace tessera::timeloop;
using Kind = Objective::Kind;
using Random = std::mt19937_64;

int pick(Random& random, int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
}

struct Drawn {
    testing::SmallMapSpace c;
    FactorTemplate factors = FactorTemplate::uber;
    std::vector<Objective> objectives;
};

/// All instances of every level along one axis.
void flatten_array(Architecture& architecture, bool along_y) {
    const auto flatten = [&](auto& level) {
        level.mesh_x = along_y ? 1 : level.instances;
        level.mesh_y = along_y ? level.instances : 1;
    };
    flatten(architecture.arithmetic);
    for (StorageLevel& level : architecture.storage) {
        flatten(level);
    }
}

Drawn draw(Random& random) {
    Drawn drawn{testing::small_mapspace(random), FactorTemplate::uber, {}};
    Problem& problem = drawn.c.problem;
    Architecture& architecture = drawn.c.architecture;
    if (const int flat = pick(random, 0, 3); flat < 2) {
        flatten_array(architecture, flat == 0);
    }
    const int dimensions = static_cast<int>(problem.dimensions.size());
    for (int level = 0; level < architecture.levels(); ++level) {
        const std::int64_t fanout = architecture.fanout(level);
        if (fanout > 2 && fanout <= 9 && pick(random, 0, 3) == 0) {
            problem.dimensions[pick(random, 0, dimensions - 1)].bound =
                fanout - 1 + pick(random, 0, 1);
        }
    }
    if (pick(random, 0, 4) == 0) {
        drawn.factors = FactorTemplate::ruby;
        LoopConstraint uneven;
        uneven.level = pick(random, 0, architecture.levels() - 1);
        uneven.spatial = architecture.fanout(uneven.level) > 1 && pick(random, 0, 1) == 0;
        uneven.remainders = PlacedNumber{3, {}};
        drawn.c.constraints.loops.push_back(uneven);
    }
    const int metrics = pick(random, 0, 1) == 0 ? 1 : pick(random, 2, 3);
    for (int i = 0; i < metrics; ++i) {
        static constexpr Kind kinds[] = {Kind::edp, Kind::energy, Kind::delay,
                                         Kind::last_level_accesses, Kind::accesses};
        drawn.objectives.push_back(
            {kinds[pick(random, 0, 4)], pick(random, 0, architecture.levels() - 1)});
    }
    return drawn;
}

/// The values of every valid mapping, metric by metric.
std::vector<std::vector<double>> all_values(const MapSpace& space,
                                            const std::vector<Objective>& objectives) {
    MapSpaceView view(space);
    const CompiledModel model(space.problem(), space.architecture());
    CompiledModel::Workspace workspace;
    std::vector<std::vector<double>> all;
    FlatMapping flat;
    Cost cost;
    for (MappingId id; id.factors < view.factor_count(); ++id.factors) {
        for (id.permutation = 0; id.permutation < view.permutation_count(); ++id.permutation) {
            for (id.split = 0; id.split < view.split_count(); ++id.split) {
                for (id.bypass = 0; id.bypass < view.bypass_count(); ++id.bypass) {
                    if (!view.build(id, flat).ok()) {
                        continue;
                    }
                    model.evaluate(flat, workspace, cost);
                    if (!cost.fit.ok() || cost.forgets || cost.wrapped) {
                        continue;
                    }
                    std::vector<double>& values = all.emplace_back();
                    for (const Objective& objective : objectives) {
                        values.push_back(
                            objective_value(objective, cost, space.architecture().levels()));
                    }
                }
            }
        }
    }
    return all;
}

/// Of those that are least in the metrics before it, the least of each metric.
std::vector<double> least_in_order(std::vector<std::vector<double>> all) {
    std::vector<double> least;
    const std::size_t metrics = all.front().size();
    for (std::size_t i = 0; i < metrics; ++i) {
        double value = HUGE_VAL;
        for (const std::vector<double>& values : all) {
            value = std::min(value, values[i]);
        }
        least.push_back(value);
        std::erase_if(all, [&](const auto& values) { return values[i] > value * (1 + tie); });
    }
    return least;
}

struct Seen {
    int problems = 0, empty = 0, imperfect = 0, several = 0;
    int left_out = 0, missed = 0;  ///< walks that left mappings out; and better or valid ones
    int optimal = 0, optimal_proven = 0;
};

void check(const Drawn& drawn, const MapSpace& space, Algorithm algorithm,
           const std::vector<double>& least, Seen& seen) {
    MapperSettings settings;
    settings.algorithm = algorithm;
    settings.objectives = drawn.objectives;
    settings.factors = drawn.factors;
    settings.threads = 1 + seen.problems % 2;
    settings.timeout = settings.victory = 0;
    settings.filter_revisits = true;
    const bool random = algorithm == Algorithm::random || algorithm == Algorithm::random_pruned;
    if (random) {
        settings.search_size = 50;
        settings.timeout = 200;
    }
    const MapperResult result =
        search_mappings(drawn.c.problem, drawn.c.architecture, drawn.c.constraints, settings);
    const std::size_t metrics = drawn.objectives.size();
    const auto value = [&](std::size_t i) {
        return objective_value(drawn.objectives[i], result.cost, drawn.c.architecture.levels());
    };
    if (result.best && least.empty()) {
        BOOST_FAIL("not in the mapspace: " << compact_text(drawn.c.problem, *result.best));
    }
    BOOST_CHECK(result.proof != Proof::infeasible || least.empty());
    BOOST_CHECK_EQUAL(result.proof == Proof::optimal, result.best && result.proven == metrics);
    for (std::size_t i = 0; i < result.proven; ++i) {
        BOOST_CHECK_LE(value(i), least[i] * (1 + 1e-8));
        BOOST_CHECK_GE(value(i), least[i] * (1 - 1e-8));
    }
    if (result.bound && !least.empty()) {
        BOOST_CHECK_LE(*result.bound, least[0] * (1 + 1e-8));
    }
    if (result.next_bound) {
        BOOST_CHECK_LE(*result.next_bound, least[result.proven] * (1 + 1e-8));
    }
    if (random) {
        BOOST_CHECK(result.proof == Proof::none || space.factor_count() == 0);
        return;
    }
    const bool best = result.best && value(0) <= least[0] * (1 + (metrics > 1 ? 1e-3 : 1e-8));
    if (algorithm == Algorithm::optimal) {
        ++seen.optimal;
        seen.optimal_proven += result.proof == Proof::optimal;
        BOOST_CHECK(drawn.factors == FactorTemplate::ruby || least.empty() || best);
        return;
    }
    // A walk that leaves nothing out has seen the best one.
    BOOST_CHECK(!result.left_out || algorithm != Algorithm::exhaustive);
    if (result.left_out) {
        ++seen.left_out;
        seen.missed += !best && !least.empty();
        BOOST_CHECK(result.proof == Proof::none && result.proven == 0 && !result.bound);
    } else {
        BOOST_CHECK_EQUAL(result.proof == Proof::infeasible, least.empty());
        BOOST_CHECK(least.empty() || best);
        BOOST_CHECK(least.empty() || (result.bound && *result.bound >= least[0] * (1 - 1e-8)));
        BOOST_CHECK(metrics > 1 || least.empty() || result.proof == Proof::optimal);
    }
}

void check(const Drawn& drawn, Seen& seen) {
    std::optional<MapSpace> space;
    try {
        space.emplace(drawn.c.problem, drawn.c.architecture, drawn.c.constraints, drawn.factors);
    } catch (const UserError&) {
        return;  // factors that do not divide
    }
    const Wide size = space->factor_count() * space->permutation_count() * space->split_count() *
                      space->bypass_count();
    // Imperfect nests are evaluated step by step.
    const bool imperfect = drawn.factors == FactorTemplate::ruby;
    if (size > (imperfect ? 150 : 2000) || (imperfect && drawn.c.problem.computes() > 500)) {
        return;
    }
    const auto all = all_values(*space, drawn.objectives);
    const auto least = all.empty() ? std::vector<double>{} : least_in_order(all);
    for (const Algorithm algorithm :
         {Algorithm::optimal, Algorithm::exhaustive, Algorithm::linear_pruned, Algorithm::hybrid,
          Algorithm::random, Algorithm::random_pruned}) {
        BOOST_TEST_CONTEXT("algorithm " << static_cast<int>(algorithm)) {
            check(drawn, *space, algorithm, least, seen);
        }
    }
    ++seen.problems;
    seen.empty += all.empty();
    seen.imperfect += imperfect;
    seen.several += drawn.objectives.size() > 1;
}

BOOST_AUTO_TEST_SUITE(timeloop_walks)

BOOST_AUTO_TEST_CASE(what_is_proven_is_so) {
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    const int wanted = soak > 0 ? static_cast<int>(soak) : 2000;
    const std::uint64_t from = test::setting("TESSERA_SOAK_FROM", 1);
    Seen seen;
    for (std::uint64_t seed = from; seen.problems < wanted; ++seed) {
        Random random(seed);
        const Drawn drawn = draw(random);
        BOOST_TEST_CONTEXT("seed " << seed) {
            check(drawn, seen);
        }
    }
    BOOST_TEST_MESSAGE(seen.problems
                       << " problems, " << seen.empty << " without a mapping, " << seen.imperfect
                       << " imperfect, " << seen.several << " with several metrics; "
                       << seen.left_out << " walks left mappings out, " << seen.missed
                       << " of them the best; the optimal search proved " << seen.optimal_proven
                       << " of " << seen.optimal);
    BOOST_CHECK_GT(seen.empty, wanted / 100);
    BOOST_CHECK_GT(seen.imperfect, wanted / 20);
    BOOST_CHECK_GT(seen.several, wanted / 4);
    BOOST_CHECK_GT(seen.missed, wanted / 100);
    BOOST_CHECK_GT(seen.optimal_proven, wanted / 2);
}

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
