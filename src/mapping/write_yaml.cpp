// LoopTree -> YAML, one node a line in flow style:
//   - !Storage {tensors: [A, B], component: GlobalBuffer}
#include <algorithm>
#include <cctype>
#include <set>

#include "base/printable.hpp"
#include "tessera/mapping/mapping.hpp"

namespace tessera::mapping {

namespace {

// Names that YAML would read as something else than text, or that end a flow value, are quoted.
std::string scalar(const std::string& text) {
    static const std::set<std::string> reserved = {"y",    "n",     "yes",  "no",  "on",  "off",
                                                   "true", "false", "null", "inf", "nan", "~"};
    std::string lower;
    for (const char c : text) {
        lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const bool plain = !text.empty() &&
                       (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_') &&
                       std::all_of(text.begin(), text.end(), [](unsigned char c) {
                           return std::isalnum(c) || c == '_' || c == '.' || c == '-';
                       });
    // A one-letter n is a rank variable in most workloads, and every reader of YAML 1.2 takes it as
    // text.
    if (plain && (text == "n" || text == "y" || reserved.count(lower) == 0)) {
        return text;
    }
    return base::yaml_quoted(text);
}

std::string list(const std::vector<std::string>& names) {
    std::string result = "[";
    for (std::size_t i = 0; i < names.size(); ++i) {
        result += (i == 0 ? "" : ", ") + scalar(names[i]);
    }
    return result + "]";
}

std::string holder(const TreeNode& node) {
    std::string result =
        "{tensors: " + list(node.tensors) + ", component: " + scalar(node.component);
    if (node.persistent) {
        result += ", persistent: True";
    }
    if (!node.lower) {
        result += ", lower: False";
    }
    if (node.line_buffer) {
        result += ", line_buffer: True";
    }
    if (!node.einsums.empty()) {
        result += ", einsums: " + list(node.einsums);
    }
    return result + "}";
}

// `rank_variable: {K: m, QK: p}`, and the same for the tile shape if it differs too.
std::string uses(const TreeNode& node) {
    std::string variables, tiles, first;
    for (const LoopUse& use : node.uses) {
        const std::string einsum = (variables.empty() ? "" : ", ") + scalar(use.einsum) + ": ";
        variables += einsum + scalar(use.rank_variable);
        tiles += einsum + std::to_string(use.tile_shape);
        if (use.initial_tile_shape > 0) {
            first += (first.empty() ? "" : ", ") + scalar(use.einsum) + ": " +
                     std::to_string(use.initial_tile_shape);
        }
    }
    const bool one_tile = std::all_of(node.uses.begin(), node.uses.end(), [&](const LoopUse& use) {
        return use.tile_shape == node.uses.front().tile_shape;
    });
    return "rank_variable: {" + variables + "}, tile_shape: " +
           (one_tile ? std::to_string(node.uses.front().tile_shape) : "{" + tiles + "}") +
           (first.empty() ? ""
                          : ", initial_tile_shape: {" + first +
                                "}, n_iterations: " + std::to_string(node.n_iterations));
}

std::string loop(const TreeNode& node) {
    std::string result = "{";
    if (!node.uses.empty()) {
        result += uses(node);
    } else {
        result += "rank_variable: " +
                  (node.rank_variables.size() == 1 ? scalar(node.rank_variables.front())
                                                   : list(node.rank_variables)) +
                  ", tile_shape: " + std::to_string(node.tile_shape);
    }
    if (node.kind == TreeKind::spatial) {
        result += ", name: " + scalar(node.dim) + ", component: " + scalar(node.component);
    }
    return result + "}";
}

void write_nodes(const std::vector<TreeNode>& nodes, const std::string& indent, std::string& out) {
    for (const TreeNode& node : nodes) {
        out += indent + "- ";
        switch (node.kind) {
            case TreeKind::storage:
                out += "!Storage " + holder(node) + "\n";
                break;
            case TreeKind::toll:
                out += "!Toll " + holder(node) + "\n";
                break;
            case TreeKind::temporal:
                out += "!Temporal " + loop(node) + "\n";
                break;
            case TreeKind::spatial:
                out += "!Spatial " + loop(node) + "\n";
                break;
            case TreeKind::compute:
                out += "!Compute {einsum: " + scalar(node.einsum) +
                       ", component: " + scalar(node.component) + "}\n";
                break;
            case TreeKind::sequential:
            case TreeKind::pipeline:
            case TreeKind::nested:
            case TreeKind::reservation:
                out += node.kind == TreeKind::nested     ? "!Nested\n"
                       : node.kind == TreeKind::pipeline ? "!Pipeline\n"
                                                         : "!Sequential\n";
                out += indent + "  nodes:\n";
                write_nodes(node.children, indent + "  ", out);
                break;
        }
    }
}

}  // namespace

std::string to_yaml(const Mapping& mapping) {
    std::string out = "mapping:\n  nodes:\n";
    write_nodes(mapping.root.children, "  ", out);
    return out;
}

}  // namespace tessera::mapping
