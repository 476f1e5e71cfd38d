// Memories whose size follows the Einsum, and shared tensors that grow while they live.
#include <boost/test/unit_test.hpp>

#include "legality_fixture.hpp"
#include "tessera/plugin/registry.hpp"

using namespace legality_test;

namespace {

/// The chain of two matrix multiplications with weights of 16 bits, then of 8.
std::string wide_then_narrow() {
    std::string text = matmuls(true);
    const std::string bits = "bits_per_value: {All: 1}";
    text.replace(text.find(bits), bits.size(), "bits_per_value: {W0: 16, Other: 8}");
    return text +
           "renames:\n  einsums:\n  - name: default\n    tensor_accesses:\n"
           "    - {name: weight, source: All & (W0 | W1)}\n";
}

Case registers(const std::string& size) {
    return Case(machine(memory("DRAM", "inf", "{keep: ~Nothing}") +
                        memory("Register", size, "{keep: weight}")),
                wide_then_narrow());
}

const std::vector<std::string> unfused{store("T0, W0, T1, W1, T2", "DRAM"),
                                       "split",
                                       ">",
                                       loop("n0", 1),
                                       loop("n1", 1),
                                       store("W0", "Register"),
                                       loop("m", 1),
                                       compute("E0"),
                                       "<",
                                       ">",
                                       loop("n1", 1),
                                       loop("n2", 1),
                                       store("W1", "Register"),
                                       loop("m", 1),
                                       compute("E1"),
                                       "<"};

double fullest(const Case& c) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    return model->evaluate(c.problem(), Case::mapping(unfused)).peak_occupancy.at("Register");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_register_as_wide_as_the_weight_is_full_for_every_einsum) {
    const Case c = registers("weight.bits_per_value");
    BOOST_TEST(c.codes(unfused) == "");
    BOOST_TEST(fullest(c) == 1);
}

BOOST_AUTO_TEST_CASE(a_register_too_narrow_for_one_einsum_is_refused) {
    const Case c = registers("weight.bits_per_value / 2 if weight.bits_per_value > 8 else 8");
    const auto found = c.violations(unfused);
    BOOST_REQUIRE(found.size() == 1);
    BOOST_TEST(found.front().code == "capacity");
    BOOST_TEST(found.front().found == 16);
    BOOST_TEST(found.front().limit == 8);
    BOOST_CHECK_THROW(fullest(c), IllegalMapping);
}

BOOST_AUTO_TEST_CASE(a_copy_that_enlarges_takes_its_room_from_the_copy_on) {
    const std::string workload =
        "workload:\n  rank_sizes: {M: 8, X: 4}\n  bits_per_value: {All: 1}\n  einsums:\n"
        "  - name: Make\n    tensor_accesses:\n    - {name: A, projection: [m]}\n"
        "    - {name: I, projection: [m], output: True}\n"
        "  - name: Copy\n    is_copy_operation: True\n    tensor_accesses:\n"
        "    - {name: I, projection: [m]}\n    - {name: B, projection: [m, x], output: True}\n"
        "  - name: Use\n    tensor_accesses:\n    - {name: B, projection: [m, x]}\n"
        "    - {name: Z, projection: [m, x], output: True}\n";
    const std::vector<std::string> nodes{
        store("A, Z", "DRAM"), store("I, B", "GLB"), "split", ">", store("A", "GLB"),
        loop("m", 1),          compute("Make"),      "<",     ">", loop("m", 1),
        loop("x", 1),          compute("Copy"),      "<",     ">", loop("m", 1),
        loop("x", 1),          compute("Use"),       "<"};
    const auto codes = [&](const std::string& size) {
        return Case(machine(memory("DRAM", "inf", "{may_keep: All}") +
                            memory("GLB", size, "{may_keep: All}")),
                    workload)
            .codes(nodes);
    };
    // 32 bits from the copy on; before it, A and I take one bit and eight.
    BOOST_TEST(codes("32") == "");
    BOOST_TEST(codes("31") == "capacity");
}

// I is read once more after it went to LB and back: GLB holds it and K.
BOOST_AUTO_TEST_CASE(a_copy_by_way_of_another_memory_has_a_buffer_of_its_own) {
    const auto copy = [](const std::string& from, const std::string& to) {
        return "  - name: " + to + "\n    is_copy_operation: True\n    tensor_accesses:\n" +
               "    - {name: " + from + ", projection: [m]}\n    - {name: " + to +
               ", projection: [m], output: True}\n";
    };
    const std::string workload =
        "workload:\n  rank_sizes: {M: 8}\n  bits_per_value: {All: 1}\n  einsums:\n"
        "  - name: I\n    tensor_accesses:\n    - {name: A, projection: [m]}\n"
        "    - {name: I, projection: [m], output: True}\n" +
        copy("I", "J") + copy("J", "K") +
        "  - name: Z\n    tensor_accesses:\n    - {name: I, projection: [m]}\n"
        "    - {name: K, projection: [m]}\n    - {name: Z, projection: [m], output: True}\n";
    std::vector<std::string> nodes{store("A, Z", "DRAM"), store("I, K", "GLB"), store("J", "LB"),
                                   "split"};
    for (const char* einsum : {"I", "J", "K", "Z"}) {
        nodes.insert(nodes.end(), {">", loop("m", 1), compute(einsum), "<"});
    }
    const auto with_size = [&](const std::string& size) {
        return Case(machine(memory("DRAM", "inf", "{may_keep: All}") +
                            memory("GLB", size, "{may_keep: All}") +
                            memory("LB", "inf", "{may_keep: All}")),
                    workload);
    };
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const auto mapping = Case::mapping(nodes);
    BOOST_TEST(with_size("16").codes(nodes) == "");
    BOOST_TEST(model->evaluate(with_size("16").problem(), mapping).peak_occupancy.at("GLB") == 1);
    BOOST_TEST(with_size("15").codes(nodes) == "capacity");
    BOOST_CHECK_THROW(model->evaluate(with_size("15").problem(), mapping), IllegalMapping);
}
