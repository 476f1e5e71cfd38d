#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/fields.hpp"
#include "spec/set_map.hpp"
#include "tessera/arch/path.hpp"

// The architecture as written: structure, keys and syntax are checked, values are not evaluated.

namespace tessera::arch {

struct BoundSpec {
    spec::Expression expression;
    std::string op;
    spec::Expression value;
    Position where;
};

struct DimSpec {
    std::string name;
    spec::Expression fanout;
    spec::Expression may_reuse, reuse;
    std::vector<BoundSpec> loop_bounds;
    spec::Expression min_usage, usage_scale, power_gateable;
    Position where;
};

struct ActionSpec {
    std::string name;
    std::map<std::string, spec::Expression> numbers;  ///< by key; see action_numbers()
    spec::SetMap values_per_action;
    Position where;
    std::string path;
};

/// What one operation costs on a compute; absent: as its action `compute`.
struct OperationSpec {
    std::string kind;
    std::map<std::string, spec::Expression> numbers;  ///< energy, throughput
};

struct TensorsSpec {
    spec::Expression keep, may_keep, back, no_refetch_from_above, no_resend_to_below;
    spec::Expression force_memory_hierarchy_order;
    std::vector<std::vector<spec::Expression>> order_options;
};

struct ComponentSpec {
    LevelKind kind = LevelKind::memory;
    std::string name;
    bool dummy = false;      ///< component_class Dummy: no energy, infinitely fast, no leak
    bool has_model = false;  ///< component_class of a model we do not have
    bool bypass_on_overflow = false;
    std::map<std::string, spec::Expression> numbers;  ///< by key; see component_numbers()
    spec::Expression enabled, total_latency, skip_initial_output_write;
    std::vector<DimSpec> spatial;
    std::vector<ActionSpec> actions;
    /// Compute: what it can do; nothing given: everything, an operation for one action.
    std::optional<std::vector<OperationSpec>> operations;
    TensorsSpec tensors;
    spec::SetMap bits_per_value, values_per_action, direction;
    Topology topology = Topology::mesh;
    Position where;
    std::string path;
};

/// A leaf (component), or a branch with children.
struct TreeNode {
    enum class Kind { leaf, hierarchical, fork, array };
    Kind kind = Kind::leaf;
    ComponentSpec component;  ///< leaf; array: name and spatial only
    std::vector<TreeNode> children;
    bool forked_power_gateable = false;
    bool non_forked_power_gateable = false;

    bool contains(const std::string& component_name) const;
};

/// What a numeric key may be and what it is when absent.
struct NumberInfo {
    double otherwise = 0;
    spec::Range range;
};

/// Numeric keys of components and actions. Absent keys that have no default are decided by the
/// component (see build_path.cpp).
const std::map<std::string, NumberInfo>& component_numbers();
const std::map<std::string, NumberInfo>& action_numbers();

/// Reads the nodes of `arch`. \throws UserError
std::vector<TreeNode> read_tree(const spec::Node& nodes, const spec::Symbols& variables);

/// Calls `visit(const ComponentSpec&)` for every leaf (containers included) in file order.
template <class Visit>
void for_each_leaf(const std::vector<TreeNode>& nodes, const Visit& visit) {
    for (const TreeNode& node : nodes) {
        if (node.kind == TreeNode::Kind::leaf) {
            visit(node.component);
        }
        for_each_leaf(node.children, visit);
    }
}

std::string kind_name(LevelKind kind);
/// Names of the actions of a kind in the order of PathLevel::actions.
const std::vector<std::string>& action_names(LevelKind kind);

}  // namespace tessera::arch
