// Copy Einsums with several outputs: what lies in one memory is one buffer, for the join, for the
// search by points and for the checker, which judges every mapping that a mapper gives.
#include <algorithm>
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

/// `persistent`: as in "A | B".
std::string problem(const std::string& memories, const std::string& shape,
                    const std::string& bits_per_value, const std::string& einsums,
                    const std::string& persistent = "Nothing") {
    return "arch:\n  nodes:\n" + memory("Main", "inf", "10", "{keep: ~Intermediates}") + memories +
           "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n    actions:\n"
           "    - {name: compute, energy: 1, throughput: 1}\n"
           "workload:\n  iteration_space_shape: " +
           shape + "\n  persistent_tensors: " + persistent +
           "\n  bits_per_value: " + bits_per_value + "\n  einsums:\n" + einsums;
}

/// The least energy, infinite if nothing fits. The join and the search by points prove the same.
/// `kept`: their mappings are added.
double least_energy(const std::string& yaml, std::vector<mapping::Mapping>* kept = nullptr) {
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
            if (kept != nullptr) {
                kept->push_back(s.mapping);
            }
        }
        return found.solutions.empty() ? HUGE_VAL : found.solutions[0].report.energy_j();
    };
    const double joined = least("ffm", {});
    const double enumerated = least("search", {{"strategy", "exhaustive"}});
    BOOST_TEST(oracle::close(joined, enumerated));
    return joined;
}

bool legal(const model::Problem& problem, const mapping::Mapping& mapping) {
    const auto options = mapper::Options().mapspace;
    const auto found = mapspace::check(problem, mapping, &options);
    return std::ranges::all_of(
        found, [](const auto& v) { return v.severity == mapspace::Severity::warning; });
}

double energy_j(const model::Problem& problem, const mapping::Mapping& mapping) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    return model->evaluate(problem, mapping).energy_j();
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

// X and Y go to and from the outer memory (10 each way), the rest stays in the buffer.
BOOST_AUTO_TEST_CASE(a_persistent_copy_is_stored_apart_from_an_input_that_is_not) {
    const auto yaml = [](const std::string& size, const std::string& persistent) {
        return problem(memory("Buffer", size, "1", "{keep: A | B}"), "{m: 0 <= m < 4}", "{All: 1}",
                       einsum("Make", {in("X"), out("A")}) +
                           einsum("Copy", {in("A"), out("B")}, true) +
                           einsum("UseB", {in("B"), out("Y")}),
                       persistent);
    };
    // X read, Y written; eight computes; in the buffer A is written, read, B written, read.
    BOOST_TEST(least_energy(yaml("8", "B")) == 4 * 20 + 8 + 4 * 4);
    BOOST_TEST(least_energy(yaml("1024", "B")) == least_energy(yaml("8", "B")));
    BOOST_TEST(std::isinf(least_energy(yaml("7", "B"))));
    // One buffer, and the copy is free.
    for (const char* const one : {"A", "A | B"}) {
        BOOST_TEST(least_energy(yaml("4", one)) == 4 * 20 + 8 + 4 * 2);
        BOOST_TEST(std::isinf(least_energy(yaml("3", one))));
    }
}

// What others hold in the one buffer before its input is there, the reference's sums do not tell.
BOOST_AUTO_TEST_CASE(persistent_copies_of_others_are_not_searched_by_the_rules_of_the_reference) {
    const auto searched = [](const std::string& bits, const std::string& persistent,
                             const std::string& first) {
        const oracle::LoadedInstance instance(
            problem(memory("Buffer", "9", "1", "{keep: ~Main}"), "{m: 0 <= m < 4}", bits,
                    first + einsum("Copy", {in("A"), out("B")}, true) +
                        einsum("UseB", {in("B"), out("Y")}),
                    persistent),
            arch::Compat::accelforge);
        mapper::Options options;
        options.mapspace = mapspace::MapSpaceOptions::accelforge();
        options.threads = 1;
        int refused = 0;
        const auto search = [&](const std::string& mapper, const plugin::KnobSettings& knobs) {
            try {
                oracle::mapped(instance.problem, options, mapper, knobs);
            } catch (const UserError& error) {
                BOOST_TEST(std::string(error.what()).find("not searched") != std::string::npos,
                           error.what());
                ++refused;
            }
        };
        search("ffm", {});
        search("search", {{"strategy", "exhaustive"}});
        BOOST_TEST((refused == 0 || refused == 2));
        return refused == 0;
    };
    const std::string make = einsum("Make", {in("X"), out("A")});
    BOOST_TEST(!searched("{All: 1}", "B", make));
    BOOST_TEST(!searched("{All: 1}", "B", ""));
    BOOST_TEST(searched("{All: 1}", "A", make));
    BOOST_TEST(searched("{A: 2, Other: 1}", "A", make));
    BOOST_TEST(searched("{A: 2, Other: 1}", "A | B", make));
}

// B stands above all loops and C beside it, although the toll has its place between them and the
// array.
BOOST_AUTO_TEST_CASE(no_spatial_loop_stands_between_copies_in_one_memory) {
    const auto yaml = [](const std::string& size) {
        return problem(
            "  - !Toll {name: Link, leak_power: 0, area: 0, direction: up_and_down, actions: "
            "[{name: read, energy: 1, throughput: inf}], tensors: {keep: Inputs}}\n"
            "  - !Container {name: Array, spatial: [{name: rows, fanout: 2}]}\n" +
                memory("Buffer", size, "1", "{keep: ~Main}"),
            "{m: 0 <= m < 4}", "{All: 1}",
            einsum("Copy", {in("A"), out("B"), out("C")}, true) +
                einsum("UseB", {in("B"), out("Y")}) + einsum("UseC", {in("C"), in("Y"), out("Z")}),
            "B");
    };
    const double roomy = least_energy(yaml("1024"));
    BOOST_TEST(std::isfinite(roomy));
    BOOST_TEST(least_energy(yaml("8")) >= roomy);
}

// C, which nothing reads, goes to the outer memory; B stays in the buffer of A.
BOOST_AUTO_TEST_CASE(an_input_is_read_for_a_copy_elsewhere) {
    const double energy = least_energy(problem(
        memory("Buffer", "8", "1", "{keep: A | B}"), "{m: 0 <= m < 4}", "{All: 1}",
        einsum("Make", {in("X"), out("A")}) + einsum("Copy", {in("A"), out("B"), out("C")}, true) +
            einsum("UseB", {in("B"), out("Y")})));
    // X read, C and Y written; eight computes; in the buffer A is written, read, and read as B.
    BOOST_TEST(energy == 4 * 30 + 8 + 4 * 3);
}

// Whatever is legal in less room is found there.
BOOST_AUTO_TEST_CASE(ffm_is_optimal_with_persistent_copies) {
    const std::vector<std::string> cascades{
        einsum("Make", {in("X"), out("A")}) + einsum("Copy", {in("A"), out("B")}, true) +
            einsum("UseB", {in("B"), out("Y")}),
        einsum("Make", {in("X"), out("A")}) + einsum("Copy", {in("A"), out("B"), out("C")}, true) +
            einsum("UseB", {in("B"), out("Y")}) + einsum("UseC", {in("C"), in("Y"), out("Z")}),
        einsum("Make", {in("X"), out("A")}) + einsum("Copy", {in("A"), out("B")}, true) +
            einsum("UseA", {in("A"), out("Y")}) + einsum("Again", {in("B"), out("C")}, true) +
            einsum("UseC", {in("C"), in("Y"), out("Z")}),
    };
    int mapped = 0, infeasible = 0, reused = 0;
    for (std::size_t c = 0; c < cascades.size(); ++c) {
        std::string bits = "{";
        for (const char name : std::string("XABCYZ")) {
            if (cascades[c].find(std::string("name: ") + name + ",") != std::string::npos) {
                bits += std::string(bits == "{" ? "" : ", ") + name + (name == 'B' ? ": 2" : ": 1");
            }
        }
        for (const char* const persistent : {"A", "B", "A | B", "B | C", "C", "A | C"}) {
            if (c == 0 && std::string(persistent).find('C') != std::string::npos) {
                continue;
            }
            std::vector<mapping::Mapping> found;
            for (int size = 13; size >= 1; size -= 2) {
                BOOST_TEST_CONTEXT("cascade " << c << ", persistent " << persistent << ", size "
                                              << size) {
                    const std::string yaml = problem(
                        memory("Buffer", std::to_string(size), "1", "{keep: A | B, may_keep: All}"),
                        "{m: 0 <= m < 3}", bits + "}", cascades[c], persistent);
                    const oracle::LoadedInstance instance(yaml, arch::Compat::none);
                    double known = HUGE_VAL;
                    for (const mapping::Mapping& mapping : found) {
                        if (legal(instance.problem, mapping)) {
                            known = std::min(known, energy_j(instance.problem, mapping));
                            ++reused;
                        }
                    }
                    const double least = least_energy(yaml, &found);
                    BOOST_TEST((least <= known || oracle::close(least, known)));
                    mapped += std::isfinite(least);
                    infeasible += std::isinf(least);
                }
            }
        }
    }
    BOOST_TEST(mapped >= 40);
    BOOST_TEST(infeasible >= 20);
    BOOST_TEST(reused >= 40);
}
