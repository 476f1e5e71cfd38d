// Where energy and time go: over all shipped pairs every list adds up to the total.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <vector>

#include "io/description.hpp"
#include "model/looptree.hpp"
#include "support/paths.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace fs = std::filesystem;
using namespace tessera;
using mapping::TreeKind;
using mapping::TreeNode;

namespace {

std::vector<std::string> shipped(const char* folder) {
    std::vector<std::string> names;
    const fs::path top = fs::path(test::test_folder()).parent_path();
    for (const auto& entry : fs::directory_iterator(top / folder)) {
        if (entry.path().extension() == ".yaml") {
            names.push_back(entry.path().string());
        }
    }
    return names;
}

TreeNode holder(const std::string& memory, const std::vector<std::string>& tensors) {
    TreeNode node;
    node.kind = TreeKind::storage;
    node.component = memory;
    node.tensors = tensors;
    return node;
}

/// Loops over single values; `inner`: the first one over the first dimension of the hardware if
/// that is wide enough, and one tensor held in every inner memory.
TreeNode branch(const arch::Path& path, bool inner) {
    TreeNode result;
    const auto outermost = static_cast<std::size_t>(path.first_memory());
    const arch::PathLevel* fans = nullptr;
    for (const arch::PathLevel& level : path.levels) {
        fans = fans == nullptr && !level.spatial.empty() ? &level : fans;
    }
    for (std::size_t v = 0; v < path.einsum.rank_variables.size(); ++v) {
        const workload::LocalRankVariable& variable = path.einsum.rank_variables[v];
        TreeNode loop;
        loop.kind = TreeKind::temporal;
        loop.rank_variables = {variable.name};
        if (inner && v == 0 && fans != nullptr && variable.bound <= fans->spatial[0].fanout) {
            loop.kind = TreeKind::spatial;
            loop.component = fans->name;
            loop.dim = fans->spatial[0].name;
        }
        result.children.push_back(loop);
    }
    for (std::size_t l = outermost + 1; inner && l < path.levels.size(); ++l) {
        if (path.levels[l].kind == arch::LevelKind::memory) {
            result.children.push_back(
                holder(path.levels[l].name, {path.einsum.tensors.front().name}));
        }
    }
    TreeNode compute;
    compute.kind = TreeKind::compute;
    compute.einsum = path.einsum.name;
    compute.component = path.compute().name;
    result.children.push_back(compute);
    return result;
}

mapping::Mapping plain_mapping(const model::Problem& problem, bool inner) {
    TreeNode sequence;
    sequence.kind = TreeKind::sequential;
    std::vector<std::string> tensors;
    for (const workload::Tensor& tensor : problem.workload->tensors) {
        tensors.push_back(tensor.name);
    }
    std::string outermost;
    for (std::size_t e = 0; e < problem.workload->einsums.size(); ++e) {
        for (const std::string& compute : problem.architecture->compute_names()) {
            const arch::Path path = problem.architecture->path(
                *problem.workload, static_cast<int>(e), compute, problem.compat);
            if (path.compute().enabled) {
                sequence.children.push_back(branch(path, inner));
                outermost = path.levels[static_cast<std::size_t>(path.first_memory())].name;
                break;
            }
        }
    }
    mapping::Mapping result;
    result.root.children = {holder(outermost, tensors), sequence};
    return result;
}

template <class List, class Value>
double total(const List& list, Value value) {
    double result = 0;
    for (const auto& one : list) {
        result += value(one);
    }
    return result;
}

void check_sums(const model::Problem& problem, const mapping::Mapping& mapping,
                const model::Report& report) {
    const auto close = boost::test_tools::tolerance(1e-12);
    const io::Description described = io::describe(problem, mapping, report);
    const io::Summary& s = described.summary;
    const auto energy = [](const auto& one) { return one.energy_j; };
    BOOST_TEST(total(s.components, energy) == report.energy_j(), close);
    BOOST_TEST(total(s.einsums, energy) == report.energy_j(), close);
    BOOST_TEST(total(s.tensors, energy) == report.energy_j(), close);
    BOOST_TEST(total(s.einsums, [](const auto& e) { return e.latency_s; }) == report.latency_s(),
               close);
    BOOST_TEST(total(s.components, [](const auto& c) { return c.limits_s; }) == report.latency_s(),
               close);
    double apart_j = 0, hops_j = 0;
    for (const io::TensorSummary& tensor : s.tensors) {
        apart_j += tensor.name.front() == '(' ? tensor.energy_j : 0;
    }
    for (const io::TrafficSummary& traffic : s.traffic) {
        hops_j += traffic.hops > 0 ? traffic.energy_j : 0;
    }
    BOOST_TEST(total(s.traffic, energy) + apart_j == report.energy_j(), close);
    const std::vector<io::NodeNote>& notes = described.notes;
    BOOST_TEST(total(notes, [&](const io::NodeNote& note) { return total(note.tiles, energy); }) +
                       apart_j + hops_j ==
                   report.energy_j(),
               close);
    BOOST_TEST(s.compute_use <= 1 + 1e-12);
    BOOST_TEST(s.compute_use >= 0);
    for (const io::EinsumSummary& e : s.einsums) {  // no point lies above its roofs
        const double rate = e.latency_s > 0 ? e.computes / e.latency_s : 0;
        BOOST_TEST(rate <= e.peak_computes_per_s * (1 + 1e-12));
        if (e.traffic_bits.value_or(0) > 0 && e.memory_bits_per_s > 0) {
            BOOST_TEST(rate <= e.computes / *e.traffic_bits * e.memory_bits_per_s * (1 + 1e-12));
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(summaries_of_all_shipped_pairs_add_up) {
    const model::LoopTree looptree;
    std::vector<workload::Workload> workloads;
    for (const std::string& name : shipped("problem-shapes")) {
        workloads.push_back(workload::load_workload(name, {}));
    }
    std::size_t checked = 0, refused = 0;
    for (const std::string& name : shipped("arch-specs")) {
        const arch::Architecture architecture = arch::load_architecture(name, {});
        for (const workload::Workload& workload : workloads) {
            const model::Problem problem{&workload, &architecture, arch::Compat::none};
            BOOST_TEST_CONTEXT(name << ", " << workload.name) {
                for (const bool inner : {false, true}) {
                    try {
                        const mapping::Mapping mapping = plain_mapping(problem, inner);
                        check_sums(problem, mapping, looptree.evaluate(problem, mapping));
                        ++checked;
                    } catch (const Error& error) {
                        BOOST_TEST_MESSAGE("refused: " << error.what());
                        ++refused;  // too large for a memory, or not for this workload
                    }
                }
            }
        }
    }
    BOOST_TEST_MESSAGE(checked << " checked, " << refused << " refused");
    BOOST_TEST(checked >= 300u);
}
