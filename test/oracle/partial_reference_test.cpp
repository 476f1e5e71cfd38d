// Partial tiles as the reference counts them: fractions of iterations, and a whole one more for a
// tensor that the outermost loop does not index. FFM is no worse than brute force, whose partial
// tiles stand in no other partial tile; the reference's may.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <limits>

#include "oracle/few_instances.hpp"
#include "oracle/full_compare.hpp"
#include "oracle/oracle_tree.hpp"
#include "support/paths.hpp"
#include "support/setting.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;
using mapper::Metric;

namespace {

constexpr std::uint64_t most_chains = 60'000, most_combinations = 100'000;
constexpr double rounding = 1e-9;

mapper::Result map(const oracle::LoadedInstance& instance, mapspace::MapSpaceOptions mapspace,
                   Metric metric, const std::string& mapper = "ffm",
                   const plugin::KnobSettings& knobs = {}) {
    mapper::Options options;
    options.mapspace = mapspace;
    options.metrics = {metric};
    options.threads = 1;
    return oracle::mapped(instance.problem, options, mapper, knobs);
}

double best(const oracle::Optimum& brute_force, Metric metric) {
    double least = std::numeric_limits<double>::infinity();
    for (const oracle::Point& p : brute_force.pareto) {
        least = std::min(least, metric == Metric::energy    ? p.energy_j
                                : metric == Metric::latency ? p.latency_s
                                                            : p.energy_j * p.latency_s);
    }
    return least;
}

struct Seen {
    int judged = 0, better = 0, partial = 0;
};

void judge(oracle::Instance drawn, std::uint64_t seed, Seen& seen) {
    const oracle::LoadedInstance instance(drawn.yaml, arch::Compat::accelforge);
    mapspace::MapSpaceOptions perfect = drawn.options;
    drawn.options.imperfect_temporal = drawn.options.imperfect_spatial = true;
    oracle::Optimum brute_force;
    try {
        auto space = oracle::make_space(instance.problem, drawn.options, most_chains);
        oracle::keep_useful_rows(space);
        brute_force = drawn.options.all_einsum_orders
                          ? oracle::search_all_orders(std::move(space), most_combinations)
                          : oracle::search(space, most_combinations);
    } catch (const oracle::TooMany&) {
        return;
    }
    if (brute_force.pareto.empty()) {
        return;
    }
    ++seen.judged;
    BOOST_TEST_CHECKPOINT("seed " << seed << "\n" << drawn.yaml);
    for (const Metric metric : {Metric::energy, Metric::latency, Metric::edp}) {
        BOOST_TEST_CONTEXT("seed " << seed << "\n" << drawn.yaml) {
            const mapper::Result found = map(instance, drawn.options, metric);
            BOOST_TEST_REQUIRE(!found.solutions.empty());
            const double cost = mapper::metric_value(metric, found.solutions.front().report);
            const double expected = best(brute_force, metric);
            BOOST_TEST(cost <= expected * (1 + rounding));
            seen.better += cost < expected * (1 - rounding);
            const mapper::Result whole = map(instance, perfect, metric);
            seen.partial += whole.solutions.empty() ||
                            cost < mapper::metric_value(metric, whole.solutions.front().report) *
                                       (1 - rounding);
        }
    }
}

void judge_all(oracle::Instance (*draw)(std::uint64_t seed)) {
    const std::uint64_t soak = test::setting("TESSERA_SOAK", 0);
    std::vector<std::uint64_t> seeds;
    std::ifstream in(test::test_folder() + "/oracle/full_seeds.txt");
    for (std::uint64_t seed; soak == 0 && seeds.size() < 300 && in >> seed;) {
        seeds.push_back(seed);
    }
    for (std::uint64_t k = 0; k < soak; ++k) {
        seeds.push_back(test::setting("TESSERA_SOAK_FROM", 1'000'000) + k);
    }
    Seen seen;
    for (const std::uint64_t seed : seeds) {
        judge(draw(seed), seed, seen);
    }
    BOOST_TEST_MESSAGE(seen.judged << " problems, " << seen.partial
                                   << " optima with partial tiles, " << seen.better
                                   << " better than brute force");
    BOOST_TEST(seen.judged * 10 >= static_cast<int>(seeds.size()));
    BOOST_TEST(seen.partial > 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(partial_tiles_of_the_reference_in_all_mappings) {
    judge_all(oracle::random_full_instance);
}

BOOST_AUTO_TEST_CASE(partial_tiles_of_the_reference_in_its_own_mapspace) {
    judge_all(oracle::random_instance);
}

// Whole tiles ask for 2 of 3 in each dimension. Partial tiles that use more are members, and so is
// the mapping without them: 22, 8 and 3 of 64 use 2.75, 2.67 and 3.
BOOST_AUTO_TEST_CASE(whole_tiles_say_what_min_usage_can_ask_for) {
    std::string yaml = R"(
arch:
  nodes:
  - !Memory
    name: Main
    size: inf
    leak_power: 0
    area: 0
    actions:
    - {name: read, energy: 10, throughput: inf}
    - {name: write, energy: 10, throughput: inf}
    tensors: {keep: All}
)";
    for (const std::string name : {"Outer", "Middle", "Inner"}) {
        yaml +=
            "  - !Container {name: " + name + ", spatial: [{name: X, fanout: 3, min_usage: 1}]}\n";
    }
    yaml += R"(  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
workload:
  iteration_space_shape: {c: 0 <= c < 64}
  bits_per_value: {All: 1}
  einsums:
  - name: E
    tensor_accesses:
    - {name: A, projection: [c]}
    - {name: Z, projection: [], output: True}
)";
    const oracle::LoadedInstance instance(yaml, arch::Compat::accelforge);
    mapspace::MapSpaceOptions mapspace = mapspace::MapSpaceOptions::accelforge();
    const auto latency = [&](const std::string& mapper, const plugin::KnobSettings& knobs = {}) {
        return map(instance, mapspace, Metric::latency, mapper, knobs)
            .solutions.at(0)
            .report.latency_s();
    };
    const plugin::KnobSettings exhaustive = {{"strategy", "exhaustive"}};
    BOOST_TEST(latency("ffm") == 8);
    BOOST_TEST(latency("search", exhaustive) == 8);
    mapspace.imperfect_temporal = mapspace.imperfect_spatial = true;
    const auto tolerance = boost::test_tools::tolerance(1e-12);
    BOOST_TEST(latency("ffm") == 64.0 / 22, tolerance);
    BOOST_TEST(latency("search", exhaustive) == 64.0 / 22, tolerance);
}
