// From the LoopTree to one chain of nodes per Einsum.
#include <algorithm>
#include <set>

#include "legality_internal.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace::legality {

using mapping::TreeKind;
using mapping::TreeNode;

int Leaf::first_holder(int tensor) const {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].holder() && nodes[i].tensor == tensor) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

int Leaf::node_of(const TreeNode* tree) const {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].tree == tree) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

int Leaf::line_buffer_loop(int holder) const {
    const Node& node = nodes[holder];
    if (!node.first || node.kind != Kind::storage || !node.tree->line_buffer) {
        return -1;
    }
    for (std::size_t i = holder + 1; i < nodes.size(); ++i) {
        if (nodes[i].loop() && nodes[i].trips > 1) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

std::vector<int> Leaf::loops_around(int holder) const {
    int deepest = -1;
    for (int i = 0; i <= holder; ++i) {
        if (nodes[i].holder() && nodes[i].tensor == nodes[holder].tensor) {
            deepest = std::max(deepest, nodes[i].level);
        }
    }
    std::vector<int> loops;
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
        const bool temporal = nodes[i].kind == Kind::temporal && i < holder;
        const bool spatial = nodes[i].kind == Kind::spatial && nodes[i].level <= deepest;
        if (temporal || spatial) {
            loops.push_back(i);
        }
    }
    return loops;
}

namespace {

[[noreturn]] void unknown(const TreeNode& node, const std::string& what, const std::string& name) {
    throw UserError(node.where, "unknown " + what + " '" + name + "' in the mapping");
}

/// A node of the chain, its tensors as indices into the workload, sorted, each with its place in
/// the node (looked up once a node: the chains of all Einsums share the nodes of the root).
struct ChainNode {
    const TreeNode* tree = nullptr;
    std::vector<std::pair<int, int>> tensors;
};

/// Reads the chain of one Einsum. What does not fit becomes a violation; the node is then left out.
class LeafReader {
public:
    LeafReader(Checker& checker, Leaf& leaf) : checker_(checker), leaf_(leaf) {
        last_.assign(leaf.view().rank_variables.size(), -1);
    }
    void read(const std::vector<ChainNode>& chain);

private:
    void holder(const ChainNode& node);
    void hold(const TreeNode& tree, int tensor);
    void loop(const TreeNode& tree);
    int level(const TreeNode& tree);

    Checker& checker_;
    Leaf& leaf_;
    std::vector<int> last_;  ///< per variable: innermost loop so far
};

void LeafReader::read(const std::vector<ChainNode>& chain) {
    for (const ChainNode& node : chain) {
        const TreeKind kind = node.tree->kind;
        if (kind == TreeKind::storage || kind == TreeKind::toll) {
            holder(node);
        } else if (kind == TreeKind::temporal || kind == TreeKind::spatial) {
            loop(*node.tree);
        }
    }
    for (std::size_t t = 0; t < leaf_.view().tensors.size(); ++t) {
        const int first = leaf_.first_holder(static_cast<int>(t));
        const std::string& name = leaf_.view().tensors[t].name;
        if (first < 0) {
            checker_
                .add("tensor_nowhere", Severity::physical,
                     "Einsum " + in_quotes(leaf_.view().name) + " accesses tensor " +
                         in_quotes(name) + ", which no memory above it stores",
                     &leaf_)
                .tensor = name;
        } else if (leaf_.nodes[first].kind == Kind::toll) {
            checker_.add("toll_outermost", Severity::physical,
                         "toll " + in_quotes(leaf_.level(leaf_.nodes[first]).name) +
                             " is the outermost holder of tensor " + in_quotes(name) +
                             " in Einsum " + in_quotes(leaf_.view().name) +
                             "; a toll stores nothing, a memory above it must",
                         &leaf_, &leaf_.nodes[first]);
        }
    }
}

int LeafReader::level(const TreeNode& tree) {
    const int level = leaf_.path.find_level(tree.component);
    if (level >= 0) {
        return level;
    }
    const auto& known = checker_.problem.architecture->level_names();
    if (std::find(known.begin(), known.end(), tree.component) == known.end()) {
        unknown(tree, "component", tree.component);
    }
    Violation& v = checker_.add(
        "holder_order", Severity::physical,
        "component " + in_quotes(tree.component) + " does not stand above compute " +
            in_quotes(leaf_.path.compute().name) + " of Einsum " + in_quotes(leaf_.view().name),
        &leaf_);
    v.level = tree.component;
    v.mapping_where = tree.where;
    return -1;
}

void LeafReader::holder(const ChainNode& node) {
    const auto& only = node.tree->einsums;
    if (!only.empty() && std::find(only.begin(), only.end(), leaf_.view().name) == only.end()) {
        return;
    }
    // (place in the node, local tensor): the node's order counts.
    std::vector<std::pair<int, int>> own;
    for (std::size_t t = 0; t < leaf_.view().tensors.size(); ++t) {
        const int global = leaf_.view().tensors[t].tensor;
        auto it = std::lower_bound(node.tensors.begin(), node.tensors.end(), std::pair(global, 0));
        for (; it != node.tensors.end() && it->first == global; ++it) {
            own.emplace_back(it->second, static_cast<int>(t));
        }
    }
    std::sort(own.begin(), own.end());
    for (const auto& [place, tensor] : own) {
        hold(*node.tree, tensor);
    }
}

void LeafReader::hold(const TreeNode& tree, int tensor) {
    Node node;
    node.kind = tree.kind == TreeKind::toll ? Kind::toll : Kind::storage;
    node.tree = &tree;
    node.tensor = tensor;
    node.level = level(tree);
    if (node.level < 0) {
        return;
    }
    node.first = leaf_.first_holder(tensor) < 0;
    const bool twice = std::any_of(leaf_.nodes.begin(), leaf_.nodes.end(), [&](const Node& other) {
        return other.holder() && other.tensor == tensor && other.level == node.level;
    });
    leaf_.nodes.push_back(node);
    if (twice) {
        checker_.add("tensor_twice", Severity::physical,
                     "Einsum " + in_quotes(leaf_.view().name) + " holds tensor " +
                         in_quotes(leaf_.view().tensors[tensor].name) + " twice in " +
                         in_quotes(tree.component),
                     &leaf_, &leaf_.nodes.back());
        leaf_.nodes.pop_back();
    }
}

void LeafReader::loop(const TreeNode& tree) {
    Node node;
    node.kind = tree.kind == TreeKind::spatial ? Kind::spatial : Kind::temporal;
    node.tree = &tree;
    node.tile = tree.tile_shape;
    std::string text;
    for (const std::string& name : tree.rank_variables) {
        if (checker_.workload().find_rank_variable(name) < 0) {
            unknown(tree, "rank variable", name);
        }
        text += (text.empty() ? "" : ", ") + name;
        if (const int local = leaf_.view().find_rank_variable(name);
            local >= 0 && tree.uses.empty()) {
            node.variable = local;
        }
    }
    for (const mapping::LoopUse& use : tree.uses) {
        if (use.einsum == leaf_.view().name) {
            node.variable = leaf_.view().find_rank_variable(use.rank_variable);
            node.tile = use.tile_shape;
            if (use.initial_tile_shape > 0) {
                node.prologue = use.initial_tile_shape - use.tile_shape;
                node.base = tree.n_iterations * use.tile_shape;
            }
        }
    }
    if (node.variable < 0) {
        Violation& v = checker_.add("foreign_loop", Severity::physical,
                                    "Einsum " + in_quotes(leaf_.view().name) +
                                        " stands inside a loop over " + in_quotes(text) +
                                        ", which it does not have: it would run again in "
                                        "every iteration",
                                    &leaf_);
        v.mapping_where = tree.where;
        return;
    }
    if (node.kind == Kind::spatial) {
        node.level = level(tree);
        if (node.level < 0) {
            return;
        }
        node.dim = leaf_.level(node).find_dim(tree.dim);
        if (node.dim < 0) {
            unknown(tree, "spatial dimension of '" + tree.component + "'", tree.dim);
        }
    }
    node.previous = last_[node.variable];
    node.outer = node.previous < 0
                     ? leaf_.view().rank_variables[node.variable].bound
                     : leaf_.nodes[node.previous].tile + leaf_.nodes[node.previous].prologue;
    if (node.tile >= 1) {
        const std::int64_t values = node.base > 0 ? node.base : node.outer;
        node.trips = std::max<std::int64_t>(1, (values + node.tile - 1) / node.tile);
    }
    last_[node.variable] = static_cast<int>(leaf_.nodes.size());
    leaf_.nodes.push_back(node);
}

class Walker {
public:
    explicit Walker(Checker& checker) : checker_(checker) {}

    void walk(const TreeNode& node) {
        if (node.kind == TreeKind::compute) {
            leaf(node);
            return;
        }
        const bool split = node.kind == TreeKind::sequential || node.kind == TreeKind::pipeline;
        if (node.kind != TreeKind::nested && !split) {
            chain_.push_back({&node, tensors_of(node)});
            return;
        }
        const std::size_t depth = chain_.size();
        for (const TreeNode& child : node.children) {
            walk(child);
            if (split) {
                chain_.resize(depth);
            }
        }
        chain_.resize(depth);
    }

    void missing() {
        for (std::size_t e = 0; e < checker_.workload().einsums.size(); ++e) {
            const std::string& name = checker_.workload().einsums[e].name;
            if (!seen_.count(static_cast<int>(e))) {
                checker_
                    .add("einsum_missing", Severity::physical,
                         "the mapping has no compute node for Einsum " + in_quotes(name))
                    .einsum = name;
            }
        }
    }

private:
    std::vector<std::pair<int, int>> tensors_of(const TreeNode& node) const {
        std::vector<std::pair<int, int>> result;
        for (const std::string& name : node.tensors) {
            const int tensor = checker_.workload().find_tensor(name);
            if (tensor < 0) {
                unknown(node, "tensor", name);
            }
            result.emplace_back(tensor, static_cast<int>(result.size()));
        }
        std::sort(result.begin(), result.end());
        return result;
    }

    void leaf(const TreeNode& compute) {
        const int einsum = checker_.workload().find_einsum(compute.einsum);
        if (einsum < 0) {
            unknown(compute, "Einsum", compute.einsum);
        }
        const auto& computes = checker_.problem.architecture->compute_names();
        if (std::find(computes.begin(), computes.end(), compute.component) == computes.end()) {
            unknown(compute, "compute", compute.component);
        }
        auto leaf = std::make_unique<Leaf>(einsum, checker_.paths->of(einsum, compute.component));
        leaf->compute = &compute;
        LeafReader(checker_, *leaf).read(chain_);
        if (!seen_.insert(leaf->einsum).second) {
            checker_.add("einsum_twice", Severity::physical,
                         "Einsum " + in_quotes(compute.einsum) + " is computed twice", leaf.get());
        }
        checker_.leaves.push_back(std::move(leaf));
    }

    Checker& checker_;
    std::vector<ChainNode> chain_;
    std::set<int> seen_;
};

}  // namespace

void Checker::read_leaves() {
    Walker walker(*this);
    walker.walk(mapping.root);
    walker.missing();
}

}  // namespace tessera::mapspace::legality
