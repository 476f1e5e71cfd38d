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

double fullest(const Case& c, const std::vector<std::string>& nodes = unfused,
               const std::string& memory = "Register") {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    return model->evaluate(c.problem(), Case::mapping(nodes)).peak_occupancy.at(memory);
}

/// Copies of A into GLB and what reads them; B takes two bits a value, all else one.
Case copied(const std::string& size, const std::string& copies) {
    return Case(
        machine(memory("DRAM", "inf", "{may_keep: All}") + memory("GLB", size, "{may_keep: All}")),
        "workload:\n  rank_sizes: {M: 8}\n  bits_per_value: {B: 2, Other: 1}\n  einsums:\n" +
            copies +
            "  - name: UseC\n    tensor_accesses:\n    - {name: C, projection: [m]}\n"
            "    - {name: Y, projection: [m], output: True}\n"
            "  - name: UseB\n    tensor_accesses:\n    - {name: B, projection: [m]}\n"
            "    - {name: Z, projection: [m], output: True}\n");
}

std::string copy_einsum(const std::string& name, const std::string& input,
                        const std::vector<std::string>& outputs) {
    std::string text =
        "  - name: " + name +
        "\n    is_copy_operation: True\n    tensor_accesses:\n    - {name: " + input +
        ", projection: [m]}\n";
    for (const std::string& output : outputs) {
        text += "    - {name: " + output + ", projection: [m], output: True}\n";
    }
    return text;
}

/// One branch: all of m, one value at a time.
void branch(std::vector<std::string>& nodes, const std::string& einsum) {
    nodes.insert(nodes.end(), {">", loop("m", 1), compute(einsum), "<"});
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
    const std::string workload =
        "workload:\n  rank_sizes: {M: 8}\n  bits_per_value: {All: 1}\n  einsums:\n"
        "  - name: I\n    tensor_accesses:\n    - {name: A, projection: [m]}\n"
        "    - {name: I, projection: [m], output: True}\n" +
        copy_einsum("J", "I", {"J"}) + copy_einsum("K", "J", {"K"}) +
        "  - name: Z\n    tensor_accesses:\n    - {name: I, projection: [m]}\n"
        "    - {name: K, projection: [m]}\n    - {name: Z, projection: [m], output: True}\n";
    std::vector<std::string> nodes{store("A, Z", "DRAM"), store("I, K", "GLB"), store("J", "LB"),
                                   "split"};
    for (const char* einsum : {"I", "J", "K", "Z"}) {
        branch(nodes, einsum);
    }
    const auto with_size = [&](const std::string& size) {
        return Case(machine(memory("DRAM", "inf", "{may_keep: All}") +
                            memory("GLB", size, "{may_keep: All}") +
                            memory("LB", "inf", "{may_keep: All}")),
                    workload);
    };
    BOOST_TEST(with_size("16").codes(nodes) == "");
    BOOST_TEST(fullest(with_size("16"), nodes, "GLB") == 1);
    BOOST_TEST(with_size("15").codes(nodes) == "capacity");
    BOOST_CHECK_THROW(fullest(with_size("15"), nodes, "GLB"), IllegalMapping);
}

BOOST_AUTO_TEST_CASE(what_a_copy_makes_in_one_memory_takes_its_room_once) {
    std::vector<std::string> nodes{store("A, Y, Z", "DRAM"), store("B, C", "GLB"), "split"};
    branch(nodes, "Copy");
    branch(nodes, "UseC");
    branch(nodes, "UseB");
    const std::string copy = copy_einsum("Copy", "A", {"B", "C"});
    // The wider of the two, from the copy on: 16 bits, although B is read by the last Einsum.
    const Case fits = copied("16", copy), misses = copied("15", copy);
    BOOST_TEST(fits.codes(nodes) == "");
    BOOST_TEST(fullest(fits, nodes, "GLB") == 1);
    BOOST_TEST(mapspace::peak_bits(fits.problem(), Case::mapping(nodes)).at("GLB") == 16);
    BOOST_TEST(misses.codes(nodes) == "capacity");
    BOOST_CHECK_THROW(fullest(misses, nodes, "GLB"), IllegalMapping);
}

BOOST_AUTO_TEST_CASE(what_two_copies_make_in_one_memory_takes_room_for_each) {
    std::vector<std::string> nodes{store("A, Y, Z", "DRAM"), store("B, C", "GLB"), "split"};
    branch(nodes, "CopyB");
    branch(nodes, "CopyC");
    branch(nodes, "UseC");
    branch(nodes, "UseB");
    const std::string copies = copy_einsum("CopyB", "A", {"B"}) + copy_einsum("CopyC", "A", {"C"});
    const Case fits = copied("24", copies), misses = copied("23", copies);
    BOOST_TEST(fits.codes(nodes) == "");
    BOOST_TEST(fullest(fits, nodes, "GLB") == 1);
    BOOST_TEST(misses.codes(nodes) == "capacity");
    BOOST_CHECK_THROW(fullest(misses, nodes, "GLB"), IllegalMapping);
    Case reference = copied("24", copies);
    reference.compat = arch::Compat::accelforge;  // takes room once for all that copies link
    BOOST_TEST(fullest(reference, nodes, "GLB") == 16.0 / 24);
    // Where their source lies in the same memory, both are in its place.
    nodes[0] = store("Y, Z", "DRAM");
    nodes[1] = store("A, B, C", "GLB");
    BOOST_TEST(copied("16", copies).codes(nodes) == "");
    BOOST_TEST(fullest(copied("16", copies), nodes, "GLB") == 1);
}
