// Tensors between Einsums: who reads what when, and how long memory is taken.
#include <boost/test/unit_test.hpp>

#include "legality_fixture.hpp"

using namespace legality_test;

namespace {

Case chain(const std::string& size = "inf") {
    return Case(
        machine(memory("DRAM", "inf", "{may_keep: All}") + memory("GLB", size, "{may_keep: All}")),
        matmuls(true));
}

/// Loops `shared` above GLB:T1, then both Einsums.
std::vector<std::string> fused(const std::vector<std::string>& shared,
                               const std::string& t1 = "GLB",
                               const std::vector<std::string>& producer = {},
                               const std::vector<std::string>& consumer = {}) {
    std::vector<std::string> nodes{store("T0, W0, W1, T2", "DRAM")};
    const auto add = [&](const std::vector<std::string>& more) {
        nodes.insert(nodes.end(), more.begin(), more.end());
    };
    add(shared);
    add({store("T1", t1), "split", ">"});
    add(producer);
    add({loop("m", 1), loop("n0", 1), loop("n1", 1), compute("E0"), "<", ">"});
    add(consumer);
    add({loop("m", 1), loop("n1", 1), loop("n2", 1), compute("E1"), "<"});
    return nodes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(loops_that_walk_the_shared_tensor_on_both_sides_may_be_shared) {
    BOOST_TEST(chain().codes(fused({})) == "");
    BOOST_TEST(chain().codes(fused({loop("m", 2)})) == "");
    BOOST_TEST(chain().codes(fused({loop("m", 2), loop("n1", 4)})) == "");
}

BOOST_AUTO_TEST_CASE(every_einsum_is_computed_once_and_in_order) {
    const std::vector<std::string> only{store("T0, W0, T1", "DRAM"), loop("m", 1), loop("n0", 1),
                                        loop("n1", 1), compute("E0")};
    BOOST_TEST(chain().codes(only) == "einsum_missing");
    const std::vector<std::string> swapped{store("T0, W0, W1, T1, T2", "DRAM"),
                                           "split",
                                           ">",
                                           loop("m", 1),
                                           loop("n1", 1),
                                           loop("n2", 1),
                                           compute("E1"),
                                           "<",
                                           ">",
                                           loop("m", 1),
                                           loop("n0", 1),
                                           loop("n1", 1),
                                           compute("E0"),
                                           "<"};
    BOOST_TEST(chain().codes(swapped) == "producer_late");
    mapping::Mapping twice = Case::mapping(fused({}));
    auto& branches = twice.root.children.back().children;
    branches.push_back(branches.front());
    const Case c = chain();
    const auto found = mapspace::check(c.problem(), twice);
    BOOST_REQUIRE(!found.empty());
    BOOST_TEST(found[0].code == "einsum_twice");
}

BOOST_AUTO_TEST_CASE(a_loop_needs_its_variable_in_every_einsum_inside) {
    // The producer would run again in every iteration of n2.
    const auto found = chain().violations(fused({loop("n2", 2)}));
    BOOST_REQUIRE(!found.empty());
    BOOST_TEST(found[0].code == "foreign_loop");
    BOOST_TEST(found[0].einsum == "E0");
}

BOOST_AUTO_TEST_CASE(a_consumer_does_not_read_unfinished_sums) {
    // Red: D[m] from C[m,n]; Scale: O[m,n] from C and D. Inside a shared loop over n, D is a
    // partial sum.
    const Case c(
        machine(memory("DRAM", "inf", "{may_keep: All}") + memory("GLB", "inf", "{may_keep: All}")),
        "workload:\n  iteration_space_shape: {m: 0 <= m < 4, n: 0 <= n < 4}\n"
        "  bits_per_value: {All: 1}\n  einsums:\n"
        "  - name: Red\n    tensor_accesses:\n    - {name: C, projection: [m, n]}\n"
        "    - {name: D, projection: [m], output: True}\n"
        "  - name: Scale\n    tensor_accesses:\n    - {name: C, projection: [m, n]}\n"
        "    - {name: D, projection: [m]}\n    - {name: O, projection: [m, n], output: True}\n");
    const auto nodes = [](const std::string& shared) {
        const std::string other = shared == "m" ? "n" : "m";
        return std::vector<std::string>{store("C, D, O", "DRAM"), loop(shared, 1),  "split", ">",
                                        loop(other, 1),           compute("Red"),   "<",     ">",
                                        loop(other, 1),           compute("Scale"), "<"};
    };
    BOOST_TEST(c.codes(nodes("m")) == "");
    const auto found = c.violations(nodes("n"));
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].code == "unfinished_read");
    BOOST_TEST(found[0].tensor == "D");
    BOOST_TEST(found[0].einsum == "Scale");
    BOOST_TEST(found[0].message.find("still reduces over 'n'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_consumer_does_not_read_beyond) {
    // K[m] and QK[m, p] = Q[m] K[p]: one loop drives K's m and QK's m, but QK needs all of K each
    // time.
    const std::string workload =
        "workload:\n  iteration_space_shape: {m: 0 <= m < 4, p: 0 <= p < 4}\n  bits_per_value: "
        "{All: 1}\n"
        "  einsums:\n  - name: MakeK\n    tensor_accesses:\n    - {name: I, projection: [m]}\n"
        "    - {name: K, projection: [m], output: True}\n"
        "  - name: QK\n    tensor_accesses:\n    - {name: Q, projection: [m]}\n"
        "    - {name: K, projection: {M: p}}\n    - {name: A, projection: [m, p], output: True}\n";
    const Case c(machine(memory("DRAM", "inf", "{may_keep: All}")), workload);
    const auto nodes = [](const std::string& loop_text, const std::string& other) {
        return std::vector<std::string>{store("I, K, Q, A", "DRAM"),
                                        loop_text,
                                        "split",
                                        ">",
                                        compute("MakeK"),
                                        "<",
                                        ">",
                                        loop(other, 1),
                                        compute("QK"),
                                        "<"};
    };
    BOOST_TEST(c.codes(nodes(loop("m", 1), "p")) == "unfinished_read");
    BOOST_TEST(c.codes(nodes("!Temporal {rank_variable: {MakeK: m, QK: p}, tile_shape: 1}", "m")) ==
               "");
}

BOOST_AUTO_TEST_CASE(halos_are_not_exchanged_tile_by_tile) {
    const std::string workload =
        "workload:\n  iteration_space_shape: {p: 0 <= p < 8, q: 0 <= q < 6, r: 0 <= r < 3}\n"
        "  bits_per_value: {All: 1}\n  einsums:\n  - name: A\n    tensor_accesses:\n"
        "    - {name: I, projection: {P: p}}\n    - {name: X, projection: {P: p}, output: True}\n"
        "  - name: B\n    tensor_accesses:\n    - {name: X, projection: {P: q + r}}\n"
        "    - {name: F, projection: [r]}\n    - {name: O, projection: [q], output: True}\n";
    const Case c(machine(memory("DRAM", "inf", "{may_keep: All}")), workload);
    const std::vector<std::string> shared{store("I, X, F, O", "DRAM"),
                                          "!Temporal {rank_variable: {A: p, B: q}, tile_shape: 2}",
                                          "split",
                                          ">",
                                          loop("p", 1),
                                          compute("A"),
                                          "<",
                                          ">",
                                          loop("q", 1),
                                          loop("r", 1),
                                          compute("B"),
                                          "<"};
    const std::vector<std::string> apart{store("I, X, F, O", "DRAM"),
                                         "split",
                                         ">",
                                         loop("p", 1),
                                         compute("A"),
                                         "<",
                                         ">",
                                         loop("q", 1),
                                         loop("r", 1),
                                         compute("B"),
                                         "<"};
    BOOST_TEST(c.codes(shared) == "unfinished_read");
    BOOST_TEST(c.codes(apart) == "");
}

BOOST_AUTO_TEST_CASE(both_sides_use_the_same_memory) {
    const auto nodes = [](const std::string& in_consumer) {
        return std::vector<std::string>{store("T0, W0, W1, T2", "DRAM"),
                                        "split",
                                        ">",
                                        store("T1", "GLB"),
                                        loop("m", 1),
                                        loop("n0", 1),
                                        loop("n1", 1),
                                        compute("E0"),
                                        "<",
                                        ">",
                                        store("T1", in_consumer),
                                        loop("m", 1),
                                        loop("n1", 1),
                                        loop("n2", 1),
                                        compute("E1"),
                                        "<"};
    };
    BOOST_TEST(chain().codes(nodes("GLB")) == "");
    BOOST_TEST(chain().codes(nodes("DRAM")) == "backing_mismatch");
}

BOOST_AUTO_TEST_CASE(no_private_loop_stands_above_a_shared_holder) {
    const std::vector<std::string> nodes{store("T0, W0, W1, T2", "DRAM"),
                                         "split",
                                         ">",
                                         loop("m", 2),
                                         store("T1", "GLB"),
                                         loop("m", 1),
                                         loop("n0", 1),
                                         loop("n1", 1),
                                         compute("E0"),
                                         "<",
                                         ">",
                                         store("T1", "GLB"),
                                         loop("m", 1),
                                         loop("n1", 1),
                                         loop("n2", 1),
                                         compute("E1"),
                                         "<"};
    BOOST_TEST(chain().codes(nodes) == "backing_mismatch");
}

BOOST_AUTO_TEST_CASE(memory_is_taken_while_it_is_needed) {
    const Case c = chain();
    const auto bits = [&](const std::vector<std::string>& nodes) {
        return mapspace::peak_bits(c.problem(), Case::mapping(nodes)).at("GLB");
    };
    // T1 alone: 2 rows of 8.
    BOOST_TEST(bits(fused({loop("m", 2)})) == 16);
    // W0 is held by the producer only, W1 by the consumer only: not at the same time ...
    BOOST_TEST(bits(fused({loop("m", 2)}, "GLB", {store("W0", "GLB")}, {store("W1", "GLB")})) ==
               16 + 64);
    // ... unless both stand above the shared loop, which needs them again in its next iteration.
    std::vector<std::string> both = fused({store("W0, W1", "GLB"), loop("m", 2)});
    BOOST_TEST(bits(both) == 16 + 64 + 64);
    BOOST_TEST(chain("144").codes(both) == "");
    BOOST_TEST(chain("143").codes(both) == "capacity");
}

BOOST_AUTO_TEST_CASE(a_tensor_is_held_until_its_last_reader) {
    // Three Einsums; X is read by the first and the last, so it stays while the second runs.
    const std::string workload =
        "workload:\n  iteration_space_shape: {m: 0 <= m < 8}\n  bits_per_value: {All: 1}\n  "
        "einsums:\n"
        "  - name: A\n    tensor_accesses:\n    - {name: I, projection: [m]}\n"
        "    - {name: X, projection: [m], output: True}\n"
        "  - name: B\n    tensor_accesses:\n    - {name: J, projection: [m]}\n"
        "    - {name: Y, projection: [m], output: True}\n"
        "  - name: C\n    tensor_accesses:\n    - {name: X, projection: [m]}\n"
        "    - {name: Y, projection: [m]}\n    - {name: Z, projection: [m], output: True}\n";
    const auto with_size = [&](const std::string& size) {
        return Case(machine(memory("DRAM", "inf", "{may_keep: All}") +
                            memory("GLB", size, "{may_keep: All}")),
                    workload);
    };
    const std::vector<std::string> nodes{store("I, J, Z", "DRAM"),
                                         store("X, Y", "GLB"),
                                         "split",
                                         ">",
                                         loop("m", 1),
                                         compute("A"),
                                         "<",
                                         ">",
                                         loop("m", 1),
                                         compute("B"),
                                         "<",
                                         ">",
                                         loop("m", 1),
                                         compute("C"),
                                         "<"};
    BOOST_TEST(with_size("16").codes(nodes) == "");
    const auto found = with_size("15").violations(nodes);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].code == "capacity");
    BOOST_TEST(found[0].einsum == "B");
    BOOST_TEST(found[0].found == 16);
}

BOOST_AUTO_TEST_CASE(a_copy_within_one_memory_takes_its_room_once) {
    const std::string workload =
        "workload:\n  iteration_space_shape: {m: 0 <= m < 8}\n  bits_per_value: {All: 1}\n  "
        "einsums:\n"
        "  - name: Copy\n    is_copy_operation: True\n    tensor_accesses:\n"
        "    - {name: I, projection: [m]}\n    - {name: X, projection: [m], output: True}\n"
        "  - name: Use\n    tensor_accesses:\n    - {name: X, projection: [m]}\n"
        "    - {name: Z, projection: [m], output: True}\n";
    const Case c(machine(memory("GLB", "inf", "{keep: All}")), workload);
    const std::vector<std::string> nodes{store("I, X, Z", "GLB"), "split", ">", loop("m", 1),
                                         compute("Copy"),         "<",     ">", loop("m", 1),
                                         compute("Use"),          "<"};
    BOOST_TEST(mapspace::peak_bits(c.problem(), Case::mapping(nodes)).at("GLB") == 16);
}

BOOST_AUTO_TEST_CASE(unknown_names_are_user_errors) {
    BOOST_CHECK_THROW(chain().violations(fused({loop("zz", 2)})), UserError);
    BOOST_CHECK_THROW(chain().violations(fused({}, "Nowhere")), UserError);
}
