// FFM against brute force on small random problems.
//
// seeds.txt lists seeds of random_instance() whose problems have at least 1000 legal mappings and
// are small enough to be searched by pairing everything with everything. One test case per kind of
// workload; each problem is solved for energy, latency, EDP and the energy-latency Pareto set.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <map>

#include "oracle/oracle_instance.hpp"
#include "oracle/oracle_tree.hpp"
#include "oracle/points.hpp"
#include "support/paths.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;
using oracle::close;
using oracle::Point;
using oracle::same_points;
using oracle::text;
using oracle::without_ties;

namespace {

constexpr std::uint64_t kChains = 400'000, kFewestMappings = 1000;

std::map<std::string, std::vector<std::uint64_t>> read_seeds() {
    std::map<std::string, std::vector<std::uint64_t>> seeds;
    std::ifstream in(tessera::test::test_folder() + "/oracle/seeds.txt");
    std::string kind;
    for (std::uint64_t seed; in >> kind >> seed;) {
        seeds[kind].push_back(seed);
    }
    return seeds;
}

std::vector<Point> map(const model::Problem& problem, const mapspace::MapSpaceOptions& mapspace,
                       std::vector<mapper::Metric> metrics) {
    const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    mapper::Options options;
    options.metrics = std::move(metrics);
    options.mapspace = mapspace;
    options.threads = 1;
    const auto result = ffm->map(problem, *model, options);
    BOOST_TEST((result.status == mapper::Status::optimal));
    std::vector<Point> points;
    for (const auto& s : result.solutions) {
        points.push_back({s.report.energy_j(), s.report.latency_s()});
        // The returned tree, costed by the oracle's own evaluator.
        Point own;
        for (const auto& chain :
             mapping::split(s.mapping, *problem.workload, *problem.architecture, problem.compat)) {
            const auto c = oracle::cost(chain.path, chain.nodes);
            own.energy_j += c.energy_j();
            own.latency_s += c.latency_s;
        }
        BOOST_TEST(close(own.energy_j, points.back().energy_j));
        BOOST_TEST(close(own.latency_s, points.back().latency_s));
    }
    return points;
}

void compare(std::uint64_t seed, bool all_orders = false) {
    oracle::Instance drawn = oracle::random_instance(seed);
    drawn.options.all_einsum_orders = all_orders;
    const oracle::LoadedInstance instance(drawn.yaml);
    auto space = oracle::make_space(instance.problem, drawn.options, kChains);
    const auto best =
        all_orders ? oracle::search_all_orders(std::move(space)) : oracle::search(space);
    BOOST_TEST(best.mappings >= kFewestMappings);

    using mapper::Metric;
    const auto energy = map(instance.problem, drawn.options, {Metric::energy});
    BOOST_TEST_REQUIRE(energy.size() == 1u);
    BOOST_TEST(close(energy[0].energy_j, best.energy_j),
               "energy " << energy[0].energy_j << ", brute force " << best.energy_j);
    const auto latency = map(instance.problem, drawn.options, {Metric::latency});
    BOOST_TEST_REQUIRE(latency.size() == 1u);
    BOOST_TEST(close(latency[0].latency_s, best.latency_s),
               "latency " << latency[0].latency_s << ", brute force " << best.latency_s);
    // The later metric decides between equal ones.
    const double least_latency = oracle::least_later(best.pareto, true);
    const double least_energy = oracle::least_later(best.pareto, false);
    BOOST_TEST(close(energy[0].latency_s, least_latency),
               "latency " << energy[0].latency_s << ", brute force " << least_latency);
    BOOST_TEST(close(latency[0].energy_j, least_energy),
               "energy " << latency[0].energy_j << ", brute force " << least_energy);
    const auto edp = map(instance.problem, drawn.options, {Metric::edp});
    BOOST_TEST_REQUIRE(edp.size() == 1u);
    BOOST_TEST(close(edp[0].edp_js(), best.edp_js),
               "EDP " << edp[0].edp_js() << ", brute force " << best.edp_js);
    const auto front =
        without_ties(map(instance.problem, drawn.options, {Metric::energy, Metric::latency}));
    const auto expected = without_ties(best.pareto);
    BOOST_TEST(same_points(front, expected),
               "Pareto set" << text(front) << ", brute force" << text(expected));
}

void compare_all(const std::string& kind, bool all_orders = false) {
    const auto seeds = read_seeds();
    const auto found = seeds.find(kind);
    BOOST_TEST_REQUIRE((found != seeds.end()));
    for (const std::uint64_t seed : found->second) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            compare(seed, all_orders);
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(there_are_three_hundred_instances_of_every_kind_of_graph) {
    std::size_t n = 0;
    const auto seeds = read_seeds();
    for (const auto& [kind, list] : seeds) {
        n += list.size();
    }
    BOOST_TEST(n >= 300u);
    BOOST_TEST(seeds.size() == 12u);
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_matmuls) {
    compare_all("matmul");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_batched_matmuls) {
    compare_all("batched");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_convolutions) {
    compare_all("conv");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_chains_of_two) {
    compare_all("chain2");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_chains_of_three) {
    compare_all("chain3");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_two_matrix_vector_products) {
    compare_all("vectors2");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_three_matrix_vector_products) {
    compare_all("vectors3");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_a_shared_input) {
    compare_all("shared-input");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_gated_branches) {
    compare_all("gated");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_residuals) {
    compare_all("residual");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_normalisations) {
    compare_all("normalise");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_for_fused_convolutions) {
    compare_all("conv2");
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_over_all_orders_of_a_shared_input) {
    compare_all("shared-input", true);
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_over_all_orders_of_gated_branches) {
    compare_all("gated", true);
}

// The independent checker, under the limits of the mapspace, finds nothing against what FFM
// returns.
BOOST_AUTO_TEST_CASE(returned_mappings_pass_the_legality_checker) {
    const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    for (const auto& [kind, seeds] : read_seeds()) {
        for (const std::uint64_t seed : seeds) {
            const oracle::Instance drawn = oracle::random_instance(seed);
            const oracle::LoadedInstance instance(drawn.yaml);
            mapper::Options options;
            options.mapspace = drawn.options;
            options.threads = 1;
            for (const auto& s : ffm->map(instance.problem, *model, options).solutions) {
                for (const auto& v : mapspace::check(instance.problem, s.mapping, &drawn.options)) {
                    BOOST_TEST((v.severity == mapspace::Severity::warning),
                               kind << " " << seed << ": " << v.code << ": " << v.message);
                }
            }
        }
    }
}
