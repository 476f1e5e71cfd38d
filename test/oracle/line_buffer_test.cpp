// Line buffers and loops with a prologue: counted by hand, by stepping through every iteration,
// and against brute force.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "oracle/full_compare.hpp"
#include "oracle/oracle_cost.hpp"
#include "oracle/oracle_tree.hpp"
#include "oracle/step_simulator.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;
using mapper::Metric;

namespace {

std::string memory(const std::string& name, const std::string& size, int energy, int throughput,
                   const std::string& tensors) {
    const std::string e = std::to_string(energy), t = std::to_string(throughput);
    return "  - !Memory\n    name: " + name + "\n    size: " + size +
           "\n    leak_power: 0\n    area: 0\n    actions:\n    - {name: read, energy: " + e +
           ", throughput: " + t + "}\n    - {name: write, energy: " + e + ", throughput: " + t +
           "}\n    tensors: " + tensors + "\n";
}

std::string machine(int buffer_bits, const std::string& spatial = "") {
    return "arch:\n  nodes:\n" +
           memory("Main", "inf", 50, 4, "{keep: ~Intermediates, may_keep: All}") +
           memory("Buffer", std::to_string(buffer_bits), 4, 8,
                  "{keep: ~Main.tensors, may_keep: All}") +
           "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n" + spatial +
           "    actions:\n    - {name: compute, energy: 1, throughput: 1}\n";
}

std::string bounds(const std::vector<std::pair<std::string, int>>& all) {
    std::string text = "workload:\n  iteration_space_shape:\n";
    for (const auto& [name, bound] : all) {
        text += "    " + name + ": 0 <= " + name + " < " + std::to_string(bound) + "\n";
    }
    return text + "  bits_per_value: {All: 1}\n  einsums:\n";
}

std::string einsum(const std::string& name, const std::vector<std::string>& accesses) {
    std::string text = "  - name: " + name + "\n    tensor_accesses:\n";
    for (const std::string& access : accesses) {
        text += "    - {name: " + access + "}\n";
    }
    return text;
}

/// O[p] = T[stride p + r] W[r], T[h] = A[h + s] V[s].
std::string two_convolutions(int h, int p, int r, int s, int stride = 1) {
    const std::string read = stride == 1 ? "p + r" : std::to_string(stride) + "*p + r";
    return bounds({{"h", h}, {"p", p}, {"r", r}, {"s", s}}) +
           einsum("First", {"A, projection: {X: h + s}", "V, projection: {S: s}",
                            "T, projection: {Y: h}, output: True"}) +
           einsum("Second", {"T, projection: {Y: " + read + "}", "W, projection: {R: r}",
                             "O, projection: {P: p}, output: True"});
}

std::vector<mapper::Solution> map(const oracle::LoadedInstance& instance, Metric metric,
                                  bool line_buffer) {
    const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    mapper::Options options;
    options.metrics = {metric};
    options.mapspace.line_buffers = line_buffer;
    options.threads = 1;
    return ffm->map(instance.problem, *model, options).solutions;
}

double least_energy(const std::string& text, bool line_buffer) {
    const oracle::LoadedInstance instance(text);
    const auto solutions = map(instance, Metric::energy, line_buffer);
    BOOST_TEST_REQUIRE(solutions.size() == 1u);
    return solutions[0].report.energy_j();
}

mapping::Mapping given(const std::string& first) {
    return mapping::read_mapping(
        spec::read_text("nodes:\n"
                        "- !Storage {tensors: [O, W, A, V], component: Main}\n"
                        "- !Storage {tensors: [W, V], component: Buffer}\n"
                        "- !Storage {tensors: [T], component: Buffer, line_buffer: True}\n"
                        "- !Temporal {rank_variable: {First: h, Second: p}, tile_shape: 1, "
                        "initial_tile_shape: {First: " +
                            first +
                            "}, n_iterations: 16}\n"
                            "- !Sequential\n  nodes:\n  - !Nested\n    nodes:\n"
                            "    - !Temporal {rank_variable: h, tile_shape: 1}\n"
                            "    - !Temporal {rank_variable: s, tile_shape: 1}\n"
                            "    - !Compute {einsum: First, component: MAC}\n"
                            "  - !Nested\n    nodes:\n"
                            "    - !Storage {tensors: [O], component: Buffer}\n"
                            "    - !Temporal {rank_variable: r, tile_shape: 1}\n"
                            "    - !Compute {einsum: Second, component: MAC}\n",
                        "given"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(line_buffer)

// T has 18 values, W, V three each. With room for 10 values only the three of T that an iteration
// reads stay. Every count by hand: 54 and 48 products; Main: A 54 reads (no room), V and W 3 each,
// O 16 writes; Buffer: V and W 3 writes and 54, 48 reads; T 54 writes, 54 - 18 + 48 reads; O 48
// writes, 48 - 16 + 16 reads.
BOOST_AUTO_TEST_CASE(two_convolutions_by_hand) {
    const std::string text = machine(10) + two_convolutions(18, 16, 3, 3);
    const double main = 54 + 3 + 3 + 16;
    const double buffer = (3 + 54) + (3 + 48) + (54 + 54 - 18 + 48) + (48 + 48);
    BOOST_TEST(least_energy(text, true) == 54 + 48 + 50 * main + 4 * buffer);
    BOOST_TEST(least_energy(text, false) > least_energy(text, true));
    // One value less, and T can no longer pass through the buffer beside W, V and O.
    BOOST_TEST(least_energy(machine(9) + two_convolutions(18, 16, 3, 3), true) >
               least_energy(text, true));
}

BOOST_AUTO_TEST_CASE(checker_and_model_refuse_a_reader_that_is_too_far_beyond) {
    const oracle::LoadedInstance loaded(machine(10) + two_convolutions(18, 16, 3, 3));
    const struct {
        model::Problem problem;
    } instance{{&loaded.workload, loaded.architecture.get(), arch::Compat::none}};
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const auto options = mapspace::MapSpaceOptions{};
    const auto right = given("3");
    BOOST_TEST(mapspace::check(instance.problem, right, &options).empty());
    BOOST_TEST(model->evaluate(instance.problem, right).energy_j() > 0);
    BOOST_TEST(model->evaluate(instance.problem, right).peak_occupancy.at("Buffer") == 1.0);
    // A prologue of two values is needed.
    for (const char* first : {"1", "2"}) {
        const auto wrong = given(first);
        BOOST_TEST(!mapspace::check(instance.problem, wrong, &options).empty());
        BOOST_CHECK_THROW(model->evaluate(instance.problem, wrong), IllegalMapping);
    }
    // The file says what it means: it comes back the same.
    const std::string yaml = mapping::to_yaml(right);
    const auto again = mapping::read_mapping(*spec::read_text(yaml, "again").find("mapping"));
    BOOST_TEST(mapping::to_yaml(again) == yaml);
}

// Both know how far a reader is beyond where its factors are positive and nothing is added.
BOOST_AUTO_TEST_CASE(checker_and_model_refuse_a_reader_with_an_offset_or_against_the_loop) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    for (const char* read : {"p - r + 2", "p + r + 1", "2 - p + r"}) {
        std::string text = machine(20) + two_convolutions(18, 16, 3, 3);
        const std::string plain = "Y: p + r";
        text.replace(text.find(plain), plain.size(), std::string("Y: ") + read);
        const oracle::LoadedInstance instance(text, arch::Compat::none);
        const mapspace::MapSpaceOptions options;
        BOOST_TEST(!mapspace::check(instance.problem, given("3"), &options).empty(), read);
        BOOST_CHECK_THROW(model->evaluate(instance.problem, given("3")), IllegalMapping);
    }
}

BOOST_AUTO_TEST_CASE(every_iteration_counted_one_by_one) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    int chains = 0, prologue = 0;
    const std::string array = "    spatial: [{name: X, fanout: 4}]\n";
    for (const auto& text : {machine(1000) + two_convolutions(6, 4, 3, 2),
                             machine(1000, array) + two_convolutions(8, 4, 2, 1, 2),
                             machine(1000, array) + two_convolutions(7, 6, 2, 1),
                             machine(1000) + two_convolutions(7, 6, 2, 3)}) {
        const oracle::LoadedInstance instance(text);
        const auto space =
            oracle::make_space(instance.problem, mapspace::MapSpaceOptions{}, 200'000);
        for (const auto& einsum : space.einsums) {
            for (const auto& group : einsum.groups) {
                for (const auto& row : group.rows) {
                    const auto& path = einsum.paths[static_cast<std::size_t>(row.path)];
                    const bool prologues = std::any_of(row.example.begin(), row.example.end(),
                                                       [](const auto& n) { return n.base > 0; });
                    const bool windows = std::any_of(row.example.begin(), row.example.end(),
                                                     [](const auto& n) { return n.line_buffer; });
                    // Iterations that have nothing left to do count like others (docs/limits.md).
                    const bool idle =
                        std::any_of(row.example.begin(), row.example.end(), [&](const auto& n) {
                            const auto bound = [&] {
                                return path.einsum
                                    .rank_variables[static_cast<std::size_t>(n.rank_variable)]
                                    .bound;
                            };
                            return n.base > 0 && n.base - n.tile + n.prologue >= bound();
                        });
                    // With two spatial loops in one sum the walk sees that instances ask for the
                    // same.
                    const auto spatial = std::count_if(
                        row.example.begin(), row.example.end(),
                        [](const auto& n) { return n.kind == mapping::NodeKind::spatial; });
                    if ((!windows && !prologues) || idle || spatial > 1) {
                        continue;
                    }
                    const auto own = oracle::cost(path, row.example);
                    const auto walked = oracle::simulate(path, row.example);
                    const auto report = model->evaluate(instance.problem, path, row.example);
                    BOOST_TEST(walked.computes == own.computes);
                    BOOST_TEST(std::abs(report.energy_j() - own.energy_j()) <=
                               1e-12 * own.energy_j());
                    BOOST_TEST(std::abs(report.latency_s - own.latency_s) <= 1e-12 * own.latency_s);
                    for (const auto& h : own.holders) {
                        const auto& counts = walked.holders.at({h.level, h.tensor});
                        BOOST_TEST(std::abs(counts.reads - h.reads) < 1e-9);
                        BOOST_TEST(std::abs(counts.writes - h.writes) < 1e-9);
                        BOOST_TEST(counts.largest <= h.bits + 1e-9);
                    }
                    ++chains;
                    prologue += prologues;
                }
            }
        }
    }
    BOOST_TEST(chains >= 200);
    BOOST_TEST(prologue >= 50);
}

BOOST_AUTO_TEST_CASE(brute_force_finds_nothing_better) {
    int gains = 0, judged = 0;
    const std::vector<std::string> workloads{
        two_convolutions(6, 4, 3, 1),     // the producer makes exactly what is read
        two_convolutions(4, 4, 3, 1),     // padded
        two_convolutions(8, 4, 2, 1, 2),  // stride without overlap
        two_convolutions(6, 3, 3, 1, 2),  // stride with overlap, padded
        // A reader that keeps step with the producer beside one that reads beyond its tile.
        bounds({{"h", 4}, {"p", 4}, {"r", 2}, {"q", 4}}) +
            einsum("Make", {"A, projection: [h]", "T, projection: {H: h}, output: True"}) +
            einsum("Window", {"T, projection: {H: p + r}", "W, projection: [r]",
                              "U, projection: {P: p}, output: True"}) +
            einsum("Add", {"T, projection: {H: q}", "U, projection: {P: q}",
                           "Z, projection: [q], output: True"}),
        // Two convolutions in a row run two loops with prologues before the last.
        bounds({{"g", 5}, {"h", 4}, {"r", 2}, {"p", 3}, {"s", 2}}) +
            einsum("Make", {"A, projection: [g]", "T, projection: {G: g}, output: True"}) +
            einsum("Middle", {"T, projection: {G: h + r}", "U, projection: {H: h}, output: True"}) +
            einsum("Last", {"U, projection: {H: p + s}", "Z, projection: [p], output: True"}),
    };
    for (const std::string& workload : workloads) {
        for (const int bits : {3, 4, 5, 6, 8, 12}) {
            oracle::Instance instance;
            instance.kind = "line_buffer";
            instance.options = mapspace::MapSpaceOptions{};
            instance.yaml = machine(bits) + workload;
            const auto outcome = oracle::judge(instance);
            BOOST_TEST(outcome.error == "", bits << " bits: " << outcome.error << workload);
            judged += outcome.judged;
            if (outcome.judged && outcome.mapped) {
                gains += least_energy(instance.yaml, true) < least_energy(instance.yaml, false);
            }
        }
    }
    BOOST_TEST(judged >= 30);
    BOOST_TEST(gains >= 6);
}

BOOST_AUTO_TEST_SUITE_END()
