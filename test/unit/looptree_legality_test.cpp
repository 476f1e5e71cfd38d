// What a mapping must not do, and how full the memories get.
#include <boost/test/unit_test.hpp>

#include "support/evaluate_text.hpp"
#include "support/reference_cases.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using arch::Compat;
using testing::evaluate_text;
using testing::refusal;

namespace {

arch::Architecture two_levels(const std::string& size_bits) {
    return testing::architecture_of(R"(
arch:
  nodes:
  - !Memory
    name: MM
    size: inf
    leak_power: 0
    area: 0
    actions: [{name: read, energy: 10, throughput: inf}, {name: write, energy: 10, throughput: inf}]
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: GLB
    size: )" + size_bits + R"(
    leak_power: 0
    area: 0
    actions: [{name: read, energy: 1, throughput: inf}, {name: write, energy: 1, throughput: inf}]
    tensors: {keep: ~MM, may_keep: All}
  - !Compute
    name: MAC
    spatial: [{name: X, fanout: 4, reuse: Outputs, min_usage: 1}]
    leak_power: 0
    area: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
)");
}

/// T1[m,n1] = T0[m,n0] W0[n0,n1]; T2[m,n2] = T1[m,n1] W1[n1,n2]; 8 bits a value.
workload::Workload chain() {
    return testing::workload_of(R"(
workload:
  rank_sizes: {M: 16, N0: 4, N1: 8, N2: 2}
  bits_per_value: {All: 8}
  einsums:
  - {name: E0, tensor_accesses: [{name: T0, projection: [m, n0]}, {name: W0, projection: [n0, n1]}, {name: T1, projection: [m, n1], output: True}]}
  - {name: E1, tensor_accesses: [{name: T1, projection: [m, n1]}, {name: W1, projection: [n1, n2]}, {name: T2, projection: [m, n2], output: True}]}
)");
}

/// Both Einsums with T1 in GLB under the loops `shared`, and their own loops.
std::string fused(const std::string& shared, const std::string& first, const std::string& second,
                  const std::string& before = "", const std::string& holder_loops = "") {
    return "  - !Storage {tensors: [T0, W0, W1, T2], component: MM}\n" + before + shared +
           "  - !Storage {tensors: [T1], component: GLB}\n" + holder_loops +
           "  - !Sequential\n    nodes:\n    - !Nested\n      nodes:\n" + first +
           "      - !Compute {einsum: E0, component: MAC}\n    - !Nested\n      nodes:\n" + second +
           "      - !Compute {einsum: E1, component: MAC}\n";
}

std::string loop(const std::string& variable, int tile, const char* indent = "  ") {
    return std::string(indent) + "- !Temporal {rank_variable: " + variable +
           ", tile_shape: " + std::to_string(tile) + "}\n";
}

std::string own(const std::string& a, const std::string& b) {
    return loop(a, 1, "      ") + loop(b, 1, "      ");
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(looptree_a_fused_chain_is_legal) {
    BOOST_TEST(refusal(chain(), two_levels("inf"),
                       fused(loop("m", 1), own("n0", "n1"), own("n1", "n2")), Compat::none) == "");
}

BOOST_AUTO_TEST_CASE(looptree_tiles_must_fit_and_divide) {
    const auto check = [](const std::string& loops, const std::string& part) {
        const std::string message =
            refusal(chain(), two_levels("inf"), fused(loops, own("n0", "n1"), own("n1", "n2")),
                    Compat::none);
        BOOST_TEST(contains(message, part), message);
    };
    check(loop("m", 20) + loop("m", 1), "does not fit into the enclosing 16");
    check(loop("m", 4) + loop("m", 8) + loop("m", 1), "does not fit into the enclosing 4");
    check(loop("m", 8) + loop("m", 3) + loop("m", 1), "does not divide the enclosing 8");
    check(loop("m", 5) + loop("m", 1), "");
    BOOST_TEST(refusal(chain(), two_levels("inf"),
                       fused(loop("m", 5) + loop("m", 1), own("n0", "n1"), own("n1", "n2")),
                       Compat::none) == "");
}

BOOST_AUTO_TEST_CASE(looptree_a_variable_inside_a_sum_cannot_have_a_partial_tile) {
    const workload::Workload conv = testing::workload_of(R"(
workload:
  rank_sizes: {H: 8, P: 6, R: 3}
  bits_per_value: {All: 8}
  einsums:
  - {name: Conv, tensor_accesses: [{name: I, projection: {H: p + r}}, {name: F, projection: [r]}, {name: O, projection: [p], output: True}]}
)");
    const std::string message = refusal(conv, two_levels("inf"), R"(
  - !Storage {tensors: [I, F, O], component: MM}
  - !Temporal {rank_variable: p, tile_shape: 4}
  - !Temporal {rank_variable: p, tile_shape: 1}
  - !Temporal {rank_variable: r, tile_shape: 1}
  - !Compute {einsum: Conv, component: MAC}
)",
                                        Compat::none);
    BOOST_TEST(contains(message, "stands in a sum"), message);
}

BOOST_AUTO_TEST_CASE(looptree_unfinished_sums_must_not_be_read) {
    // n0 is E0's reduction; a loop that E1 lacks cannot enclose it, so drive both by one loop.
    const std::string shared =
        "  - !Temporal {rank_variable: {E0: n0, E1: n2}, tile_shape: {E0: 2, E1: 1}}\n";
    const std::string nodes =
        fused(shared, loop("n0", 1, "      ") + own("m", "n1"), own("m", "n1"));
    const std::string message = refusal(chain(), two_levels("inf"), nodes, Compat::none);
    BOOST_TEST(contains(message, "before it is finished"), message);
    BOOST_TEST(contains(message, "'E0' still reduces over it"), message);
}

BOOST_AUTO_TEST_CASE(looptree_a_consumer_must_not_read_beyond_the_finished_tile) {
    // Both run inside the loop over n1, but E1 walks n2 while E0 walks n1.
    const std::string shared =
        "  - !Temporal {rank_variable: {E0: n1, E1: n2}, tile_shape: {E0: 4, E1: 1}}\n";
    const std::string message = refusal(
        chain(), two_levels("inf"),
        fused(shared, loop("n1", 1, "      ") + own("m", "n0"), own("m", "n1")), Compat::none);
    BOOST_TEST(contains(message, "beyond the tile that is finished"), message);
}

BOOST_AUTO_TEST_CASE(looptree_an_intermediate_must_be_held_above_the_split) {
    const std::string nodes = R"(
  - !Storage {tensors: [T0, W0, W1, T2], component: MM}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Storage {tensors: [T1], component: GLB}
)" + own("m", "n0") + loop("n1", 1, "      ") +
                              R"(
      - !Compute {einsum: E0, component: MAC}
    - !Nested
      nodes:
      - !Storage {tensors: [T1], component: GLB}
)" + own("m", "n1") + loop("n2", 1, "      ") +
                              R"(
      - !Compute {einsum: E1, component: MAC}
)";
    BOOST_TEST(contains(refusal(chain(), two_levels("inf"), nodes, Compat::none),
                        "hold it above the split"));
    // The reference takes both holders for one.
    BOOST_TEST(refusal(chain(), two_levels("inf"), nodes, Compat::accelforge) == "");
}

BOOST_AUTO_TEST_CASE(looptree_consumers_run_after_producers) {
    const std::string nodes = R"(
  - !Storage {tensors: [T0, W0, W1, T1, T2], component: MM}
  - !Sequential
    nodes:
    - !Nested
      nodes:
)" + own("m", "n1") + loop("n2", 1, "      ") +
                              R"(
      - !Compute {einsum: E1, component: MAC}
    - !Nested
      nodes:
)" + own("m", "n0") + loop("n1", 1, "      ") +
                              R"(
      - !Compute {einsum: E0, component: MAC}
)";
    const std::string message = refusal(chain(), two_levels("inf"), nodes, Compat::none);
    BOOST_TEST(contains(message, "before 'E0' writes it"), message);
}

BOOST_AUTO_TEST_CASE(looptree_capacity_of_one_einsum_is_checked_to_the_bit) {
    // E1 holds T1: 8 values under m, 64 bits; and W1 (a backing holder is not lowered; W1 is
    // second, so it sinks below n1 and n2 and needs one value, 8 bits).
    const std::string nodes =
        fused(loop("m", 1), own("n0", "n1"),
              "      - !Storage {tensors: [W1], component: GLB}\n" + own("n1", "n2"));
    BOOST_TEST(refusal(chain(), two_levels("72"), nodes, Compat::none) == "");
    const std::string message = refusal(chain(), two_levels("71"), nodes, Compat::none);
    BOOST_TEST(contains(message, "holds 72 bits in memory 'GLB', but its size is 71 bits"),
               message);
}

BOOST_AUTO_TEST_CASE(looptree_joined_capacity_counts_what_lives_outside_shared_loops) {
    // W0 and W1 stay in GLB outside the loop over m, whatever runs.
    const std::string weights = "  - !Storage {tensors: [W0, W1], component: GLB, lower: False}\n";
    const std::string nodes = fused(loop("m", 1), own("n0", "n1"), own("n1", "n2"), weights);
    const double bits = (4 * 8 + 8 * 2 + 8) * 8;
    const model::Report report = evaluate_text(chain(), two_levels("1000"), nodes, Compat::none);
    BOOST_TEST(report.peak_occupancy.at("GLB") == bits / 1000);
    const std::string message = refusal(chain(), two_levels("447"), nodes, Compat::none);
    BOOST_TEST(contains(message, "together hold 448 bits in memory 'GLB'"), message);
}

// Outside the loop over m: W0 200 bits, W1 300. Inside: T0 10 and T1 10 while E0 runs, T1 10 and T2
// 15 while E1 runs. E0's T0 is gone then.
BOOST_AUTO_TEST_CASE(looptree_joined_occupancy_of_two_fused_einsums) {
    const workload::Workload workload = testing::workload_of(R"(
workload:
  rank_sizes: {M: 8, A: 10, K: 10, B: 15}
  bits_per_value: {Other: 1, W0: 2, W1: 2}
  einsums:
  - {name: E0, tensor_accesses: [{name: T0, projection: [m, a]}, {name: W0, projection: [a, k]}, {name: T1, projection: [m, k], output: True}]}
  - {name: E1, tensor_accesses: [{name: T1, projection: [m, k]}, {name: W1, projection: [k, b]}, {name: T2, projection: [m, b], output: True}]}
)");
    const std::string nodes =
        "  - !Storage {tensors: [T0, W0, W1, T2], component: MM}\n"
        "  - !Storage {tensors: [W0, W1], component: GLB, lower: False}\n" +
        loop("m", 1) + "  - !Storage {tensors: [T1], component: GLB}\n" + R"(
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Storage {tensors: [T0], component: GLB, lower: False}
)" + own("a", "k") +
        R"(
      - !Compute {einsum: E0, component: MAC}
    - !Nested
      nodes:
      - !Storage {tensors: [T2], component: GLB, lower: False}
)" + own("k", "b") +
        R"(
      - !Compute {einsum: E1, component: MAC}
)";
    const model::Report report = evaluate_text(workload, two_levels("1000"), nodes, Compat::none);
    BOOST_TEST(report.peak_occupancy.at("GLB") == (200.0 + 300 + 10 + 15) / 1000);
}

BOOST_AUTO_TEST_CASE(looptree_fanout_is_compared_in_integers) {
    const auto nodes = [](int tile) {
        return fused("",
                     "      - !Spatial {rank_variable: n0, tile_shape: " + std::to_string(tile) +
                         ", name: X, component: MAC}\n" + loop("n0", 1, "      ") + own("m", "n1"),
                     "      - !Spatial {rank_variable: n1, tile_shape: 1, name: X, component: "
                     "MAC}\n" +
                         own("m", "n2"));
    };
    const std::string message = refusal(chain(), two_levels("inf"), nodes(1), Compat::none);
    BOOST_TEST(contains(message,
                        "Einsum 'E1' uses 8 spatial instances of 'MAC' dimension 'X', "
                        "but its fan-out is 4"),
               message);
}

BOOST_AUTO_TEST_CASE(looptree_violated_constraints_are_warnings_with_their_line) {
    const std::string nodes =
        fused("",
              "      - !Spatial {rank_variable: m, tile_shape: 8, name: X, component: MAC}\n" +
                  loop("m", 1, "      ") + own("n0", "n1"),
              own("m", "n1") + loop("n2", 1, "      "));
    const model::Report report = evaluate_text(chain(), two_levels("inf"), nodes, Compat::none);
    std::string all;
    for (const std::string& warning : report.warnings) {
        all += warning + "\n";
    }
    BOOST_TEST(contains(all, "must reuse T1, but its loop over 'm' indexes that tensor"), all);
    BOOST_TEST(contains(all, "MAC dimension X is used to 0.5, but min_usage asks for 1"), all);
    BOOST_TEST(contains(all, "arch.yaml:"), all);
}

BOOST_AUTO_TEST_CASE(looptree_a_missing_keep_is_a_warning) {
    const std::string nodes = R"(
  - !Storage {tensors: [W0, W1, T2], component: MM}
  - !Storage {tensors: [T0, T1], component: GLB}
  - !Sequential
    nodes:
    - !Nested
      nodes:
)" + own("m", "n0") + loop("n1", 1, "      ") +
                              R"(
      - !Compute {einsum: E0, component: MAC}
    - !Nested
      nodes:
)" + own("m", "n1") + loop("n2", 1, "      ") +
                              R"(
      - !Compute {einsum: E1, component: MAC}
)";
    const model::Report report = evaluate_text(chain(), two_levels("inf"), nodes, Compat::none);
    BOOST_REQUIRE(!report.warnings.empty());
    BOOST_TEST(contains(report.warnings[0], "MM must keep T0 (keep: ~Intermediates)"),
               report.warnings[0]);
}

// T1 goes through MM, so nothing is exchanged inside the loop over m; but the loop encloses both
// Einsums, and W0 stands outside of it: it stays while E1 runs. The reference lets it go.
BOOST_AUTO_TEST_CASE(looptree_holders_outside_a_loop_of_the_tree_stay_for_all_its_iterations) {
    const std::string nodes =
        "  - !Storage {tensors: [T0, T1, W0, W1, T2], component: MM}\n"
        "  - !Storage {tensors: [W0, W1], component: GLB, lower: False}\n" +
        loop("m", 1) + R"(
  - !Sequential
    nodes:
    - !Nested
      nodes:
)" + own("n0", "n1") +
        R"(
      - !Compute {einsum: E0, component: MAC}
    - !Nested
      nodes:
)" + own("n1", "n2") +
        R"(
      - !Compute {einsum: E1, component: MAC}
)";
    const double w0 = 4 * 8 * 8, w1 = 8 * 2 * 8;
    const auto peak = [&](Compat compat) {
        return evaluate_text(chain(), two_levels("1000"), nodes, compat).peak_occupancy.at("GLB");
    };
    BOOST_TEST(peak(Compat::none) == (w0 + w1) / 1000);
    BOOST_TEST(peak(Compat::accelforge) == w0 / 1000);
}

// A persistent tensor stays for the whole workload and once per instance. The reference frees those
// of an Einsum when only persistent tensors are handed on.
BOOST_AUTO_TEST_CASE(looptree_persistent_tensors_stay) {
    const workload::Workload workload = testing::workload_of(R"(
workload:
  rank_sizes: {M: 16, N0: 4, N1: 8, N2: 2}
  bits_per_value: {All: 8}
  persistent_tensors: W0 | W1 | T1
  n_instances: 3
  einsums:
  - {name: E0, tensor_accesses: [{name: T0, projection: [m, n0]}, {name: W0, projection: [n0, n1]}, {name: T1, projection: [m, n1], output: True}]}
  - {name: E1, tensor_accesses: [{name: T1, projection: [m, n1]}, {name: W1, projection: [n1, n2]}, {name: T2, projection: [m, n2], output: True}]}
)");
    const std::string nodes =
        "  - !Storage {tensors: [W0, W1, T1], component: GLB, persistent: True}\n"
        "  - !Storage {tensors: [T0, T2], component: MM}\n" +
        loop("m", 1) + R"(
  - !Sequential
    nodes:
    - !Nested
      nodes:
)" + own("n0", "n1") +
        R"(
      - !Compute {einsum: E0, component: MAC}
    - !Nested
      nodes:
)" + own("n1", "n2") +
        R"(
      - !Compute {einsum: E1, component: MAC}
)";
    const double w0 = 4 * 8 * 8, w1 = 8 * 2 * 8, t1 = 16 * 8 * 8;
    const auto peak = [&](Compat compat) {
        return evaluate_text(workload, two_levels("10000"), nodes, compat).peak_occupancy.at("GLB");
    };
    BOOST_TEST(peak(Compat::none) == 3 * (w0 + w1 + t1) / 10000);
    BOOST_TEST(peak(Compat::accelforge) == 3 * (w0 + w1 + t1) / 10000);
}
