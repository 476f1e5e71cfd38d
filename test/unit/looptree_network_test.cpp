// Networks: what one spatial loop costs per topology, and whole Einsums on small meshes.
#include <boost/test/unit_test.hpp>

#include "model/analysis/einsum_analysis.hpp"
#include "support/hand_path.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using model::EinsumAnalysis;
using model::Spread;
using model::spread_cost;
using model::SpreadCost;
using testing::HandPath;

namespace {

void check(const SpreadCost<double>& found, double cost, double hops, double traffic) {
    BOOST_TEST(found.cost == cost);
    BOOST_TEST(found.hops == hops);
    BOOST_TEST(found.traffic == traffic);
}

double hops(const EinsumAnalysis& a, const std::string& network, const std::string& tensor) {
    double total = 0;
    for (const auto& route : a.analysis.networks) {
        if (a.tables.path().levels[route.level].name == network &&
            a.einsum().tensors[route.tensor].name == tensor) {
            total += route.hops;
        }
    }
    return total;
}

double traffic(const EinsumAnalysis& a, const std::string& network, const std::string& dim) {
    double total = 0;
    for (const auto& route : a.analysis.networks) {
        for (int d = 0; d < a.tables.n_dim_names; ++d) {
            if (a.tables.path().levels[route.level].name == network &&
                a.tables.dim_names[d] == dim) {
                total += a.analysis.traffic[route.traffic + d];
            }
        }
    }
    return total;
}

double latency(const EinsumAnalysis& a, const std::string& level) {
    for (std::size_t l = 0; l < a.tables.path().levels.size(); ++l) {
        if (a.tables.path().levels[l].name == level) {
            return a.costs.level_latency_s[l];
        }
    }
    return -1;
}

workload::Workload matmul(std::int64_t m, std::int64_t kn) {
    return testing::hand_workload({{"m", m}, {"n0", kn}, {"n1", kn}},
                                  {{"T1: m, n1", "T0: m, n0", "W0: n0, n1"}}, 8);
}

/// MM, GLB, network, scratchpads along X (and Y), network, MACs along X (and Y).
HandPath meshes(const workload::Workload& workload, arch::Topology topology, int pe_x, int mac_x,
                int y, double mac_hop_s) {
    HandPath hand(workload, 0);
    hand.memory("MM", 0);
    hand.memory("GLB", 0);
    hand.network("PeArray", arch::Topology::mesh, 1, 1);
    hand.path.levels.back().latency = {};
    hand.path.levels.back().latency.steps = {{arch::LatencyProgram::Op::max_hops, 0, 0}};
    arch::PathLevel& pad = hand.memory("Scratchpad", 0);
    HandPath::fanout(pad, "X", pe_x);
    if (y > 1) {
        HandPath::fanout(pad, "Y", y);
    }
    hand.network("MacArray", topology, mac_hop_s, std::numeric_limits<double>::infinity());
    arch::PathLevel& mac = hand.compute("MAC", 0, std::numeric_limits<double>::infinity());
    HandPath::fanout(mac, "X", mac_x);
    if (y > 1) {
        HandPath::fanout(mac, "Y", y);
    }
    return hand;
}

const char* kOneDimension =
    "H MM T0, W0, T1; H GLB T0, W0, T1; T m 4; S Scratchpad.X n0 2; "
    "H Scratchpad T0, W0, T1; T m 1; T n1 1; S MAC.X n0 1; C";

}  // namespace

BOOST_AUTO_TEST_CASE(looptree_network_cost_of_one_loop_per_topology) {
    const arch::PhysicalDim units{"X", 2, 4};
    check(spread_cost<double>({false, true, nullptr}, 4, 2, 10), 60, 8, 10);
    check(spread_cost<double>({false, false, nullptr}, 4, 2, 10), 120, 8, 30);
    check(spread_cost<double>({false, false, &units}, 4, 1, 10), 60, 3, 30);
    check(spread_cost<double>({true, true, nullptr}, 5, 1, 10), 40, 1, 10);
    check(spread_cost<double>({true, false, nullptr}, 5, 1, 10), 40, 1, 40);
    check(spread_cost<double>({true, false, nullptr}, 5, 3, 10), 40, 1, 40);
}

BOOST_AUTO_TEST_CASE(looptree_network_hops_on_two_meshes_in_a_row) {
    const workload::Workload workload = matmul(8, 8);
    const HandPath hand = meshes(workload, arch::Topology::mesh, 4, 2, 1, 1);
    const mapping::Pmapping nodes = hand.nest(kOneDimension);
    const EinsumAnalysis a(hand.path, nodes, arch::Compat::accelforge);
    for (const char* tensor : {"T0", "T1", "W0"}) {
        BOOST_TEST(hops(a, "MacArray", tensor) == 2048);
    }
    BOOST_TEST(hops(a, "PeArray", "T0") == 768);
    BOOST_TEST(hops(a, "PeArray", "T1") == 1536);
    BOOST_TEST(hops(a, "PeArray", "W0") == 1536);
    BOOST_TEST(a.costs.latency_s == 4);
}

BOOST_AUTO_TEST_CASE(looptree_network_hops_on_two_dimensional_meshes) {
    const workload::Workload workload = matmul(8, 4);
    const HandPath hand = meshes(workload, arch::Topology::mesh, 2, 2, 2, 0);
    const mapping::Pmapping nodes = hand.nest(
        "H MM T0, W0, T1; H GLB T0, W0, T1; T m 4; S Scratchpad.X n0 2; S Scratchpad.Y n1 2; "
        "H Scratchpad T0, W0, T1; T m 1; S MAC.X n0 1; S MAC.Y n1 1; C");
    const EinsumAnalysis a(hand.path, nodes, arch::Compat::accelforge);
    BOOST_TEST(hops(a, "MacArray", "T0") == 768);
    BOOST_TEST(hops(a, "MacArray", "T1") == 1024);
    BOOST_TEST(hops(a, "MacArray", "W0") == 1024);
    BOOST_TEST(hops(a, "PeArray", "T0") == 384);
    BOOST_TEST(hops(a, "PeArray", "T1") == 512);
    BOOST_TEST(hops(a, "PeArray", "W0") == 256);
}

BOOST_AUTO_TEST_CASE(looptree_network_hops_through_a_switch) {
    const workload::Workload workload = matmul(8, 8);
    const HandPath hand = meshes(workload, arch::Topology::all_to_all, 4, 4, 1, 1);
    const mapping::Pmapping nodes = hand.nest(
        "H MM T0, W0, T1; H GLB T0, W0, T1; T m 4; S Scratchpad.X n0 4; "
        "H Scratchpad T0, W0, T1; T m 1; T n1 1; S MAC.X n0 1; C");
    const EinsumAnalysis a(hand.path, nodes, arch::Compat::accelforge);
    for (const char* tensor : {"T0", "T1", "W0"}) {
        BOOST_TEST(hops(a, "MacArray", tensor) == 3072);
    }
    BOOST_TEST(hops(a, "PeArray", "T0") == 256);
    BOOST_TEST(hops(a, "PeArray", "T1") == 512);
    BOOST_TEST(hops(a, "PeArray", "W0") == 512);
    BOOST_TEST(latency(a, "MacArray") == 1);
    BOOST_TEST(latency(a, "PeArray") == 2);
    BOOST_TEST(a.costs.latency_s == 2);
}

// Our convention: the busiest link carries all deliveries of the run, in every dimension.
BOOST_AUTO_TEST_CASE(looptree_network_traffic_counts_the_whole_run_in_all_dimensions) {
    const workload::Workload workload = matmul(8, 4);
    HandPath hand = meshes(workload, arch::Topology::mesh, 2, 2, 2, 0);
    hand.path.levels[4].latency = testing::network_latency(0, 1);  // one bit per second and link
    const mapping::Pmapping nodes = hand.nest(
        "H MM T0, W0, T1; H GLB T0, W0, T1; T m 4; S Scratchpad.X n0 2; S Scratchpad.Y n1 2; "
        "H Scratchpad T0, W0, T1; T m 1; S MAC.X n0 1; S MAC.Y n1 1; C");
    const EinsumAnalysis ours(hand.path, nodes, arch::Compat::none);
    const EinsumAnalysis theirs(hand.path, nodes, arch::Compat::accelforge);
    // Bits per step and link, 8 a value. Along X (outer loop, tiles of two n1): T0 8, W0 and T1 16.
    // Along Y (inner loop): 8 each. There are 8 steps.
    BOOST_TEST(latency(ours, "MacArray") == 8 * 40);
    BOOST_TEST(traffic(ours, "MacArray", "X") == 8 * 40);
    BOOST_TEST(traffic(ours, "MacArray", "Y") == 8 * 24);
    // The reference: one step, and the inner loop's dimension is lost.
    BOOST_TEST(latency(theirs, "MacArray") == 40);
    BOOST_TEST(traffic(theirs, "MacArray", "Y") == 0);
    BOOST_TEST(hops(ours, "MacArray", "T0") == hops(theirs, "MacArray", "T0"));
}

// Our convention: a loop inside a sum delivers each instance its tile with the halo.
BOOST_AUTO_TEST_CASE(looptree_network_with_a_partially_relevant_loop_sends_halo_tiles) {
    const workload::Workload workload =
        testing::hand_workload({{"p", 8}, {"r", 3}}, {{"O: p", "I: p + r", "F: r"}}, 8);
    HandPath hand(workload, 0);
    hand.memory("MM", 0);
    hand.network("Net", arch::Topology::mesh, 0, 1);
    HandPath::fanout(hand.memory("Pad", 0), "X", 4);
    hand.compute("MAC", 0, 1);
    const mapping::Pmapping nodes =
        hand.nest("H MM O, I, F; S Pad.X p 2; H Pad I; T p 1; T r 1; C");
    const EinsumAnalysis a(hand.path, nodes, arch::Compat::none);
    const double halo_tile = (2 + 3 - 1) * 8;
    BOOST_TEST(hops(a, "Net", "I") == 4 * 3 / 2 * halo_tile);
}
