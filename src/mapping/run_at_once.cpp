// Branches of a !Sequential become a !Pipeline.
#include <algorithm>

#include "tessera/base/error.hpp"
#include "tessera/mapping/assemble.hpp"

namespace tessera::mapping {

namespace {

/// The only Einsum of a branch that is not split, or "".
std::string einsum_of(const TreeNode& branch) {
    const TreeNode& end = branch.children.back();
    return end.kind == TreeKind::compute  ? end.einsum
           : end.kind == TreeKind::nested ? einsum_of(end)
                                          : "";
}

bool make_pipeline(TreeNode& node, const std::vector<std::string>& einsums) {
    if (node.kind == TreeKind::sequential) {
        const auto mine = [&](const TreeNode& branch) {
            return std::ranges::find(einsums, einsum_of(branch)) != einsums.end();
        };
        const auto first = std::find_if(node.children.begin(), node.children.end(), mine);
        const auto last = std::find_if_not(first, node.children.end(), mine);
        if (static_cast<std::size_t>(last - first) == einsums.size()) {
            if (einsums.size() == node.children.size()) {
                node.kind = TreeKind::pipeline;
                return true;
            }
            TreeNode pipeline;
            pipeline.kind = TreeKind::pipeline;
            pipeline.children.assign(first, last);
            TreeNode branch;
            branch.kind = TreeKind::nested;
            branch.children.push_back(std::move(pipeline));
            *first = std::move(branch);
            node.children.erase(first + 1, last);
            return true;
        }
    }
    return std::ranges::any_of(node.children,
                               [&](TreeNode& child) { return make_pipeline(child, einsums); });
}

}  // namespace

void run_at_once(Mapping& mapping, const std::vector<std::string>& einsums) {
    if (!make_pipeline(mapping.root, einsums)) {
        throw Bug("Einsums that shall run at once are not neighbouring branches of one split");
    }
}

}  // namespace tessera::mapping
