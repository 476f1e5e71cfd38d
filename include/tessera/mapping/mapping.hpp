// The LoopTree as users read and write it: names, one tree, source positions.
//
// Storage and Toll nodes hold tensors for everything after them, Temporal and Spatial nodes loop
// over everything after them, a Sequential node runs its children one after the other, a Compute
// ends a branch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/error.hpp"

namespace tessera::spec {
struct Document;
class Node;
class Symbols;
}  // namespace tessera::spec

namespace tessera::mapping {

enum class TreeKind : std::uint8_t {
    storage,
    toll,
    temporal,
    spatial,
    sequential,
    pipeline,
    nested,
    compute,
    reservation
};

/// How one Einsum reads a shared loop.
struct LoopUse {
    std::string einsum;
    std::string rank_variable;
    std::int64_t tile_shape = 1;
    std::int64_t initial_tile_shape = 0;  ///< of the first iteration; 0: as the others
};

struct TreeNode {
    TreeKind kind = TreeKind::nested;
    std::vector<std::string> tensors;  ///< storage, toll
    std::string component;             ///< storage, toll, spatial, compute
    /// Loop variables. Several names: the one loop drives all of them, each Einsum uses the one
    /// that it has (a producer's `m` is its consumer's `p` when the tensor's rank links them).
    std::vector<std::string> rank_variables;
    std::int64_t tile_shape = 1;  ///< size handed to the body, not the trip count
    /// Loops whose variable or tile shape depends on the Einsum, written `rank_variable: {K: m, QK:
    /// p}`; then one entry for every Einsum below. Empty: rank_variables and tile_shape hold for
    /// all.
    std::vector<LoopUse> uses;
    /// Temporal loops with an initial tile shape: number of iterations, else 0.
    std::int64_t n_iterations = 0;
    std::string dim;     ///< spatial: dimension name of the component
    std::string einsum;  ///< compute
    bool persistent = false;
    bool lower = true;  ///< storage: capacity may be charged further down (PmappingNode::lower)
    bool line_buffer = false;  ///< storage: PmappingNode::line_buffer
    /// Storage, toll: only these Einsums use the holder (empty: all below). Written when an Einsum
    /// below accesses the tensor but has no such holder of its own.
    std::vector<std::string> einsums;
    std::vector<TreeNode> children;  ///< sequential: one nested node per branch; nested: the chain
    Position where;
};

struct Mapping {
    TreeNode root;  ///< a nested node
};

/// Reads the `mapping` section of a native or AccelForge file; other sections are left alone.
/// \throws UserError with file:line:column for unknown keys, wrong types and a broken structure.
/// `defines`: -D NAME=VALUE; tile shapes may be expressions over the file's `variables`.
Mapping load_mapping(const std::string& path,
                     const std::map<std::string, std::string>& defines = {});
/// The section `mapping` of a document.
Mapping read_mapping(const spec::Document& document);
/// `node`: the map under `mapping`, or the list of its nodes.
Mapping read_mapping(const spec::Node& node);
Mapping read_mapping(const spec::Node& node, const spec::Symbols& symbols);

/// Checks what needs neither workload nor architecture: every branch ends with its only Compute,
/// splits stand last, no Einsum is computed twice. \throws UserError at the node.
void check_structure(const Mapping& mapping);

/// YAML text that read_mapping reads back to an equal tree. AccelForge reads it too unless the tree
/// needs `einsums`, `lower` or a loop with several variables; see to_accelforge_yaml().
std::string to_yaml(const Mapping& mapping);

/// Indented text for people, one node a line.
std::string to_text(const Mapping& mapping);

/// A self-contained SVG drawing.
std::string to_svg(const Mapping& mapping);

}  // namespace tessera::mapping
