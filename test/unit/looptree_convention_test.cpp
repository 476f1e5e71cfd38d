// Closed forms wherever the default convention differs from the reference (docs/model.md).
#include <boost/test/unit_test.hpp>

#include "model/analysis/einsum_analysis.hpp"
#include "support/hand_path.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using arch::Compat;
using model::EinsumAnalysis;
using testing::HandPath;

namespace {

workload::Workload vector_scale(std::int64_t n) {
    return testing::hand_workload({{"n", n}}, {{"Z: n", "A: n"}}, 8);
}

/// Memory, array of `fanout` processing elements, compute at one operation a second.
HandPath row(const workload::Workload& workload, std::int64_t fanout) {
    HandPath hand(workload, 0);
    hand.memory("MM", 0);
    HandPath::fanout(hand.compute("MAC", 1, 1), "X", fanout);
    return hand;
}

}  // namespace

BOOST_AUTO_TEST_CASE(looptree_partial_temporal_tiles_take_a_whole_iteration) {
    const workload::Workload workload =
        testing::hand_workload({{"m", 7}, {"n", 4}}, {{"Z: m, n", "A: m, n"}}, 8);
    const HandPath hand = row(workload, 4);
    // 7 rows in tiles of 4: two iterations of 4 steps, each running 4 columns at once.
    const mapping::Pmapping nodes = hand.nest("H MM A, Z; T m 4; T m 1; S MAC.X n 1; C");
    const EinsumAnalysis ours(hand.path, nodes, Compat::none);
    const EinsumAnalysis theirs(hand.path, nodes, Compat::accelforge);
    BOOST_TEST(ours.analysis.steps == 8);
    BOOST_TEST(theirs.analysis.steps == 7);
    BOOST_TEST(ours.costs.latency_s == 8);
    BOOST_TEST(ours.analysis.operations == 28);
    BOOST_TEST(theirs.analysis.operations == 28);
}

BOOST_AUTO_TEST_CASE(looptree_partial_spatial_tiles_use_a_whole_instance) {
    const workload::Workload workload = vector_scale(7);
    const HandPath hand = row(workload, 4);
    const mapping::Pmapping nodes = hand.nest("H MM A, Z; S MAC.X n 2; T n 1; C");
    const EinsumAnalysis ours(hand.path, nodes, Compat::none);
    const EinsumAnalysis theirs(hand.path, nodes, Compat::accelforge);
    BOOST_TEST(ours.analysis.used[0] == 4);
    BOOST_TEST(theirs.analysis.used[0] == 3.5);
    BOOST_TEST(ours.analysis.steps == 2);
    BOOST_TEST(ours.analysis.operations == 7);
}

BOOST_AUTO_TEST_CASE(looptree_partial_tiles_move_the_average_where_relevant_and_repeat_where_not) {
    const workload::Workload workload =
        testing::hand_workload({{"m", 7}, {"n", 4}}, {{"Z: m, n", "A: m", "B: n"}}, 8);
    HandPath hand(workload, 0);
    hand.memory("MM", 1);
    hand.memory("GLB", 1);
    hand.compute("MAC", 1, 1);
    const mapping::Pmapping nodes = hand.nest("H MM A, B, Z; T m 4; H GLB A, B; T n 1; T m 1; C");
    for (const Compat compat : {Compat::none, Compat::accelforge}) {
        const EinsumAnalysis a(hand.path, nodes, compat);
        for (const auto& holder : a.analysis.holders) {
            if (holder.level == 0 && a.einsum().tensors[holder.tensor].name == "A") {
                BOOST_TEST(holder.reads == 7 * 8);  // 7/4 tiles of 4
            }
            if (holder.level == 0 && a.einsum().tensors[holder.tensor].name == "B") {
                BOOST_TEST(holder.reads == 2 * 4 * 8);  // ceil(7/4) times the whole tensor
            }
        }
    }
}

// n values on 128 registers of so many words, in turns of what all hold: the first register is full
// whenever any is in use.
BOOST_AUTO_TEST_CASE(looptree_the_busiest_instance_has_whole_words) {
    struct Case {
        std::int64_t n, words;
        double busiest;
    };
    for (const Case& c : {Case{129, 1, 2}, Case{128, 1, 1}, Case{257, 1, 3}, Case{513, 4, 5},
                          Case{519, 4, 8}, Case{130, 2, 2}}) {
        const workload::Workload workload =
            testing::hand_workload({{"n", c.n}}, {{"Z: n", "A: n", "W: n"}}, 1);
        HandPath hand(workload, 0);
        hand.memory("MM", 1);
        HandPath::fanout(hand.memory("Reg", 1), "X", 128);
        hand.compute("MAC", 1, 1);
        const std::string words = std::to_string(c.words);
        const mapping::Pmapping nodes =
            hand.nest("H MM A, W, Z; T n " + std::to_string(128 * c.words) + "; S Reg.X n " +
                      words + "; H Reg W; T n 1; C");
        const EinsumAnalysis ours(hand.path, nodes, Compat::none);
        for (const auto& holder : ours.analysis.holders) {
            if (holder.level == 1) {
                BOOST_TEST(holder.unit_writes == c.busiest, c.n << " by " << c.words);
                BOOST_TEST(holder.writes == static_cast<double>(c.n));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(looptree_power_gating_leaves_the_used_share_on) {
    const workload::Workload workload = vector_scale(3);
    HandPath hand = row(workload, 4);
    hand.path.levels[1].spatial[0].power_gateable = true;
    hand.path.leaks.push_back({"MAC", 2.0, {{1, 0, 4.0}}, false});
    hand.path.leaks.push_back({"MM", 1.0, {}, false});
    hand.path.leaks.push_back({"Elsewhere", 100.0, {{-1, 0, 2.0}}, false});
    hand.path.leaks.push_back({"Branch", 100.0, {}, true});
    const mapping::Pmapping nodes = hand.nest("H MM A, Z; S MAC.X n 1; C");
    const EinsumAnalysis ours(hand.path, nodes, Compat::none);
    const EinsumAnalysis theirs(hand.path, nodes, Compat::accelforge);
    BOOST_TEST(ours.costs.latency_s == 1);
    BOOST_TEST(ours.costs.leak_energy_j == 2.0 * 3 / 4 + 1.0);
    BOOST_TEST(theirs.costs.leak_energy_j == 2.0 * 3 / 4 / 4 + 1.0);
}

BOOST_AUTO_TEST_CASE(looptree_copies_read_their_input_through_an_intermediate_memory) {
    workload::Workload workload =
        testing::hand_workload({{"m", 12}, {"n", 4}}, {{"I: m, n", "I_in: m, n"}}, 8);
    workload.einsums[0].is_copy_operation = true;
    HandPath hand(workload, 0);
    hand.memory("MM", 1);
    hand.memory("GLB", 1);
    hand.memory("LB", 1);
    hand.compute("MAC", 1, 1);
    const double bits = 12 * 4 * 8;
    const auto figures = [&](const EinsumAnalysis& a) {
        std::vector<double> result;
        for (const auto& holder : a.analysis.holders) {
            result.push_back(holder.reads);
            result.push_back(holder.writes);
        }
        return result;
    };
    // Straight from MM to GLB: both conventions agree.
    mapping::Pmapping nodes = hand.nest("H MM I_in; H GLB I; T m 1; T n 1; C");
    const std::vector<double> straight{0, bits, bits, 0};
    BOOST_TEST(figures(EinsumAnalysis(hand.path, nodes, Compat::none)) == straight,
               boost::test_tools::per_element());
    BOOST_TEST(figures(EinsumAnalysis(hand.path, nodes, Compat::accelforge)) == straight,
               boost::test_tools::per_element());
    // Through GLB: MM is read and GLB written; the reference counts the way back instead.
    nodes = hand.nest("H MM I_in; H GLB I_in; H LB I; T m 1; T n 1; C");
    const EinsumAnalysis ours(hand.path, nodes, Compat::none);
    const EinsumAnalysis theirs(hand.path, nodes, Compat::accelforge);
    BOOST_TEST(ours.analysis.holders.size() == 3);
    for (const auto& holder : ours.analysis.holders) {
        const double reads = holder.level == 2 ? 0 : bits;
        const double writes = holder.level == 0 ? 0 : bits;
        BOOST_TEST(holder.reads == reads);
        BOOST_TEST(holder.writes == writes);
    }
    for (const auto& holder : theirs.analysis.holders) {
        if (holder.level == 0) {
            BOOST_TEST(holder.reads == 0);
            BOOST_TEST(holder.writes == bits);
        }
    }
}

BOOST_AUTO_TEST_CASE(looptree_copies_within_one_memory_are_free) {
    workload::Workload workload =
        testing::hand_workload({{"m", 12}, {"n", 4}}, {{"I: m, n", "I_in: m, n"}}, 8);
    workload.einsums[0].is_copy_operation = true;
    HandPath hand(workload, 0);
    hand.memory("MM", 1);
    hand.compute("MAC", 1, 1);
    const mapping::Pmapping nodes = hand.nest("H MM I_in, I; T m 1; T n 1; C");
    const EinsumAnalysis a(hand.path, nodes, Compat::none);
    BOOST_TEST(a.costs.dynamic_energy_j == 0);
    BOOST_TEST(a.costs.latency_s == 0);
    BOOST_TEST(a.analysis.holders.size() == 1);
    BOOST_TEST(a.analysis.holders[0].bits == 12 * 4 * 8);
}

BOOST_AUTO_TEST_CASE(looptree_offsets_in_projections_do_not_enlarge_tiles) {
    workload::Workload workload = vector_scale(6);
    workload.einsums[0].accesses[1].ranks[0].constant = 5;  // A[n + 5]
    HandPath hand(workload, 0);
    hand.memory("MM", 1);
    hand.memory("GLB", 1);
    hand.compute("MAC", 1, 1);
    const mapping::Pmapping nodes = hand.nest("H MM A, Z; H GLB A; T n 1; C");
    BOOST_TEST(EinsumAnalysis(hand.path, nodes, Compat::none).analysis.holders[0].reads == 6 * 8);
    BOOST_TEST(EinsumAnalysis(hand.path, nodes, Compat::accelforge).analysis.holders[0].reads ==
               11 * 8);
}
