// Action counts of single Einsums against closed forms.
#include <boost/test/unit_test.hpp>

#include "model/analysis/einsum_analysis.hpp"
#include "support/hand_path.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using model::EinsumAnalysis;
using testing::HandPath;

namespace {

struct Counts {
    double reads = 0, writes = 0;
};

Counts counts(const EinsumAnalysis& analysis, const std::string& level, const std::string& tensor) {
    for (const auto& holder : analysis.analysis.holders) {
        if (analysis.tables.path().levels[holder.level].name == level &&
            analysis.einsum().tensors[holder.tensor].name == tensor) {
            return {holder.reads, holder.writes};
        }
    }
    BOOST_FAIL(level + " does not hold " + tensor);
    return {};
}

double bits(const EinsumAnalysis& analysis, const std::string& level) {
    double total = 0;
    for (const auto& holder : analysis.analysis.holders) {
        if (analysis.tables.path().levels[holder.level].name == level) {
            total += holder.bits;
        }
    }
    return total;
}

void check(const EinsumAnalysis& analysis, const std::string& level, const std::string& tensor,
           double reads, double writes) {
    const Counts found = counts(analysis, level, tensor);
    BOOST_TEST(found.reads == reads, level << " " << tensor << " reads " << found.reads);
    BOOST_TEST(found.writes == writes, level << " " << tensor << " writes " << found.writes);
}

/// Z[m,n] += A[m,k] W[k,n] on DRAM, GLB, an array of kt x nt registers, MACs.
struct Array {
    explicit Array(double m = 8, double k = 16, double n = 32, double width = 8)
        : workload(testing::hand_workload({{"m", static_cast<std::int64_t>(m)},
                                           {"k", static_cast<std::int64_t>(k)},
                                           {"n", static_cast<std::int64_t>(n)}},
                                          {{"Z: m, n", "A: m, k", "W: k, n"}}, width)),
          hand(workload, 0) {
        hand.memory("DRAM", 1);
        hand.memory("GLB", 0.5);
        arch::PathLevel& reg = hand.memory("Reg", 0.25);
        HandPath::fanout(reg, "X", 4);
        HandPath::fanout(reg, "Y", 8);
        hand.compute("MAC", 1, 1);
    }
    EinsumAnalysis analyse(const std::string& nest) {
        nodes = hand.nest(nest);
        return EinsumAnalysis(hand.path, nodes, arch::Compat::none);
    }
    workload::Workload workload;
    HandPath hand;
    mapping::Pmapping nodes;
};

const char* kTiled =
    "H DRAM A, W, Z; T m 4; T n 8; T k 4; H GLB A, W, Z; S Reg.X k 1; "
    "S Reg.Y n 1; H Reg W; T m 1; C";

}  // namespace

BOOST_AUTO_TEST_CASE(looptree_counts_of_a_tiled_matmul_follow_the_closed_form) {
    Array array;
    const EinsumAnalysis a = array.analyse(kTiled);
    const double M = 8, K = 16, N = 32, mt = 4, kt = 4, nt = 8, b = 8;
    check(a, "DRAM", "A", M * K * (N / nt) * b, 0);
    check(a, "GLB", "A", M * K * (N / nt) * b, M * K * (N / nt) * b);
    check(a, "DRAM", "W", K * N * (M / mt) * b, 0);
    check(a, "GLB", "W", K * N * (M / mt) * b, K * N * (M / mt) * b);
    check(a, "Reg", "W", M * K * N * b, K * N * (M / mt) * b);
    check(a, "GLB", "Z", (M * N * K / kt - M * N + M * N * K / kt) * b,
          (M * N * K / kt + M * N * (K / kt - 1)) * b);
    check(a, "DRAM", "Z", M * N * (K / kt - 1) * b, M * N * (K / kt) * b);
    BOOST_TEST(a.analysis.operations == M * K * N);
    BOOST_TEST(a.analysis.steps == M * N * K / (kt * nt));
    BOOST_TEST(bits(a, "GLB") == (mt * kt + kt * nt + mt * nt) * b);
    BOOST_TEST(bits(a, "Reg") == b);
}

BOOST_AUTO_TEST_CASE(looptree_an_outer_reduction_loop_inside_the_holder_needs_no_partial_sums) {
    Array array;
    const EinsumAnalysis a = array.analyse(
        "H DRAM A, W, Z; T m 4; T n 8; H GLB A, W, Z; T k 4; S Reg.X k 1; "
        "S Reg.Y n 1; H Reg W; T m 1; C");
    check(a, "DRAM", "Z", 0, 8 * 32 * 8);
}

BOOST_AUTO_TEST_CASE(looptree_uneven_holders_keep_a_tile_over_inner_loops) {
    Array array;
    const EinsumAnalysis a = array.analyse(
        "H DRAM A, W, Z; T m 4; T k 4; H GLB A; T n 8; H GLB W, Z; S Reg.X k 1; "
        "S Reg.Y n 1; H Reg W; T m 1; C");
    check(a, "DRAM", "A", 8 * 16 * 8, 0);
    check(a, "GLB", "A", 8 * 16 * 4 * 8, 8 * 16 * 8);
}

BOOST_AUTO_TEST_CASE(looptree_without_spatial_reuse_every_instance_gets_its_own_transfer) {
    Array array;
    array.hand.path.levels[2].spatial[1].may_reuse = 0;
    const EinsumAnalysis a = array.analyse(kTiled);
    check(a, "GLB", "A", 8 * 16 * 4 * 8 * 8, 8 * 16 * 4 * 8);
}

BOOST_AUTO_TEST_CASE(looptree_first_reads_are_charged_where_they_are_not_skipped) {
    Array array;
    array.hand.path.levels[0].skip_initial_output_write = false;
    const EinsumAnalysis a = array.analyse(
        "H DRAM A, W, Z; T m 4; T n 8; H GLB A, W, Z; T k 4; S Reg.X k 1; "
        "S Reg.Y n 1; H Reg W; T m 1; C");
    check(a, "DRAM", "Z", 8 * 32 * 8, 8 * 32 * 8);
}

// A 64^3 matmul on an array of 4 x 4 output scratchpads: the accumulation traffic step by step.
BOOST_AUTO_TEST_CASE(looptree_partial_sums_of_a_fused_output_follow_the_recursion) {
    const workload::Workload workload = testing::hand_workload(
        {{"m", 64}, {"n0", 64}, {"n1", 64}}, {{"T1: m, n1", "T0: m, n0", "W0: n0, n1"}}, 8);
    HandPath hand(workload, 0);
    hand.memory("MM", 1);
    arch::PathLevel& glb = hand.memory("GLB", 1);
    for (arch::PathAction& action : glb.actions) {
        action.values_per_action.assign(3, 8);  // 64 bits per action
    }
    arch::PathLevel pe;
    pe.kind = arch::LevelKind::container;
    pe.name = "PE";
    pe.has_latency = false;
    pe.bits_per_value.assign(3, 8);
    HandPath::fanout(pe, "W", 14);
    HandPath::fanout(pe, "O", 12);
    hand.path.levels.push_back(pe);
    hand.memory("IS", 1);
    hand.memory("WS", 1);
    hand.memory("OS", 1, 9.846153846e9);
    hand.compute("MAC", 1, 200e6);
    const mapping::Pmapping nodes = hand.nest(
        "H MM T0, W0; H GLB T1, W0; T m 32; T n0 32; S PE.W m 4; S PE.O n0 4; H IS T0; H WS W0; "
        "T n1 8; H OS T1; T m 1; T n0 1; T n1 1; C");
    const EinsumAnalysis a(hand.path, nodes, arch::Compat::none);
    check(a, "OS", "T1", 2359296, 2359296);
    check(a, "GLB", "T1", 512, 1024);
    check(a, "GLB", "W0", 1024, 512);
    check(a, "IS", "T0", 2097152, 32768);
    check(a, "WS", "W0", 2097152, 524288);
    BOOST_TEST(a.analysis.steps == 4096);
    BOOST_TEST(a.costs.level_latency_s[5] == 73728 / 9.846153846e9,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(a.costs.level_latency_s[6] == 2.048e-5, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(looptree_a_holder_that_is_not_backing_is_charged_below_relevant_loops) {
    const workload::Workload workload = testing::hand_workload(
        {{"m", 64}, {"n0", 32}, {"n1", 32}}, {{"T1: m, n1", "T0: m, n0", "W0: n0, n1"}}, 8);
    HandPath hand(workload, 0);
    hand.memory("MM", 1);
    hand.memory("GLB", 1);
    hand.compute("MAC", 1, 1);
    mapping::Pmapping nodes =
        hand.nest("H MM T0, W0, T1; H GLB T0, W0, T1; T m 1; T n0 1; T n1 1; C");
    const EinsumAnalysis a(hand.path, nodes, arch::Compat::none);
    // T1 stands last: its reservation sinks below m and stops above n0.
    for (const auto& holder : a.analysis.holders) {
        if (holder.level == 1 && a.einsum().tensors[holder.tensor].name == "T1") {
            BOOST_TEST(holder.bits == 256);
        }
    }
    check(a, "GLB", "T1", 524288, 524288);
    check(a, "GLB", "W0", 524288, 8192);
    BOOST_TEST(a.analysis.steps == 65536);
    for (mapping::PmappingNode& node : nodes) {
        node.lower = false;
    }
    const EinsumAnalysis flat(hand.path, nodes, arch::Compat::none);
    BOOST_TEST(bits(flat, "GLB") == (64 * 32 + 32 * 32 + 64 * 32) * 8);
}

BOOST_AUTO_TEST_CASE(looptree_convolution_tiles_carry_their_halo) {
    const workload::Workload workload = testing::hand_workload(
        {{"p", 28}, {"r", 3}, {"c", 4}}, {{"O: p", "I: p + r, c", "F: r, c"}}, 8);
    HandPath hand(workload, 0);
    hand.memory("MM", 1);
    hand.memory("GLB", 1);
    hand.compute("MAC", 1, 1);
    const mapping::Pmapping nodes =
        hand.nest("H MM O, I, F; T p 4; H GLB I; T r 1; T c 1; T p 1; C");
    const EinsumAnalysis a(hand.path, nodes, arch::Compat::none);
    check(a, "GLB", "I", 28.0 * 3 * 4 * 8, 7.0 * 6 * 4 * 8);
}
