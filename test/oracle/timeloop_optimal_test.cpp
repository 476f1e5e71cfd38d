// The optimal search against all mappings of small Timeloop mapspaces, and its bound against the
// cost model on large ones.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "support/random_timeloop.hpp"
#include "support/setting.hpp"
#include "support/small_mapspace.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop/mapspace.hpp"
#include "timeloop/optimal/edges.hpp"

namespace {

using namespace tessera;
using namespace tessera::timeloop;

struct Best {
    double value = HUGE_VAL;
    std::uint64_t valid = 0;
};

/// Every id of the mapspace.
Best brute_force(const MapSpace& space, const Objective& objective) {
    MapSpaceView view(space);
    const CompiledModel model(space.problem(), space.architecture());
    CompiledModel::Workspace workspace;
    Best best;
    FlatMapping flat;
    Cost cost;
    for (MappingId id; id.factors < view.factor_count(); ++id.factors) {
        for (id.permutation = 0; id.permutation < view.permutation_count(); ++id.permutation) {
            for (id.split = 0; id.split < view.split_count(); ++id.split) {
                for (id.bypass = 0; id.bypass < view.bypass_count(); ++id.bypass) {
                    if (!view.build(id, flat).ok()) {
                        break;
                    }
                    model.evaluate(flat, workspace, cost);
                    if (cost.fit.ok() && !cost.forgets && !cost.wrapped) {
                        ++best.valid;
                        best.value = std::min(
                            best.value,
                            objective_value(objective, cost, space.architecture().levels()));
                    }
                }
            }
        }
    }
    return best;
}

struct MappingBound {
    double linear = 0, cycles = 0;
    double floor = 0;  ///< of all mappings with the same spatial factors and bypasses
};

/// The lower bound of one given mapping, edge by edge as the tables would add it up.
/// \pre it has perfect factors, fits, and keeps every data space whole somewhere
MappingBound mapping_bound(const Geometry& geometry, const Mapping& mapping) {
    SpatialChoice choice;
    std::vector<DataSpaceMask> keep;
    double used = 1;
    for (const LevelMapping& level : mapping.levels) {
        for (const Factor& factor : level.spatial.factors) {
            choice.factor.push_back(factor.end);
            used *= static_cast<double>(factor.end);
        }
        keep.push_back(level.keep);
    }
    choice.cycles = geometry.computes / used;
    const Edges edges(geometry, choice, keep);
    const Lattice& lattice = edges.lattice();
    MappingBound bound{edges.constant(), edges.cycles(), edges.floor()};
    for (int space = 0; space < static_cast<int>(geometry.spaces.size()); ++space) {
        for (const Edge& edge : edges.of(space)) {
            std::size_t x = 0;
            bool fresh = true, closed = false;
            for (int level = 0; level < geometry.levels && !closed; ++level) {
                const LoopBlock& block = mapping.levels[level].temporal;
                for (const int d : block.permutation) {
                    const std::int64_t n = block.factors[d].end;
                    if (n == 1) {
                        continue;
                    }
                    if (level > edge.child && (geometry.spaces[space].relevant >> d & 1)) {
                        bound.linear += edges.closure(edge, x, d, n, level, fresh);
                        closed = true;
                        break;
                    }
                    fresh = fresh && level <= edge.child;
                    x = lattice.times(x, d, n);
                }
            }
            if (!closed) {
                bound.linear += edges.cost(edge, edges.full_words(edge, x), edges.linked(edge, x));
            }
        }
    }
    return bound;
}

Objective objective_of(int i, int levels) {
    using Kind = Objective::Kind;
    switch (i % 5) {
        case 0:
            return {Kind::energy, 0};
        case 1:
            return {Kind::delay, 0};
        case 2:
            return {Kind::last_level_accesses, 0};
        case 3:
            return {Kind::accesses, i % levels};
        default:
            return {Kind::edp, 0};
    }
}

/// Solves small instances and compares.
void compare(int seed, int instances) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    int solved = 0, infeasible = 0, proven = 0;
    for (int i = 0; solved + infeasible < instances && i < 100 * instances; ++i) {
        const testing::SmallMapSpace c = testing::small_mapspace(random);
        std::optional<MapSpace> space;
        try {
            space.emplace(c.problem, c.architecture, c.constraints);
        } catch (const UserError&) {
            continue;  // factors that do not divide
        }
        const Wide size = space->factor_count() * space->permutation_count() *
                          space->split_count() * space->bypass_count();
        if (size > 60'000) {
            continue;
        }
        MapperSettings settings;
        settings.objectives = {objective_of(i, c.architecture.levels())};
        settings.threads = 1;
        const Best best = brute_force(*space, settings.objectives.front());
        const MapperResult result =
            search_mappings(c.problem, c.architecture, c.constraints, settings);
        BOOST_TEST_INFO("seed " << seed << ", instance " << i << ", objective "
                                << static_cast<int>(settings.objectives.front().kind));
        if (best.valid == 0) {
            BOOST_CHECK(!result.best && result.proof == Proof::infeasible);
            ++infeasible;
            continue;
        }
        BOOST_REQUIRE(result.best);
        const double found =
            objective_value(settings.objectives.front(), result.cost, c.architecture.levels());
        BOOST_CHECK_MESSAGE(found <= best.value * (1 + 1e-9), "seed " << seed << ", instance " << i
                                                                      << ": found " << found
                                                                      << ", best " << best.value);
        BOOST_CHECK_GE(found, best.value * (1 - 1e-9));
        BOOST_REQUIRE(result.bound);
        BOOST_CHECK_LE(*result.bound, best.value * (1 + 1e-9));
        proven += result.proof == Proof::optimal;
        ++solved;
    }
    BOOST_CHECK_EQUAL(solved + infeasible, instances);
    BOOST_CHECK_GT(infeasible, 0);
    BOOST_CHECK_GT(proven, solved * 9 / 10);
    BOOST_TEST_MESSAGE("solved " << solved << ", proven " << proven << ", infeasible "
                                 << infeasible);
}

BOOST_AUTO_TEST_SUITE(timeloop_optimal)

BOOST_AUTO_TEST_CASE(equals_all_mappings_of_small_spaces) {
    const auto soak = static_cast<int>(test::setting("TESSERA_SOAK", 0));
    compare(soak > 0 ? soak : 1, soak > 0 ? 3000 : 400);
}

BOOST_AUTO_TEST_CASE(no_mapping_costs_less_than_its_bound) {
    std::mt19937_64 random(5);
    testing::TimeloopCaseOptions options;
    options.most_levels = 5;
    int checked = 0, exact = 0;
    for (int i = 0; i < 1500; ++i) {
        options.networks = i % 2 != 0;
        const testing::TimeloopCase c = testing::random_timeloop_case(random, options);
        const MapSpace space(c.problem, c.architecture, Constraints{});
        const Geometry geometry(space, Objective{}, ModelOptions{});
        const CompiledModel model(c.problem, c.architecture);
        CompiledModel::Workspace workspace;
        FlatMapping flat;
        Cost cost;
        for (int k = 0; k < 10; ++k) {
            const Mapping mapping =
                testing::random_timeloop_mapping(random, c.problem, c.architecture, options);
            flatten(mapping, flat);
            model.evaluate(flat, workspace, cost);
            if (!cost.fit.ok() || cost.forgets) {
                continue;
            }
            const MappingBound bound = mapping_bound(geometry, mapping);
            BOOST_CHECK_LE(bound.linear, cost.energy_pj * (1 + 1e-9));
            BOOST_CHECK_LE(bound.floor, cost.energy_pj * (1 + 1e-9));
            BOOST_CHECK_LE(bound.cycles, static_cast<double>(cost.cycles));
            exact += bound.linear >= cost.energy_pj * (1 - 1e-9);
            ++checked;
        }
    }
    BOOST_CHECK_GT(checked, 10'000);
    BOOST_CHECK_GT(exact, checked / 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
