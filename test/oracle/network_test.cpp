// FFM below networks against brute force. Hops depend on the order of the loops around one that
// spreads data, so that every order is a mapping of its own, in one Einsum and across a join.
// With TESSERA_SOAK=N in the environment, N instances from TESSERA_SOAK_FROM on are drawn instead.
#include <boost/test/unit_test.hpp>

#include "oracle/full_compare.hpp"

using namespace tessera;

BOOST_AUTO_TEST_SUITE(network)

BOOST_AUTO_TEST_CASE(ffm_is_optimal_below_networks) {
    // Some take minutes of brute force.
    const oracle::Judged seen =
        oracle::judge_drawn(67, {0, 6, 38, 49, 60}, oracle::random_network_instance);
    BOOST_TEST(seen.judged * 2 >= seen.drawn);
    BOOST_TEST(seen.mapped * 2 >= seen.judged);
    BOOST_TEST(seen.kinds.size() >= 6u);
}

// Main keeps what goes in and out, a network leads to two dimensions of pads for the rest.
std::string pads_behind_a_network(const std::string& bits, const std::string& workload) {
    const auto memory = [](const std::string& name, const std::string& more) {
        return "  - !Memory\n    name: " + name + "\n    leak_power: 0\n    area: 0\n" + more +
               "    actions:\n    - {name: read, energy: 1, throughput: inf}\n"
               "    - {name: write, energy: 1, throughput: inf}\n";
    };
    return "arch:\n  nodes:\n" +
           memory("Main", "    size: inf\n    tensors: {keep: ~Intermediates}\n") +
           "  - !Network\n    name: Net\n    leak_power: 0\n    area: 0\n    total_latency: 0\n"
           "    actions: [{name: hop, energy: 5, latency: 0, throughput: inf}]\n" +
           memory("Pad", "    size: " + bits +
                             "\n    spatial: [{name: P, fanout: 3}, {name: Q, fanout: 3}]\n"
                             "    tensors: {keep: Intermediates}\n") +
           "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n"
           "    actions: [{name: compute, energy: 0, throughput: 1}]\n"
           "workload:\n  iteration_space_shape:\n    m: 0 <= m < 3\n    n: 0 <= n < 3\n"
           "  bits_per_value: {All: 1}\n  einsums:\n" +
           workload;
}

void test_optimal(const std::string& kind, const std::string& yaml) {
    const oracle::Outcome o = oracle::judge({0, kind, yaml, {}});
    BOOST_TEST(o.judged);
    BOOST_TEST(o.mapped);
    BOOST_TEST(o.error == "");
}

// X is spread over m and W over n, each best with its loop outside; the Einsums share both loops.
BOOST_AUTO_TEST_CASE(a_join_keeps_the_order_of_loops_below_a_network) {
    test_optimal("shared-loops",
                 pads_behind_a_network(
                     "1",
                     "  - name: Outer\n    tensor_accesses:\n    - {name: X, projection: [m]}\n"
                     "    - {name: T, projection: [m, n], output: True}\n"
                     "  - name: Inner\n    tensor_accesses:\n    - {name: T, projection: [m, n]}\n"
                     "    - {name: W, projection: [n]}\n"
                     "    - {name: Z, projection: [m, n], output: True}\n"));
}

// Middle keeps nothing in Main: no holder stands above its spatial loops.
BOOST_AUTO_TEST_CASE(loops_that_spread_may_stand_above_every_holder) {
    test_optimal("intermediates-only",
                 pads_behind_a_network(
                     "2",
                     "  - name: First\n    tensor_accesses:\n    - {name: X, projection: [m, n]}\n"
                     "    - {name: T, projection: [m, n], output: True}\n"
                     "  - name: Middle\n    tensor_accesses:\n    - {name: T, projection: [m, n]}\n"
                     "    - {name: U, projection: [m, n], output: True}\n"
                     "  - name: Last\n    tensor_accesses:\n    - {name: U, projection: [m, n]}\n"
                     "    - {name: Z, projection: [m, n], output: True}\n"));
}

BOOST_AUTO_TEST_SUITE_END()
