// LoopTree -> indented text: a loop or a branch indents what it encloses.
#include "base/printable.hpp"
#include "tessera/mapping/mapping.hpp"

namespace tessera::mapping {

namespace {

std::string joined(const std::vector<std::string>& names) {
    std::string result;
    for (const std::string& name : names) {
        result += (result.empty() ? "" : " ") + base::one_line(name);
    }
    return result;
}

std::string loop_text(const TreeNode& node) {
    std::string result = node.kind == TreeKind::spatial ? "spatial " : "for ";
    if (node.uses.empty()) {
        result += joined(node.rank_variables) + " in tiles of " + std::to_string(node.tile_shape);
    } else {
        std::string uses;
        for (const LoopUse& use : node.uses) {
            uses +=
                (uses.empty() ? "" : ", ") + base::one_line(use.rank_variable) + " in tiles of " +
                std::to_string(use.tile_shape) +
                (use.initial_tile_shape > 0 ? ", first " + std::to_string(use.initial_tile_shape)
                                            : "") +
                " (" + base::one_line(use.einsum) + ")";
        }
        result += uses;
    }
    if (node.kind == TreeKind::spatial) {
        result += " over " + base::one_line(node.component + "." + node.dim);
    }
    return result;
}

std::string holder_text(const TreeNode& node) {
    std::string result = base::one_line(node.component);
    result += node.kind == TreeKind::toll ? " passes " : node.line_buffer ? " windows " : " holds ";
    result += joined(node.tensors);
    if (node.persistent) {
        result += " (persistent)";
    }
    if (!node.einsums.empty()) {
        result += " (for " + joined(node.einsums) + " only)";
    }
    return result;
}

void write(const std::vector<TreeNode>& nodes, std::string indent, std::string& out) {
    for (const TreeNode& node : nodes) {
        switch (node.kind) {
            case TreeKind::storage:
            case TreeKind::toll:
                out += indent + holder_text(node) + "\n";
                break;
            case TreeKind::temporal:
            case TreeKind::spatial:
                out += indent + loop_text(node) + "\n";
                indent += "  ";
                break;
            case TreeKind::compute:
                out += indent + "compute " + base::one_line(node.einsum) + " on " +
                       base::one_line(node.component) + "\n";
                break;
            case TreeKind::nested:
                write(node.children, indent, out);
                break;
            case TreeKind::sequential:
            case TreeKind::pipeline:
                for (std::size_t i = 0; i < node.children.size(); ++i) {
                    const bool pipeline = node.kind == TreeKind::pipeline;
                    out +=
                        indent +
                        (i == 0 ? (pipeline ? "at once" : "first") : (pipeline ? "and" : "then")) +
                        "\n";
                    write(node.children[i].children, indent + "  ", out);
                }
                break;
            case TreeKind::reservation:
                break;
        }
    }
}

}  // namespace

std::string to_text(const Mapping& mapping) {
    std::string out;
    write(mapping.root.children, "", out);
    return out;
}

}  // namespace tessera::mapping
