// Copy Einsums with several outputs: what lies in one memory is one buffer, for the join, for the
// search by points and for the checker, which judges every mapping that a mapper gives.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "oracle/few_instances.hpp"
#include "oracle/oracle_instance.hpp"
#include "oracle/points.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapspace/legality.hpp"

using namespace tessera;

namespace {

std::string memory(const std::string& name, const std::string& size, const std::string& energy,
                   const std::string& tensors) {
    return "  - !Memory\n    name: " + name + "\n    size: " + size +
           "\n    leak_power: 0\n    area: 0\n    actions:\n    - {name: read, energy: " + energy +
           ", throughput: inf}\n    - {name: write, energy: " + energy +
           ", throughput: inf}\n    tensors: " + tensors + "\n";
}

/// `access`: as in "{name: A, projection: [m]}".
std::string einsum(const std::string& name, const std::vector<std::string>& accesses,
                   bool copies = false) {
    std::string text = "  - name: " + name + "\n" +
                       (copies ? "    is_copy_operation: True\n" : "") + "    tensor_accesses:\n";
    for (const std::string& access : accesses) {
        text += "    - " + access + "\n";
    }
    return text;
}

std::string in(const std::string& tensor, const std::string& projection = "[m]") {
    return "{name: " + tensor + ", projection: " + projection + "}";
}

std::string out(const std::string& tensor, const std::string& projection = "[m]") {
    return "{name: " + tensor + ", projection: " + projection + ", output: True}";
}

std::string problem(const std::string& memories, const std::string& shape,
                    const std::string& bits_per_value, const std::string& einsums) {
    return "arch:\n  nodes:\n" + memory("Main", "inf", "10", "{keep: ~Intermediates}") + memories +
           "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n    actions:\n"
           "    - {name: compute, energy: 1, throughput: 1}\n"
           "workload:\n  iteration_space_shape: " +
           shape + "\n  bits_per_value: " + bits_per_value + "\n  einsums:\n" + einsums;
}

/// The least energy, infinite if nothing fits. The join and the search by points prove the same.
double least_energy(const std::string& yaml) {
    const oracle::LoadedInstance instance(yaml, arch::Compat::none);
    mapper::Options options;
    options.threads = 1;
    options.metrics = {mapper::Metric::energy};
    const auto least = [&](const std::string& mapper, const plugin::KnobSettings& knobs) {
        mapper::Result found;
        try {
            found = oracle::mapped(instance.problem, options, mapper, knobs);
        } catch (const NoLegalMapping&) {
            return HUGE_VAL;  // not even one Einsum alone fits
        }
        BOOST_TEST((found.status == (found.solutions.empty() ? mapper::Status::infeasible
                                                             : mapper::Status::optimal)));
        for (const mapper::Solution& s : found.solutions) {
            for (const auto& v : mapspace::check(instance.problem, s.mapping, &options.mapspace)) {
                BOOST_TEST((v.severity == mapspace::Severity::warning), mapspace::to_text(v));
            }
        }
        return found.solutions.empty() ? HUGE_VAL : found.solutions[0].report.energy_j();
    };
    const double joined = least("ffm", {});
    const double enumerated = least("search", {{"strategy", "exhaustive"}});
    BOOST_TEST((joined == enumerated || oracle::close(joined, enumerated)));
    return joined;
}

}  // namespace

// A value of A stays in the register while the copy and one reader run; what is copied of it fills
// the buffer, which the last Einsum reads as a whole.
BOOST_AUTO_TEST_CASE(outputs_beside_each_other_are_one_buffer) {
    const auto yaml = [](const std::string& size) {
        return problem(memory("Buffer", size, "1", "{keep: B | C}") +
                           memory("Register", "1", "0", "{keep: A}"),
                       "{m: 0 <= m < 4, n: 0 <= n < 3, k: 0 <= k < 2}", "{All: 1}",
                       einsum("Make", {in("X"), out("A")}) +
                           einsum("Copy", {in("A"), out("B"), out("C")}, true) +
                           einsum("UseC", {in("C"), in("A"), out("Y")}) +
                           einsum("UseB", {in("B", "{M: n + k}"), out("Z", "[n]")}));
    };
    const double roomy = least_energy(yaml("1024"));
    BOOST_TEST(std::isfinite(roomy));
    BOOST_TEST(least_energy(yaml("4")) == roomy);
    BOOST_TEST(std::isinf(least_energy(yaml("3"))));
}

// The same buffer afterwards, when one reader follows the other.
BOOST_AUTO_TEST_CASE(outputs_stay_one_buffer_until_the_last_reader) {
    const auto yaml = [](const std::string& size, const std::string& bits_of_b) {
        return problem(memory("Buffer", size, "1", "{keep: ~Main}"), "{m: 0 <= m < 4}",
                       "{A: 1, B: " + bits_of_b + ", C: 1, Y: 1, Z: 1}",
                       einsum("Copy", {in("A"), out("B"), out("C")}, true) +
                           einsum("UseC", {in("C"), out("Y")}) +
                           einsum("UseB", {in("B"), out("Z")}));
    };
    BOOST_TEST(least_energy(yaml("1", "1")) == least_energy(yaml("1024", "1")));
    // The wider one says how large it is.
    BOOST_TEST(least_energy(yaml("3", "3")) == least_energy(yaml("1024", "3")));
    BOOST_TEST(std::isinf(least_energy(yaml("2", "3"))));
}

BOOST_AUTO_TEST_CASE(ffm_is_optimal_with_several_copies_of_a_tensor) {
    const std::vector<std::vector<std::string>> cascades{
        // The copies are read far from each other, their source in between.
        {einsum("Make", {in("X"), out("A")}), einsum("Copy", {in("A"), out("B"), out("C")}, true),
         einsum("UseB", {in("B"), in("V", "[m, e]"), out("P", "[m, e]")}),
         einsum("UseA", {in("A"), in("P", "[m, e]"), out("Y")}),
         einsum("UseC", {in("C"), in("Y"), out("Z", "[m, e]")})},
        // Two copies of one source, which nothing else reads.
        {einsum("CopyB", {in("A"), out("B"), out("D")}, true),
         einsum("CopyC", {in("A"), out("C")}, true), einsum("UseB", {in("B"), in("C"), out("Y")}),
         einsum("UseD", {in("D"), in("Y"), out("Z")})},
        // A copy of a copy.
        {einsum("Copy", {in("A"), out("B"), out("C")}, true),
         einsum("Again", {in("C"), out("D"), out("E")}, true),
         einsum("UseB", {in("B"), in("D"), out("Y", "[m, e]")}),
         einsum("UseE", {in("E"), in("Y", "[m, e]"), out("Z")})},
    };
    int mapped = 0, infeasible = 0;
    for (std::size_t c = 0; c < cascades.size(); ++c) {
        std::string einsums, bits = "{";
        for (const std::string& e : cascades[c]) {
            einsums += e;
        }
        const bool shaped = einsums.find("[m, e]") != std::string::npos;
        for (const char name : std::string("XABCDEPVYZ")) {
            if (einsums.find(std::string("name: ") + name + ",") != std::string::npos) {
                bits +=
                    std::string(bits == "{" ? "" : ", ") + name + ": " + (name == 'B' ? "2" : "1");
            }
        }
        for (int size = 1; size <= 9; ++size) {
            const std::string yaml = problem(
                memory("Buffer", std::to_string(size), "1", "{keep: ~Main, may_keep: All}"),
                shaped ? "{m: 0 <= m < 3, e: 0 <= e < 2}" : "{m: 0 <= m < 3}", bits + "}", einsums);
            BOOST_TEST_CONTEXT("cascade " << c << ", size " << size) {
                const bool fits = std::isfinite(least_energy(yaml));
                mapped += fits;
                infeasible += !fits;
            }
        }
    }
    BOOST_TEST(mapped >= 12);
    BOOST_TEST(infeasible >= 3);
}
