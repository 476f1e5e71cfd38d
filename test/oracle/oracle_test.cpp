// The oracle itself, on cases small enough to be checked by hand.
#include <boost/test/unit_test.hpp>
#include <set>

#include "oracle/oracle_instance.hpp"
#include "oracle/oracle_tree.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using mapping::NodeKind;

namespace {

std::string memory(const std::string& name, const std::string& size, int energy,
                   const std::string& tensors) {
    const std::string e = std::to_string(energy);
    return "  - !Memory\n    name: " + name + "\n    size: " + size +
           "\n    leak_power: 0\n    area: 0\n    actions:\n    - {name: read, energy: " + e +
           ", throughput: inf}\n    - {name: write, energy: " + e +
           ", throughput: inf}\n    tensors: " + tensors + "\n";
}

std::string machine(const std::string& buffer_size, const std::string& main_tensors,
                    const std::string& buffer_tensors) {
    return "arch:\n  nodes:\n" + memory("MainMemory", "inf", 10, main_tensors) +
           memory("GlobalBuffer", buffer_size, 1, buffer_tensors) +
           "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n    actions:\n"
           "    - {name: compute, energy: 0, throughput: 1}\n";
}

const std::string matmul =
    "workload:\n  iteration_space_shape:\n    k: 0 <= k < 2\n    m: 0 <= m < 3\n    n: 0 <= n < 2\n"
    "  bits_per_value: {All: 1}\n  einsums:\n  - name: E0\n    tensor_accesses:\n"
    "    - {name: A, projection: [m, k]}\n    - {name: B, projection: [k, n]}\n"
    "    - {name: C, projection: [m, n], output: True}\n";

const std::string normalise =
    "workload:\n  iteration_space_shape:\n    m: 0 <= m < 2\n    n: 0 <= n < 3\n"
    "  bits_per_value: {All: 1}\n  einsums:\n"
    "  - name: Make\n    tensor_accesses:\n    - {name: X, projection: [m, n]}\n"
    "    - {name: C, projection: [m, n], output: True}\n"
    "  - name: Sum\n    tensor_accesses:\n    - {name: C, projection: [m, n]}\n"
    "    - {name: D, projection: [m], output: True}\n"
    "  - name: Scale\n    tensor_accesses:\n    - {name: C, projection: [m, n]}\n"
    "    - {name: D, projection: [m]}\n    - {name: O, projection: [m, n], output: True}\n";

arch::Path only_path(const oracle::LoadedInstance& instance, int einsum) {
    return instance.architecture->path(instance.workload, einsum, "MAC", instance.problem.compat);
}

std::uint64_t count_chains(const oracle::LoadedInstance& instance) {
    std::uint64_t n = 0;
    oracle::enumerate_chains(only_path(instance, 0), {}, [&](const mapping::Pmapping&) {
        ++n;
        return true;
    });
    return n;
}

// All chains as sequences of holders, loops left out.
std::set<std::vector<std::pair<int, int>>> holder_sequences(const arch::Path& path) {
    std::set<std::vector<std::pair<int, int>>> all;
    oracle::enumerate_chains(path, {}, [&](const mapping::Pmapping& nodes) {
        std::vector<std::pair<int, int>> holders;
        for (const auto& n : nodes) {
            if (n.kind == NodeKind::storage) {
                holders.emplace_back(n.level, n.tensor);
            }
        }
        all.insert(holders);
        return true;
    });
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_ordered_subset_of_tensors_may_be_held) {
    const oracle::LoadedInstance instance(machine("inf", "{keep: All}", "{may_keep: All}") +
                                          matmul);
    // 1 + 3 + 3*2 + 3*2*1 ordered subsets of three tensors.
    BOOST_TEST(holder_sequences(only_path(instance, 0)).size() == 16u);
}

BOOST_AUTO_TEST_CASE(loops_of_one_gap_are_tried_in_every_order) {
    // Nothing but MainMemory: one gap, three loops with prime bounds.
    const oracle::LoadedInstance instance(machine("inf", "{keep: All}", "{keep: Nothing}") +
                                          matmul);
    BOOST_TEST(count_chains(instance) == 6u);
}

BOOST_AUTO_TEST_CASE(loops_are_spread_over_all_gaps) {
    // Two gaps around one holder. Each of three prime loops stands in one of them: with i loops
    // above and 3-i below there are C(3,i) choices and i! (3-i)! orders, 4 * 3! in all.
    const oracle::LoadedInstance instance(machine("inf", "{keep: All}", "{keep: A}") + matmul);
    BOOST_TEST(count_chains(instance) == 24u);
}

BOOST_AUTO_TEST_CASE(one_matmul_in_a_large_buffer_moves_each_tensor_once) {
    const oracle::LoadedInstance instance(machine("inf", "{keep: All}", "{keep: All}") + matmul);
    const auto best = oracle::search(
        oracle::make_space(instance.problem, mapspace::MapSpaceOptions::accelforge(), 1'000'000));
    // MainMemory: A 6, B 4 read, C 6 written, 10 J each. GlobalBuffer: the same 16 filled or
    // drained, and per compute (12) reads of A, B and C and a write of C, less the 6 first reads of
    // C.
    BOOST_TEST(best.energy_j == 16 * 10 + 16 + 12 * 4 - 6);
    BOOST_TEST(best.latency_s == 12);
}

BOOST_AUTO_TEST_CASE(a_reader_never_shares_a_loop_its_writer_still_reduces_over) {
    const oracle::LoadedInstance instance(machine("inf", "{keep: ~Intermediates, may_keep: All}",
                                                  "{keep: ~MainMemory, may_keep: All}") +
                                          normalise);
    const auto space =
        oracle::make_space(instance.problem, mapspace::MapSpaceOptions::accelforge(), 1'000'000);
    const int n = space.einsums[1].paths.front().einsum.find_rank_variable("n");
    int fitting = 0, sharing_m = 0;
    std::vector<int> shared;
    for (const auto& make : space.einsums[0].groups) {
        for (const auto& sum : space.einsums[1].groups) {
            for (const auto& scale : space.einsums[2].groups) {
                if (oracle::fit(space, {&make, &sum, &scale}, shared) != oracle::Fit::yes) {
                    continue;
                }
                ++fitting;
                sharing_m += shared[1] > 0 ? 1 : 0;
                for (int p = 0; p < shared[1]; ++p) {
                    BOOST_TEST(sum.prefix[static_cast<std::size_t>(p)].rank_variable != n);
                }
            }
        }
    }
    BOOST_TEST(fitting > 0);
    BOOST_TEST(sharing_m > 0);
}

BOOST_AUTO_TEST_CASE(what_stands_above_a_shared_loop_coexists_and_what_stands_below_does_not) {
    const oracle::LoadedInstance instance(
        machine("1000", "{keep: ~Intermediates, may_keep: All}", "{keep: All}") + normalise);
    auto space =
        oracle::make_space(instance.problem, mapspace::MapSpaceOptions::accelforge(), 1'000'000);
    const int c = instance.workload.find_tensor("C"), d = instance.workload.find_tensor("D");
    const oracle::SharedLoop m{0, 2, false, "", ""};
    const auto bits = [](std::vector<double> b) {
        oracle::ChainRow row;
        row.bits = std::move(b);
        return row;
    };
    // C (3 bits) below one shared loop over m, D (2 bits) above it.
    oracle::ChainGroup make{{{c, "GlobalBuffer", 1, 3, false}}, {m}, {bits({10, 100})}};
    oracle::ChainGroup sum{{{c, "GlobalBuffer", 1, 3, false}, {d, "GlobalBuffer", 0, 2, false}},
                           {m},
                           {bits({20, 200})}};
    oracle::ChainGroup scale{{{c, "GlobalBuffer", 1, 3, false}, {d, "GlobalBuffer", 0, 2, false}},
                             {m},
                             {bits({40, 50})}};
    std::vector<int> shared;
    BOOST_TEST_REQUIRE((oracle::fit(space, {&make, &sum, &scale}, shared) == oracle::Fit::yes));
    BOOST_TEST(shared == (std::vector<int>{1, 1}), boost::test_tools::per_element());
    // Busiest while Sum runs: 10 + 20 + 40 above the loop, its own 200, C and D.
    BOOST_TEST(oracle::peak_bits(space, {&make, &sum, &scale},
                                 {&make.rows[0], &sum.rows[0], &scale.rows[0]}, shared,
                                 0) == 70 + 200 + 5);
    // Without the shared loop nothing but D outlives a chain.
    make.backings[0].depth = sum.backings[0].depth = scale.backings[0].depth = 0;
    make.prefix = sum.prefix = scale.prefix = {};
    make.rows[0].bits = {110};
    sum.rows[0].bits = {220};
    scale.rows[0].bits = {90};
    BOOST_TEST_REQUIRE((oracle::fit(space, {&make, &sum, &scale}, shared) == oracle::Fit::yes));
    BOOST_TEST(oracle::peak_bits(space, {&make, &sum, &scale},
                                 {&make.rows[0], &sum.rows[0], &scale.rows[0]}, shared,
                                 0) == 220 + 5);
}
