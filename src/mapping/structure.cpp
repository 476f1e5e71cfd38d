// The shape of a LoopTree: what must stand where, whatever the names mean.
#include <set>

#include "tessera/mapping/mapping.hpp"
#include "tessera/spec/node.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::mapping {

namespace {

[[noreturn]] void fail(const TreeNode& node, const std::string& what, const std::string& remedy) {
    spec::fail(node.where, "", {.what = what, .remedy = remedy});
}

void check_chain(const TreeNode& nested, std::set<std::string>& einsums);

/// A branch that ends in one compute, without another split.
bool plain(const TreeNode& nested) {
    const TreeNode& end = nested.children.back();
    return end.kind == TreeKind::compute || (end.kind == TreeKind::nested && plain(end));
}

void check_split(const TreeNode& node, std::set<std::string>& einsums) {
    const bool pipeline = node.kind == TreeKind::pipeline;
    const std::string name = pipeline ? "!Pipeline" : "!Sequential";
    if (node.children.empty()) {
        fail(node, name + " has no branches", "give it one !Nested node per branch");
    }
    for (const TreeNode& branch : node.children) {
        if (branch.kind != TreeKind::nested) {
            fail(branch, "a branch of " + name + " must be a !Nested node", "wrap it in !Nested");
        }
        check_chain(branch, einsums);
        if (pipeline && !plain(branch)) {
            fail(branch, "a branch of !Pipeline is split again", "let every branch run one Einsum");
        }
    }
}

void check_chain(const TreeNode& nested, std::set<std::string>& einsums) {
    if (nested.children.empty()) {
        fail(nested, "this branch of the mapping is empty", "end it with a !Compute node");
    }
    for (std::size_t i = 0; i < nested.children.size(); ++i) {
        const TreeNode& node = nested.children[i];
        const bool last = i + 1 == nested.children.size();
        const bool ends = node.kind == TreeKind::compute || node.kind == TreeKind::sequential ||
                          node.kind == TreeKind::nested || node.kind == TreeKind::pipeline;
        if (ends && !last) {
            fail(nested.children[i + 1], "this node stands after the end of its branch",
                 "!Compute, !Sequential and !Nested are the last node of a branch");
        }
        if (last && !ends) {
            fail(node, "this branch of the mapping ends without a compute",
                 "end it with !Compute {einsum: ..., component: ...} or a !Sequential");
        }
        if (node.kind == TreeKind::compute && !einsums.insert(node.einsum).second) {
            fail(node, "Einsum '" + node.einsum + "' is computed twice",
                 "keep one of the branches");
        }
        if (node.kind == TreeKind::nested) {
            check_chain(node, einsums);
        }
        if (node.kind == TreeKind::sequential || node.kind == TreeKind::pipeline) {
            check_split(node, einsums);
        }
    }
}

}  // namespace

void check_structure(const Mapping& mapping) {
    std::set<std::string> einsums;
    check_chain(mapping.root, einsums);
}

}  // namespace tessera::mapping
