// Mapper ffm with pipelines against brute force: all LoopTrees of small problems, all choices of
// branches that run at once, each timed by the simulation of pipelines.
//
// With TESSERA_SOAK=N in the environment, N instances from TESSERA_SOAK_FROM on are drawn.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "oracle/oracle_instance.hpp"
#include "oracle/pipeline_simulator.hpp"
#include "oracle/points.hpp"
#include "support/setting.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;
using mapper::Metric;

namespace {

struct Best {
    double latency_s = std::numeric_limits<double>::infinity();
    double in_turn_s = std::numeric_limits<double>::infinity();
    double edp_js = std::numeric_limits<double>::infinity();
};

/// A component works for one Einsum at a time: no overlap is faster.
double least_s(const oracle::Space& space, const oracle::Tree& tree) {
    double least = 0;
    for (std::size_t c = 0; c < space.components.size(); ++c) {
        double busy_s = 0;
        for (const oracle::ChainRow* row : tree.rows) {
            busy_s += row->busy_s[c];
        }
        least = std::max(least, busy_s);
    }
    return least;
}

/// More iterations of loops that Einsums share take too long to go through. \throws TooMany
void check_iterations(const oracle::Tree& tree) {
    for (const oracle::ChainGroup* group : tree.groups) {
        std::int64_t iterations = 1;
        for (const oracle::SharedLoop& loop : group->prefix) {
            iterations *= loop.trips;
        }
        if (iterations > 64) {
            throw oracle::TooMany("oracle: too many iterations");
        }
    }
}

/// \throws TooMany
Best brute_force(const oracle::Space& space, bool partial_tiles) {
    Best best;
    oracle::for_each_tree(
        space,
        [&](const oracle::Tree& tree) {
            double energy_j = 0;
            for (const oracle::ChainRow* row : tree.rows) {
                energy_j += row->energy_j;
            }
            const double at_least_s = least_s(space, tree);
            if (at_least_s > best.latency_s && energy_j * at_least_s >= best.edp_js) {
                return;
            }
            if (partial_tiles) {
                check_iterations(tree);
            }
            for (const auto& overlap : oracle::all_overlaps(tree.shared)) {
                const double latency_s = oracle::latency_s(space, tree, overlap);
                best.latency_s = std::min(best.latency_s, latency_s);
                best.edp_js = std::min(best.edp_js, energy_j * latency_s);
                if (overlap.empty()) {
                    best.in_turn_s = std::min(best.in_turn_s, latency_s);
                }
            }
        },
        30'000);
    return best;
}

mapper::Result map(const oracle::LoadedInstance& instance,
                   const mapspace::MapSpaceOptions& mapspace, Metric metric) {
    mapper::Options options;
    options.metrics = {metric};
    options.mapspace = mapspace;
    options.mapspace.all_einsum_orders = false;
    options.threads = 1;
    return plugin::Registry<mapper::Mapper>::instance()
        .create("ffm", {{"overlap", "pipeline"}})
        ->map(instance.problem, *plugin::Registry<model::CostModel>::instance().create("looptree"),
              options);
}

struct Seen {
    int judged = 0, optimal = 0, proven = 0, better_than_in_turn = 0;
};

void judge(const mapper::Result& result, Metric metric, double best, Seen& seen) {
    BOOST_TEST_REQUIRE(result.solutions.size() == 1u);
    const double found = mapper::metric_value(metric, result.solutions.front().report);
    const double bound = result.bound.value_or(0);
    BOOST_TEST(found >= best * (1 - 1e-9),
               found << " is below brute force " << best << "\n"
                     << mapping::to_yaml(result.solutions.front().mapping));
    BOOST_TEST(bound <= best * (1 + 1e-9), "bound " << bound << ", brute force " << best);
    BOOST_TEST((result.status != mapper::Status::optimal || oracle::close(found, best)));
    BOOST_TEST_MESSAGE(mapper::facts(metric).name << " " << found / best
                                                  << " of the optimum, bound " << bound / best);
    ++seen.judged;
    seen.optimal += oracle::close(found, best);
    seen.proven += result.status == mapper::Status::optimal;
}

}  // namespace

namespace {

/// Nothing is judged where brute force would take too long.
void judge(std::uint64_t seed, bool partial_tiles, Seen& seen) {
    oracle::Instance drawn = oracle::random_full_instance(seed);
    drawn.options.imperfect_temporal = drawn.options.imperfect_spatial = partial_tiles;
    try {
        const oracle::LoadedInstance instance(drawn.yaml, arch::Compat::none);
        oracle::Space space = oracle::make_space(instance.problem, drawn.options,
                                                 partial_tiles ? 30'000 : 3'000, true);
        oracle::keep_useful_rows(space);
        if (space.einsums.size() < 2) {
            return;
        }
        const Best best = brute_force(space, partial_tiles);
        if (std::isinf(best.latency_s)) {
            return;
        }
        BOOST_TEST_CONTEXT("seed " << seed << " " << drawn.kind << "\n" << drawn.yaml) {
            judge(map(instance, drawn.options, Metric::latency), Metric::latency, best.latency_s,
                  seen);
            judge(map(instance, drawn.options, Metric::edp), Metric::edp, best.edp_js, seen);
        }
        seen.better_than_in_turn += best.latency_s < best.in_turn_s * (1 - 1e-9);
    } catch (const oracle::TooMany&) {
    } catch (const oracle::Unsupported&) {
    }
}

bool soaks() {
    return test::setting("TESSERA_SOAK", 0) > 0;
}

/// `n` instances from seed `from` on, or those of a soak.
Seen judge_drawn(std::uint64_t from, std::uint64_t n, bool partial_tiles) {
    from = test::setting("TESSERA_SOAK_FROM", from);
    n = soaks() ? test::setting("TESSERA_SOAK", 0) : n;
    Seen seen;
    for (std::uint64_t seed = from; seed < from + n; ++seed) {
        judge(seed, partial_tiles, seen);
    }
    BOOST_TEST_MESSAGE(seen.judged << " searches, " << seen.optimal << " optimal, " << seen.proven
                                   << " proven; pipelines help in " << seen.better_than_in_turn);
    BOOST_TEST(seen.optimal == seen.judged);
    BOOST_TEST(seen.proven * 100 >= seen.judged * 95);  // running states keep a gap
    return seen;
}

}  // namespace

BOOST_AUTO_TEST_CASE(optima_with_pipelines_are_those_of_brute_force) {
    const Seen seen = judge_drawn(0, 120, false);
    BOOST_TEST((soaks() || seen.judged > 50));
    BOOST_TEST((soaks() || seen.better_than_in_turn > 3));
}

BOOST_AUTO_TEST_CASE(partial_tiles_in_pipelines_are_searched_exactly) {
    const Seen seen = judge_drawn(1000, 60, true);
    BOOST_TEST((soaks() || seen.judged > 10));
}

// Arrays of four take 7 values in two steps of 2 s (X) and of 3 s (Y). With a step as an iteration
// X fills, both work, Y drains: 2 + 3 + 3 = 8 s. In turn that is 10 s; tiles of 1 take 23, of 7
// longer.
BOOST_AUTO_TEST_CASE(a_partial_last_tile_is_an_iteration_of_its_own) {
    const auto memory = [](const std::string& name, const std::string& rest) {
        return "  - !Memory {name: " + name + ", " + rest +
               ", actions: [{name: read, energy: 1, throughput: inf},"
               " {name: write, energy: 1, throughput: inf}]}\n";
    };
    const auto compute = [](const std::string& indent, const std::string& name,
                            const std::string& operation, const std::string& seconds) {
        return indent + "- !Container {name: " + name + "s, spatial: [{name: x, fanout: 4}]}\n" +
               indent + "- !Compute {name: " + name + ", operations: [" + operation +
               "], actions: [{name: compute, energy: 1, throughput: 1 / " + seconds + "}]}\n";
    };
    const std::string text =
        "arch:\n  nodes:\n" +
        memory("Main", "size: inf, tensors: {keep: ~Intermediates, may_keep: All}") +
        memory("Buffer", "size: 8, tensors: {keep: ~Main, may_keep: All}") +
        "  - !Fork\n    nodes:\n" + compute("    ", "X", "exp", "2") +
        compute("  ", "Y", "add", "3") +
        "workload:\n  rank_sizes: {M: 7}\n  bits_per_value: {All: 1}\n  einsums:\n"
        "  - {einsum: \"T[m] = A[m]\", operation: exp}\n"
        "  - {einsum: \"Z[m] = T[m]\", operation: add}\n";
    const oracle::LoadedInstance instance(text, arch::Compat::none);
    mapspace::MapSpaceOptions mapspace;
    mapspace.imperfect_temporal = mapspace.imperfect_spatial = true;
    const mapper::Result result = map(instance, mapspace, Metric::latency);
    BOOST_TEST_REQUIRE(result.solutions.size() == 1u);
    BOOST_TEST(oracle::close(result.solutions.front().report.latency_s(), 8));
    BOOST_TEST((result.status == mapper::Status::optimal));
}

// Where an array is to be used as far as it can be, more room for each holder decides otherwise how
// far that is.
BOOST_AUTO_TEST_CASE(room_for_pipelines_leaves_the_mapspace_as_it_is) {
    Seen seen;
    for (const std::uint64_t seed : {10840, 10919}) {
        judge(seed, false, seen);
    }
    BOOST_TEST(seen.judged == 4);
    BOOST_TEST(seen.optimal == 4);
}
