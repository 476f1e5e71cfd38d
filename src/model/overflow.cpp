#include "model/overflow.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "model/analysis/einsum_analysis.hpp"
#include "model/analysis/joined_occupancy.hpp"
#include "model/legality.hpp"
#include "tessera/base/error.hpp"

namespace tessera::model {

namespace {

using mapping::TreeKind;
using mapping::TreeNode;

/// The nodes in pre-order, as PmappingNode::origin counts them, and those around each compute.
struct Chains {
    std::vector<TreeNode*> nodes;
    std::vector<std::vector<int>> around;  ///< per compute, in order of execution
};

void collect(TreeNode& node, std::vector<int>& chain, Chains& out) {
    const int index = static_cast<int>(out.nodes.size());
    out.nodes.push_back(&node);
    if (node.kind == TreeKind::compute) {
        out.around.push_back(chain);
        return;
    }
    const bool split = node.kind == TreeKind::sequential || node.kind == TreeKind::pipeline;
    if (node.kind != TreeKind::nested && !split) {
        chain.push_back(index);
        return;
    }
    const std::size_t depth = chain.size();
    for (TreeNode& child : node.children) {
        collect(child, chain, out);
        if (split) {
            chain.resize(depth);
        }
    }
    chain.resize(depth);
}

/// A tensor in a memory that can do without it.
struct Candidate {
    int node = 0;  ///< in pre-order
    std::string tensor;
    double bits = 0;
};

/// All Einsums of a mapping with what they hold.
struct Run {
    Run(const Problem& problem, const mapping::Mapping& mapping)
        : parts(mapping::split(mapping, *problem.paths_or_new())) {
        for (const mapping::EinsumMapping& part : parts) {
            owned.push_back(
                std::make_unique<EinsumAnalysis>(part.path, part.nodes, problem.compat));
            einsums.push_back(owned.back().get());
        }
    }

    std::vector<mapping::EinsumMapping> parts;
    std::vector<std::unique_ptr<EinsumAnalysis>> owned;
    std::vector<const EinsumAnalysis*> einsums;
};

bool passed_by(const arch::Path& path, const std::string& memory) {
    const int level = path.find_level(memory);
    return level >= 0 && path.levels[static_cast<std::size_t>(level)].bypass_on_overflow;
}

/// The largest holder in the memory among the nodes around an Einsum.
std::optional<Candidate> largest(const Run& run, const std::vector<int>& around,
                                 const std::string& memory) {
    std::optional<Candidate> result;
    for (const EinsumAnalysis* einsum : run.einsums) {
        for (const HolderCounts<double>& holder : einsum->analysis.holders) {
            const mapping::PmappingNode& node =
                einsum->nodes[static_cast<std::size_t>(holder.node)];
            if (node.backing || node.kind != mapping::NodeKind::storage ||
                einsum->tables.path().levels[static_cast<std::size_t>(node.level)].name != memory ||
                std::ranges::find(around, node.origin) == around.end()) {
                continue;
            }
            const double bits = holder.bits * (holder.persistent ? einsum->tables.n_instances : 1);
            const bool first = !result || bits > result->bits ||
                               (bits == result->bits && node.origin < result->node);
            if (first) {
                const auto tensor = static_cast<std::size_t>(node.tensor);
                result = Candidate{node.origin, einsum->einsum().tensors[tensor].name, bits};
            }
        }
    }
    return result;
}

/// What is left out of the first memory that overflows, if something can be.
std::optional<Candidate> next(const Run& run, const Chains& chains) {
    const JoinedOccupancy occupancy = joined_occupancy(run.einsums);
    for (const auto& [name, memory] : occupancy.memories) {
        const auto at = static_cast<std::size_t>(memory.peak_einsum);
        if (memory.peak_bits > arch::most_bits(memory.size_bits) &&
            passed_by(run.parts[at].path, name)) {
            if (std::optional<Candidate> found = largest(run, chains.around[at], name)) {
                return found;
            }
        }
    }
    return std::nullopt;
}

void leave_out(const Candidate& what, const Chains& chains, std::vector<std::string>& lines) {
    TreeNode& node = *chains.nodes[static_cast<std::size_t>(what.node)];
    std::erase(node.tensors, what.tensor);
    lines.push_back("'" + what.tensor + "' does not fit into '" + node.component +
                    "' and passes it by (on_overflow: bypass)");
}

void drop_empty_holders(TreeNode& node) {
    std::erase_if(node.children, [](const TreeNode& child) {
        return child.kind == TreeKind::storage && child.tensors.empty();
    });
    std::ranges::for_each(node.children, drop_empty_holders);
}

}  // namespace

SettledMapping settle_overflow(const Problem& problem, mapping::Mapping mapping) {
    SettledMapping result{std::move(mapping), {}};
    if (!problem.architecture->bypasses_on_overflow()) {
        return result;
    }
    try {
        for (;;) {
            Chains chains;
            std::vector<int> chain;
            collect(result.mapping.root, chain, chains);
            const Run run(problem, result.mapping);
            const std::optional<Candidate> found = next(run, chains);
            if (!found) {
                break;
            }
            leave_out(*found, chains, result.left_out);
            drop_empty_holders(result.mapping.root);
        }
    } catch (const IllegalMapping&) {  // NOLINT(bugprone-empty-catch): evaluation says it
    }
    return result;
}

}  // namespace tessera::model
