// What the reference mapper cannot map, or does not map to the optimum, in the preset `full`: its
// refused features on small problems, its known misses, and the layers it stops at.
#include <boost/test/unit_test.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "oracle/oracle_instance.hpp"
#include "support/paths.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using mapper::Metric;

namespace {

mapper::Result map(const model::Problem& problem, Metric metric) {
    const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    mapper::Options options;
    options.metrics = {metric};
    options.threads = 2;
    mapper::Result result = ffm->map(problem, *model, options);
    for (const mapper::Solution& s : result.solutions) {
        for (const auto& v : mapspace::check(problem, s.mapping, &options.mapspace)) {
            BOOST_TEST((v.severity == mapspace::Severity::warning), v.message);
        }
    }
    return result;
}

mapper::Result map_text(const std::string& text, Metric metric) {
    const oracle::LoadedInstance instance(text);
    const model::Problem problem{&instance.workload, instance.architecture.get(),
                                 arch::Compat::none};
    return map(problem, metric);
}

const std::string main_and_buffer =
    "arch:\n  nodes:\n"
    "  - !Memory\n    name: Main\n    size: inf\n    leak_power: 0\n    area: 0\n    actions:\n"
    "    - {name: read, energy: 50, throughput: 4}\n"
    "    - {name: write, energy: 50, throughput: 4}\n"
    "    tensors: {keep: ~Intermediates, may_keep: All}\n";

const std::string mac =
    "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n    actions:\n"
    "    - {name: compute, energy: 1, throughput: 1}\n";

const std::string two_matmuls =
    "workload:\n  iteration_space_shape:\n    m: 0 <= m < 4\n    k: 0 <= k < 4\n"
    "    n: 0 <= n < 4\n    o: 0 <= o < 4\n  bits_per_value: {All: 1}\n  einsums:\n"
    "  - name: First\n    tensor_accesses:\n    - {name: A, projection: [m, k]}\n"
    "    - {name: V, projection: [k, n]}\n    - {name: T, projection: [m, n], output: True}\n"
    "  - name: Second\n    tensor_accesses:\n    - {name: T, projection: [m, n]}\n"
    "    - {name: W, projection: [n, o]}\n    - {name: Z, projection: [m, o], output: True}\n";

/// An array of 2 x 2 with a memory whose parts lie in its columns, and a network if asked for.
std::string array(const std::string& shared_tensors, const std::string& network) {
    return "  - !Array\n    name: Grid\n    spatial: [{name: X, fanout: 2}, {name: Y, fanout: 2}]\n"
           "    nodes:\n"
           "    - !Memory\n      name: Pool\n      size: 64\n      leak_power: 0\n      area: 0\n"
           "      spatial: [{name: X, fanout: 2}]\n      actions:\n"
           "      - {name: read, energy: 2, throughput: 8}\n"
           "      - {name: write, energy: 2, throughput: 8}\n      tensors: " +
           shared_tensors + "\n" + network;
}

std::string buffer(const std::string& tensors) {
    return "  - !Memory\n    name: Buffer\n    size: 200\n    leak_power: 0\n    area: 0\n"
           "    actions:\n    - {name: read, energy: 4, throughput: 8}\n"
           "    - {name: write, energy: 4, throughput: 8}\n    tensors: " +
           tensors + "\n";
}

bool has_loop_over(const mapping::TreeNode& node, const std::string& component,
                   const std::string& variable) {
    bool found = node.kind == mapping::TreeKind::spatial && node.component == component &&
                 std::find(node.rank_variables.begin(), node.rank_variables.end(), variable) !=
                     node.rank_variables.end();
    for (const auto& child : node.children) {
        found = found || has_loop_over(child, component, variable);
    }
    return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(beyond_reference)

BOOST_AUTO_TEST_CASE(fused_einsums_use_a_distributed_memory) {
    const auto r = map_text(main_and_buffer + buffer("{keep: ~Main.tensors, may_keep: All}") +
                                array("{keep: Inputs - Intermediates}", "") + mac + two_matmuls,
                            Metric::edp);
    BOOST_TEST((r.status == mapper::Status::optimal));
    BOOST_TEST_REQUIRE(r.solutions.size() == 1u);
    const auto& root = r.solutions[0].mapping.root;
    BOOST_TEST((has_loop_over(root, "Grid", "m") || has_loop_over(root, "Grid", "n") ||
                has_loop_over(root, "Grid", "k") || has_loop_over(root, "Grid", "o")));
}

BOOST_AUTO_TEST_CASE(einsums_exchange_a_tensor_through_a_distributed_memory) {
    const auto r = map_text(
        main_and_buffer + array("{keep: ~Main.tensors, may_keep: All}", "") + mac + two_matmuls,
        Metric::energy);
    BOOST_TEST((r.status == mapper::Status::optimal));
    BOOST_TEST_REQUIRE(r.solutions.size() == 1u);
}

// The only way to use both columns is a loop that does not index what the memory holds.
BOOST_AUTO_TEST_CASE(a_loop_that_does_not_index_the_tensor_runs_below_a_distributed_memory) {
    const std::string einsum =
        "workload:\n  iteration_space_shape:\n    m: 0 <= m < 4\n    n: 0 <= n < 3\n"
        "  bits_per_value: {All: 1}\n  einsums:\n  - name: Outer\n    tensor_accesses:\n"
        "    - {name: A, projection: [n]}\n    - {name: B, projection: [m]}\n"
        "    - {name: C, projection: [m, n], output: True}\n";
    const auto r =
        map_text(main_and_buffer + array("{keep: A}", "") + mac + einsum, Metric::latency);
    BOOST_TEST((r.status == mapper::Status::optimal));
    BOOST_TEST_REQUIRE(r.solutions.size() == 1u);
    BOOST_TEST(has_loop_over(r.solutions[0].mapping.root, "Grid", "m"));
}

BOOST_AUTO_TEST_CASE(networks_carry_tiles_with_a_halo) {
    const std::string convolution =
        "workload:\n  iteration_space_shape:\n    p: 0 <= p < 4\n    r: 0 <= r < 3\n"
        "  bits_per_value: {All: 1}\n  einsums:\n  - name: Conv\n    tensor_accesses:\n"
        "    - {name: I, projection: {H: p + r}}\n    - {name: W, projection: {R: r}}\n"
        "    - {name: O, projection: {P: p}, output: True}\n";
    const std::string network =
        "    - !Network\n      name: NoC\n      leak_power: 0\n      area: 0\n      actions:\n"
        "      - {name: hop, energy: 1, throughput: 4}\n";
    const auto r = map_text(
        main_and_buffer + buffer("{keep: All}") +
            "  - !Array\n    name: Grid\n    spatial: [{name: X, fanout: 4, min_usage: 1}]\n"
            "    nodes:\n" +
            network + mac + convolution,
        Metric::energy);
    BOOST_TEST((r.status == mapper::Status::optimal));
    BOOST_TEST_REQUIRE(r.solutions.size() == 1u);
    BOOST_TEST(has_loop_over(r.solutions[0].mapping.root, "Grid", "p"));
}

// A spatial loop over p or r alone leaves the other one with a single trip: it then spreads
// nothing, and neither its hops nor its traffic count.
BOOST_AUTO_TEST_CASE(routes_count_only_the_loops_that_a_mapping_has) {
    const std::string convolution =
        "workload:\n  iteration_space_shape:\n    p: 0 <= p < 4\n    r: 0 <= r < 3\n"
        "  bits_per_value: {All: 1}\n  einsums:\n  - name: Conv\n    tensor_accesses:\n"
        "    - {name: I, projection: {H: p + r}}\n    - {name: W, projection: {R: r}}\n"
        "    - {name: O, projection: {P: p}, output: True}\n";
    for (const std::string topology : {"mesh", "all_to_all"}) {
        const std::string network =
            "    - !Network\n      name: NoC\n      topology: " + topology +
            "\n      leak_power: 0\n      area: 0\n"
            "      total_latency: max_hops / 4 + max_link_traffic / 4\n      actions:\n"
            "      - {name: hop, energy: 1, throughput: 4}\n";
        for (const arch::Compat compat : {arch::Compat::none, arch::Compat::accelforge}) {
            const bool reference = compat == arch::Compat::accelforge;
            // The reference has no network below a loop inside a sum.
            const std::string einsum =
                reference ? std::string(convolution).replace(convolution.find("p + r"), 5, "p")
                          : convolution;
            const oracle::LoadedInstance instance(
                main_and_buffer + buffer("{keep: All}") +
                "  - !Array\n    name: Grid\n    spatial: [{name: X, fanout: 4}]\n    nodes:\n" +
                network + mac + einsum);
            const auto r =
                map({&instance.workload, instance.architecture.get(), compat}, Metric::latency);
            BOOST_TEST((r.status == mapper::Status::optimal));
            BOOST_TEST_REQUIRE(r.solutions.size() == 1u);
        }
    }
}

BOOST_AUTO_TEST_CASE(mamba_maps_on_a_tpu) {
    const workload::Workload mamba = workload::load_workload("mamba", {{"BATCH", "16"}});
    const arch::Architecture tpu = arch::load_architecture("tpu-v4i", {});
    const auto r = map({&mamba, &tpu, arch::Compat::none}, Metric::edp);
    BOOST_TEST((r.status == mapper::Status::optimal));
    BOOST_TEST(r.solutions.size() == 1u);
}

// Targets: the better mappings of test/reference/accelforge-optimality, as the reference costs
// them.
BOOST_AUTO_TEST_CASE(the_references_misses_are_solved) {
    const std::string folder = test::test_folder() + "/reference/accelforge-optimality/";
    const std::vector<std::tuple<const char*, Metric, double>> targets{
        {"conv-two-level", Metric::energy, 22710988.790625},
        {"matmul-pinned-order", Metric::energy, 6892380},
        {"batched-matmul-full-array", Metric::energy, 35091136},
        {"residual-no-mapping", Metric::edp, 7355034.208022003},
        {"two-branches-order", Metric::edp, 107445657.23144531},
    };
    for (const auto& [name, metric, target] : targets) {
        const std::string spec = folder + name + "/spec.yaml";
        const workload::Workload workload = workload::load_workload(spec, {});
        const arch::Architecture architecture = arch::load_architecture(spec, {});
        const auto r = map({&workload, &architecture, arch::Compat::none}, metric);
        BOOST_TEST((r.status == mapper::Status::optimal), name);
        BOOST_TEST_REQUIRE(r.solutions.size() == 1u, name);
        const model::Report& best = r.solutions[0].report;
        const double ours = metric == Metric::energy ? best.energy_j() : best.edp_js();
        BOOST_TEST(ours <= target * (1 + 1e-6), name << ": " << ours << " > " << target);
    }
}

BOOST_AUTO_TEST_SUITE_END()
