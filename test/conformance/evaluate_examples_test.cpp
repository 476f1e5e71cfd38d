// The reference tool's own example figures, from files as users write them.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <sstream>

#include "support/evaluate_text.hpp"
#include "support/reference_cases.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using testing::actions;
using testing::architecture_of;
using testing::evaluate_text;

namespace {

constexpr arch::Compat kReference = arch::Compat::accelforge;

arch::Architecture reference_arch(const std::string& name) {
    return arch::load_architecture(testing::accelforge_folder() + "arch/" + name + ".yaml", {});
}

workload::Workload matmuls(const std::string& m, const std::string& kn) {
    return workload::load_workload("matmuls", {{"M", m}, {"KN", kn}});
}

/// The architecture `simple` with additions to its main memory.
arch::Architecture simple(const std::string& main_memory_fields) {
    return architecture_of(R"(
arch:
  nodes:
  - !Memory
    name: MainMemory
    size: inf
    leak_power: 0
    area: 0
)" + main_memory_fields + R"(
    actions:
    - {name: read, energy: 1, throughput: inf}
    - {name: write, energy: 1, throughput: inf}
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: GlobalBuffer
    size: inf
    leak_power: 0
    area: 0
    actions:
    - {name: read, energy: 1, throughput: inf}
    - {name: write, energy: 1, throughput: inf}
    tensors: {keep: ~MainMemory, may_keep: All}
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions:
    - {name: compute, energy: 1, throughput: 1}
)");
}

const char* kUnfused = R"(
  - !Storage {tensors: [T0, W0, T1], component: MainMemory}
  - !Storage {tensors: [T0, W0, T1], component: GlobalBuffer}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Temporal {rank_variable: n0, tile_shape: 1}
  - !Temporal {rank_variable: n1, tile_shape: 1}
  - !Compute {einsum: Matmul0, component: MAC}
)";

void check_main_memory(const std::string& fields, double t0, double t1, double w0) {
    const model::Report report =
        evaluate_text(matmuls("64", "32"), simple(fields), kUnfused, kReference);
    BOOST_TEST(testing::energy_j(report, "Matmul0", "MainMemory", "T0") == t0);
    BOOST_TEST(testing::energy_j(report, "Matmul0", "MainMemory", "T1") == t1);
    BOOST_TEST(testing::energy_j(report, "Matmul0", "MainMemory", "W0") == w0);
}

const char* kThroughToll = R"(
  - !Storage {tensors: [T0, W0, T1], component: main_memory}
  - !Toll {tensors: [T0, W0, T1], component: Toll}
  - !Storage {tensors: [T0, W0, T1], component: LocalBuffer}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Temporal {rank_variable: n0, tile_shape: 1}
  - !Temporal {rank_variable: n1, tile_shape: 1}
  - !Compute {einsum: Matmul0, component: mac}
)";

workload::Workload wide_matmul() {
    return testing::workload_of(R"(
workload:
  rank_sizes: {M: 128, N0: 64, N1: 128}
  bits_per_value: {All: 8}
  einsums:
  - {name: Matmul0, tensor_accesses: [{name: T0, projection: [m, n0]}, {name: W0, projection: [n0, n1]}, {name: T1, projection: [m, n1], output: True}]}
)");
}

double toll_energy(const std::string& component_fields, const std::string& action_fields) {
    const arch::Architecture architecture = architecture_of(R"(
arch:
  nodes:
  - !Memory
    {name: main_memory, size: 1000000000, leak_power: 0, area: 0, tensors: {keep: All}, actions: [{name: read, energy: 0, throughput: inf}, {name: write, energy: 0, throughput: inf}]}
  - !Toll
    name: Toll
    leak_power: 0
    area: 0
    direction: up_and_down
)" + component_fields + R"(
    actions:
    - {name: read, energy: 100, throughput: inf)" + action_fields +
                                                            R"(}
    tensors: {keep: All}
  - !Memory
    {name: LocalBuffer, size: 1000000000, leak_power: 0, area: 0, tensors: {keep: All}, actions: [{name: read, energy: 0, throughput: inf}, {name: write, energy: 0, throughput: inf}]}
  - !Compute
    {name: mac, leak_power: 0, area: 0, actions: [{name: compute, energy: 0, throughput: inf}]}
)");
    return evaluate_text(wide_matmul(), architecture, kThroughToll, kReference).energy_j();
}

}  // namespace

BOOST_AUTO_TEST_CASE(looptree_example_main_memory_energies) {
    check_main_memory("", 16384, 16384, 8192);
    check_main_memory("    bits_per_value: {T0: 4}", 8192, 16384, 8192);
    check_main_memory("    bits_per_value: {All: 16}", 32768, 32768, 16384);
    check_main_memory("    skip_initial_output_write: False", 16384, 32768, 8192);
}

BOOST_AUTO_TEST_CASE(looptree_example_buffer_counts_and_occupancy) {
    const model::Report report =
        evaluate_text(matmuls("64", "32"), simple(""), kUnfused, kReference);
    BOOST_TEST(actions(report, "Matmul0", "GlobalBuffer", "T1", "read") == 524288);
    BOOST_TEST(actions(report, "Matmul0", "GlobalBuffer", "T1", "write") == 524288);
    BOOST_TEST(actions(report, "Matmul0", "GlobalBuffer", "W0", "read") == 524288);
    BOOST_TEST(actions(report, "Matmul0", "GlobalBuffer", "W0", "write") == 8192);
    BOOST_TEST(actions(report, "Matmul0", "MAC", "", "compute") == 65536);
}

BOOST_AUTO_TEST_CASE(looptree_example_missing_unit_loop_is_refused) {
    const std::string message = testing::refusal(matmuls("64", "32"), simple(""), R"(
  - !Storage {tensors: [T0, W0, T1], component: MainMemory}
  - !Temporal {rank_variable: n0, tile_shape: 1}
  - !Temporal {rank_variable: n1, tile_shape: 1}
  - !Compute {einsum: Matmul0, component: MAC}
)",
                                                 kReference);
    BOOST_TEST(message.find("lacks a loop over 'm'") != std::string::npos, message);
}

BOOST_AUTO_TEST_CASE(looptree_example_toll_energy) {
    BOOST_TEST(toll_energy("", "") == 100.0 * (128 * 64 * 2 + 128 * 128) * 8);
}

BOOST_AUTO_TEST_CASE(looptree_example_values_per_action_precedence) {
    const double values = 100.0 * 32768;
    BOOST_TEST(toll_energy("    values_per_action: {All: 5}", ", values_per_action: {All: 2}") ==
               values / 2);
    BOOST_TEST(toll_energy("    values_per_action: {All: 5}", "") == values / 5,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(toll_energy("    bits_per_value: {All: 4}\n    bits_per_action: 32",
                           ", bits_per_action: 8") == values / 2);
    BOOST_TEST(toll_energy("    bits_per_value: {All: 4}\n    bits_per_action: 16", "") ==
               values / 4);
    BOOST_TEST(toll_energy("", "") == values / 0.125);
}

BOOST_AUTO_TEST_CASE(looptree_example_mesh_in_one_dimension) {
    const model::Report report =
        evaluate_text(matmuls("8", "8"), reference_arch("net_hierarchical_1d"), R"(
  - !Storage {tensors: [T0, W0, T1], component: MainMemory}
  - !Storage {tensors: [T0, W0, T1], component: GlobalBuffer}
  - !Temporal {rank_variable: m, tile_shape: 4}
  - !Spatial {rank_variable: n0, tile_shape: 2, name: X, component: Scratchpad}
  - !Storage {tensors: [T0, W0, T1], component: Scratchpad}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Temporal {rank_variable: n1, tile_shape: 1}
  - !Spatial {rank_variable: n0, tile_shape: 1, name: X, component: MAC}
  - !Compute {einsum: Matmul0, component: MAC}
)",
                      kReference);
    for (const char* tensor : {"T0", "T1", "W0"}) {
        BOOST_TEST(actions(report, "Matmul0", "MacArray", tensor, "hop") == 2048);
    }
    BOOST_TEST(actions(report, "Matmul0", "PeArray", "T0", "hop") == 768);
    BOOST_TEST(actions(report, "Matmul0", "PeArray", "T1", "hop") == 1536);
    BOOST_TEST(actions(report, "Matmul0", "PeArray", "W0", "hop") == 1536);
    BOOST_TEST(report.latency_s() == 4);
}

BOOST_AUTO_TEST_CASE(looptree_example_distributed_buffers) {
    const model::Report report = evaluate_text(matmuls("8", "8"), reference_arch("net_flat"), R"(
  - !Storage {tensors: [T0, W0, T1], component: MainMemory}
  - !Storage {tensors: [W0], component: DistributedBuffer}
  - !Temporal {rank_variable: m, tile_shape: 4}
  - !Storage {tensors: [T0], component: RowBuffer}
  - !Storage {tensors: [T1], component: ColumnBuffer}
  - !Spatial {rank_variable: n0, tile_shape: 2, name: X, component: Array}
  - !Spatial {rank_variable: n1, tile_shape: 2, name: Y, component: Array}
  - !Storage {tensors: [T0, W0, T1], component: Scratchpad}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Temporal {rank_variable: n0, tile_shape: 1}
  - !Temporal {rank_variable: n1, tile_shape: 1}
  - !Compute {einsum: Matmul0, component: MAC}
)",
                                               kReference);
    BOOST_TEST(actions(report, "Matmul0", "NoC", "T0", "hop") == 1536);
    BOOST_TEST(actions(report, "Matmul0", "NoC", "T1", "hop") == 1536);
    BOOST_TEST(actions(report, "Matmul0", "NoC", "W0", "hop") == 1024);
    BOOST_TEST(actions(report, "Matmul0", "RowBuffer", "T0", "read") == 512);
    BOOST_TEST(testing::latency_s(report, "Matmul0", "RowBuffer") == 128);
    BOOST_TEST(testing::latency_s(report, "Matmul0", "DistributedBuffer") == 384);
}
