// Running states of iterative ranks: counted by hand, by stepping through every iteration, and
// against brute force. A mapping that would read a state out of order is refused.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <string>

#include "oracle/full_compare.hpp"
#include "oracle/oracle_cost.hpp"
#include "oracle/oracle_tree.hpp"
#include "oracle/step_simulator.hpp"
#include "spec/reader.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/model/tree_costs.hpp"
#include "tessera/plugin/registry.hpp"

using namespace tessera;

namespace {

std::string machine(int buffer_bits) {
    const auto memory = [](const std::string& name, const std::string& size, int energy,
                           const std::string& tensors) {
        const std::string e = std::to_string(energy);
        return "  - !Memory\n    name: " + name + "\n    size: " + size +
               "\n    actions:\n    - {name: read, energy: " + e +
               ", throughput: 1}\n    - {name: write, energy: " + e +
               ", throughput: 1}\n    tensors: " + tensors + "\n";
    };
    return "arch:\n  nodes:\n" +
           memory("Main", "inf", 50, "{keep: ~Intermediates, may_keep: All}") +
           memory("Buffer", std::to_string(buffer_bits), 4, "{keep: ~Main, may_keep: All}") +
           "  - !Compute\n    name: MAC\n    spatial: [{name: X, fanout: 4}]\n"
           "    actions:\n    - {name: compute, energy: 1, throughput: 1}\n";
}

/// Running maximum of A over m; Z = A - (maximum so far).
const std::string running_maximum =
    "workload:\n  iterative_ranks: [M]\n  rank_sizes: {M: 4, P: 3}\n  bits_per_value: {All: 1}\n"
    "  einsums:\n"
    "  - {einsum: \"R[M: m + 1, p] = max(R[m, p], A[m, p])\", operation: max}\n"
    "  - {einsum: \"Z[m, p] = A[m, p] - R[M: m + 1, p]\", operation: subtract}\n";

/// `above`, then R in the buffer, then the loops over m and p, which both Einsums share as far as
/// `shared` says.
std::string tree(const std::string& above, const std::string& holder, const std::string& shared,
                 const std::string& own) {
    const std::string branch = "  - !Nested\n    nodes:\n" + own;
    return "nodes:\n- !Storage {tensors: [A, Z], component: Main}\n" + above + holder + shared +
           "- !Sequential\n  nodes:\n" + branch + "    - !Compute {einsum: R, component: MAC}\n" +
           branch + "    - !Compute {einsum: Z, component: MAC}\n";
}

const std::string state = "- !Storage {tensors: [R], component: Buffer, line_buffer: True}\n";
const std::string one_state = "- !Temporal {rank_variable: m, tile_shape: 1}\n";
const std::string all_p = "    - !Temporal {rank_variable: p, tile_shape: 1}\n";

std::string refused(const oracle::LoadedInstance& loaded, const std::string& tree) {
    const model::Problem problem{&loaded.workload, loaded.architecture.get(), arch::Compat::none};
    const auto mapping = mapping::read_mapping(spec::read_text(tree, "given"));
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const mapspace::MapSpaceOptions options;
    std::string checker, evaluation;
    for (const auto& violation : mapspace::check(problem, mapping, &options)) {
        checker += violation.severity == mapspace::Severity::physical ? violation.message : "";
    }
    try {
        model->evaluate(problem, mapping);
    } catch (const IllegalMapping& error) {
        evaluation = error.what();
    }
    BOOST_TEST(checker.empty() == evaluation.empty(), checker << " | " << evaluation);
    std::string costs;
    try {
        model::TreeCosts(problem).evaluate(mapping);
    } catch (const IllegalMapping& error) {
        costs = error.what();
    }
    BOOST_TEST(costs == evaluation);
    return checker + " | " + evaluation;
}

bool says(const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(running_state)

// R keeps 3 values in the buffer, whatever M. Main: A 12 reads for each Einsum, Z 12 writes.
// Buffer: R 12 writes; its update reads 12 - 3 (nothing before the first), its reader 12.
BOOST_AUTO_TEST_CASE(running_maximum_by_hand) {
    const oracle::LoadedInstance loaded(machine(3) + running_maximum);
    const model::Problem problem{&loaded.workload, loaded.architecture.get(), arch::Compat::none};
    const auto mapping =
        mapping::read_mapping(spec::read_text(tree("", state, one_state, all_p), "given"));
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const auto report = model->evaluate(problem, mapping);
    BOOST_TEST(report.energy_j() == 24 + 50 * (24 + 12) + 4 * (12 + 9 + 12));
    BOOST_TEST(report.peak_occupancy.at("Buffer") == 1.0);
    const mapspace::MapSpaceOptions options;
    BOOST_TEST(mapspace::check(problem, mapping, &options).empty());
}

BOOST_AUTO_TEST_CASE(out_of_order_is_refused) {
    const oracle::LoadedInstance loaded(machine(100) + running_maximum);
    const std::string own = "    - !Temporal {rank_variable: m, tile_shape: 1}\n" + all_p;
    // Each Einsum runs over all m by itself: Z would see only the last maximum.
    BOOST_TEST(says(refused(loaded, tree("", state, "", own)), "outside the"));
    // Two states at a time.
    const std::string two = "- !Temporal {rank_variable: m, tile_shape: 2}\n";
    BOOST_TEST(says(refused(loaded, tree("", state, two, own)), "2 loops"));
    // All states at once.
    const std::string spatial =
        "- !Spatial {rank_variable: m, tile_shape: 1, component: MAC, name: X}\n";
    BOOST_TEST(says(refused(loaded, tree("", state, spatial, all_p)), "at once"));
    // Another p between two states of one p.
    const std::string p_first = "- !Temporal {rank_variable: p, tile_shape: 1}\n";
    BOOST_TEST(says(refused(loaded, tree("", state, p_first + one_state, "")), "out of order"));
    BOOST_TEST(refused(loaded, tree(p_first, state, one_state, "")) == " | ");
    // The state is lost at the end of an iteration.
    BOOST_TEST(says(refused(loaded, tree(one_state, state, "", all_p)), "lose"));
    // It is not kept as one state.
    const std::string whole = "- !Storage {tensors: [R], component: Buffer}\n";
    BOOST_TEST(says(refused(loaded, tree("", whole, one_state, all_p)), "no line buffer"));
}

BOOST_AUTO_TEST_CASE(tree_costs_refuse_new_tile_shapes_of_a_known_tree) {
    const oracle::LoadedInstance loaded(machine(100) + running_maximum);
    const model::Problem problem{&loaded.workload, loaded.architecture.get(), arch::Compat::none};
    const auto with_tile = [&](int tile) {
        const std::string m = "- !Temporal {rank_variable: m, tile_shape: ";
        return mapping::read_mapping(spec::read_text(
            tree("", state, m + std::to_string(tile) + "}\n", "    " + m + "1}\n" + all_p),
            "given"));
    };
    model::TreeCosts costs(problem);
    costs.evaluate(with_tile(1));
    BOOST_CHECK_EXCEPTION(
        costs.evaluate(with_tile(2)), IllegalMapping,
        [](const IllegalMapping& error) { return says(error.what(), "split in 2"); });
}

BOOST_AUTO_TEST_CASE(every_iteration_counted_one_by_one) {
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    int chains = 0, updates = 0, last = 0;
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        const oracle::Instance drawn = oracle::random_state_instance(seed);
        const oracle::LoadedInstance instance(drawn.yaml, arch::Compat::none);
        oracle::Space space;
        try {
            space = oracle::make_space(instance.problem, drawn.options, 3'000);
        } catch (const oracle::TooMany&) {
            continue;
        }
        for (const auto& einsum : space.einsums) {
            for (const auto& group : einsum.groups) {
                for (const auto& row : group.rows) {
                    const auto& path = einsum.paths[static_cast<std::size_t>(row.path)];
                    if (path.einsum.state_variables() == 0) {
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
                        const double bits =
                            path.einsum.tensors[static_cast<std::size_t>(h.tensor)].bits_per_value;
                        BOOST_TEST(std::abs(bits * counts.reads - h.reads) < 1e-9, drawn.yaml);
                        BOOST_TEST(std::abs(bits * counts.writes - h.writes) < 1e-9, drawn.yaml);
                    }
                    ++chains;
                    for (const auto& tensor : path.einsum.tensors) {
                        updates += tensor.state == workload::StateAccess::update;
                        last += tensor.state == workload::StateAccess::last;
                    }
                }
            }
        }
    }
    BOOST_TEST(chains >= 200);
    BOOST_TEST(updates >= 50);
    BOOST_TEST(last >= 30);
}

BOOST_AUTO_TEST_CASE(brute_force_finds_nothing_better) {
    int judged = 0, mapped = 0;
    std::map<std::string, int> kinds;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        const auto drawn = oracle::random_state_instance(seed);
        const auto outcome = oracle::judge(drawn);
        BOOST_TEST(outcome.error == "",
                   "seed " << seed << " (" << drawn.kind << "): " << outcome.error);
        judged += outcome.judged;
        mapped += outcome.mapped;
        kinds[drawn.kind] += outcome.judged;
    }
    BOOST_TEST(judged >= 500);
    BOOST_TEST(mapped >= 300);
    BOOST_TEST(kinds.size() == 8u);
}

BOOST_AUTO_TEST_SUITE_END()
