#pragma once

#include <string>
#include <vector>

#include "arch/component_values.hpp"
#include "tessera/arch/architecture.hpp"

namespace tessera::arch {

/// A node of the flattened path: a component, or an array whose children came before it.
struct FlatNode {
    const ComponentSpec* component = nullptr;
    const ComponentSpec* array = nullptr;  ///< for a child of an array: that array
};

/// Walks to the compute: hierarchies are inlined, forks without the compute and other computes are
/// skipped, the walk ends at the compute.
std::vector<FlatNode> flatten(const std::vector<TreeNode>& tree, const std::string& compute);

/// Evaluates one Einsum's path. `symbols` holds variables and the Einsum's sets.
class PathBuilder {
public:
    PathBuilder(const std::vector<TreeNode>& tree, const workload::EinsumView& einsum,
                const spec::Symbols& symbols, Compat compat);

    /// \throws UserError
    Path build(const std::string& compute);

private:
    PathLevel build_level(const FlatNode& node);
    PathDim build_dim(const DimSpec& dim, const spec::Symbols& scope) const;
    void build_bounds(const DimSpec& dim, const spec::Symbols& scope, PathDim& result) const;
    void build_component(const ComponentSpec& component, PathLevel& level);
    void build_holder(const ComponentSpec& component, const std::vector<ActionValues>& actions,
                      PathLevel& level);
    void build_tensors(const ComponentSpec& component, PathLevel& level);
    static void check_bypass(const PathLevel& outermost);
    void free_what_is_kept(const ComponentSpec& component, PathLevel& level) const;
    void build_values_per_action(const ComponentSpec& component,
                                 const std::vector<ActionValues>& actions, PathLevel& level);
    std::vector<double> bits_per_value(const ComponentSpec& component) const;
    void place_in_array(const FlatNode& node, PathLevel& level) const;
    TensorMask tensors_or(const spec::Expression& expression, const spec::Symbols& scope,
                          TensorMask otherwise) const;
    TensorMask reuse_set(const spec::Expression& expression, const spec::Symbols& scope) const;
    void check_keep_names(const Path& path) const;

    const std::vector<TreeNode>& tree_;
    const workload::EinsumView& einsum_;
    spec::Symbols symbols_;
    ComponentValues values_;
    Compat compat_;
};

/// What every component of the tree leaks, on the path or not, in file order.
std::vector<Leak> collect_leaks(const std::vector<TreeNode>& tree, const std::string& compute,
                                const ComponentValues& values, const Path& path);

}  // namespace tessera::arch
