// From spec nodes to the tree of tree.hpp. Every key that the reference knows is accepted; those
// without effect are warned about.

#include <algorithm>
#include <cmath>
#include <set>

#include "arch/tree.hpp"
#include "spec/quantities.hpp"
#include "spec/warnings.hpp"
#include "tessera/workload/operations.hpp"
#include "workload/define_symbols.hpp"

namespace tessera::arch {

namespace {

using spec::Fields;
using spec::Node;

const std::vector<std::string>& tags() {
    static const std::vector<std::string> names = {"!Memory",    "!Toll",    "!Compute",
                                                   "!Container", "!Network", "!Hierarchical",
                                                   "!Fork",      "!Array"};
    return names;
}

class TreeReader {
public:
    explicit TreeReader(const spec::Symbols& variables) : variables_(variables) {}

    std::vector<TreeNode> read_nodes(const Node& nodes, bool in_array) {
        if (!nodes.is_sequence() || nodes.items.empty()) {
            spec::fail(nodes, {"a list of nodes is needed here, not " +
                                   (nodes.is_sequence() ? "an empty one" : nodes.describe()),
                               "", "nodes such as '- !Memory'", ""});
        }
        std::vector<TreeNode> result;
        for (const Node& item : nodes.items) {
            result.push_back(read_node(item, in_array));
        }
        return result;
    }

private:
    TreeNode read_node(const Node& node, bool in_array) {
        if (node.tag.empty()) {
            spec::fail(node, {"the node has no kind", "", spec::name_list(tags()),
                              "write e.g. '- !Memory' and the keys below it"});
        }
        static const std::map<std::string, LevelKind> leaves = {
            {"!Memory", LevelKind::memory},
            {"!Toll", LevelKind::toll},
            {"!Compute", LevelKind::compute},
            {"!Container", LevelKind::container},
            {"!Network", LevelKind::network}};
        TreeNode result;
        const auto leaf = leaves.find(node.tag);
        if (leaf != leaves.end()) {
            if (in_array && leaf->second != LevelKind::memory &&
                leaf->second != LevelKind::network) {
                spec::fail(node, {"an array cannot hold this kind of node", node.tag,
                                  "!Memory or !Network", "put it after the array"});
            }
            read_leaf(node, leaf->second, result.component);
            return result;
        }
        if (in_array) {
            spec::fail(node,
                       {"an array cannot hold branches", node.tag, "!Memory or !Network", ""});
        }
        read_branch(node, result);
        return result;
    }

    void read_branch(const Node& node, TreeNode& result) {
        Fields fields(node, "a " + node.tag.substr(1));
        if (node.tag == "!Hierarchical") {
            result.kind = TreeNode::Kind::hierarchical;
            fields.ignore("name");
        } else if (node.tag == "!Fork") {
            result.kind = TreeNode::Kind::fork;
            fields.ignore("name");
            result.forked_power_gateable =
                fields.boolean("forked_power_gateable", variables_, false);
            result.non_forked_power_gateable =
                fields.boolean("non_forked_power_gateable", variables_, false);
        } else if (node.tag == "!Array") {
            result.kind = TreeNode::Kind::array;
            result.component.kind = LevelKind::array;
            result.component.where = node.position;
            result.component.path = node.path;
            result.component.name = unique_name(fields);
            result.component.spatial = read_spatial(fields);
        } else {
            spec::fail(node, {"unknown kind of node", node.tag, spec::name_list(tags()),
                              spec::did_you_mean(node.tag, tags())});
        }
        result.children =
            read_nodes(fields.required("nodes"), result.kind == TreeNode::Kind::array);
        fields.finish();
    }

    std::string unique_name(Fields& fields) {
        const std::string name = fields.name("name");
        const Node& node = *fields.node().find("name");
        const auto& reserved = workload::reserved_set_names();
        if (std::find(reserved.begin(), reserved.end(), name) != reserved.end()) {
            spec::fail(node, {"a component cannot have the name of a set", name, "", "rename it"});
        }
        if (!names_.insert(name).second) {
            spec::fail(node, {"two nodes have this name", name, "unique names", "rename one"});
        }
        return name;
    }

    void read_leaf(const Node& node, LevelKind kind, ComponentSpec& result) {
        Fields fields(node, "a " + kind_name(kind));
        result.kind = kind;
        result.where = node.position;
        result.path = node.path;
        result.name = unique_name(fields);
        result.spatial = read_spatial(fields);
        if (kind != LevelKind::container) {
            read_component(fields, result);
        }
        if (kind == LevelKind::memory || kind == LevelKind::toll) {
            read_holder(fields, result);
        }
        if (kind == LevelKind::memory || kind == LevelKind::compute) {
            result.skip_initial_output_write = fields.set_expression("skip_initial_output_write");
        }
        if (kind == LevelKind::compute && fields.has("operations")) {
            read_operations(fields.required("operations"), result);
        }
        if (kind == LevelKind::memory) {
            fields.required("size");
            read_number(fields, "size", component_numbers(), result.numbers);
            read_number(fields, "banks", component_numbers(), result.numbers);
            result.bypass_on_overflow =
                fields.choice("on_overflow", {"invalid", "bypass"}, "invalid") == "bypass";
        }
        if (kind == LevelKind::toll) {
            const Node* direction = fields.optional("direction");
            result.direction = direction == nullptr ? spec::SetMap() : read_direction(*direction);
        }
        if (kind == LevelKind::network) {
            result.topology = fields.choice("topology", {"mesh", "all_to_all"}, "mesh") == "mesh"
                                  ? Topology::mesh
                                  : Topology::all_to_all;
            read_widths(fields, result);
        }
        fields.finish();
    }

    /// The names up, down, up_and_down are texts, not names to look up.
    spec::SetMap read_direction(const Node& direction) {
        Node literal = direction;
        const auto quote = [](Node& value) {
            static const std::vector<std::string> choices = {"up", "down", "up_and_down"};
            if (!value.is_scalar() ||
                std::find(choices.begin(), choices.end(), value.text) == choices.end()) {
                spec::fail(value, {"unknown direction", value.brief(), spec::name_list(choices),
                                   spec::did_you_mean(value.text, choices)});
            }
            value.quoted = true;
        };
        if (literal.is_map()) {
            for (Node::Entry& entry : literal.entries) {
                quote(entry.value);
            }
        } else {
            quote(literal);
        }
        return spec::SetMap(literal);
    }

    void read_component(Fields& fields, ComponentSpec& result) {
        const std::string component_class = fields.text("component_class", "");
        result.dummy = component_class == "Dummy";
        result.has_model = !component_class.empty() && !result.dummy;
        // Keys of the reference's component library, which is not evaluated here.
        for (const char* key :
             {"component_model", "extra_attributes_for_component_model", "attributes"}) {
            warn_of_library(fields, key);
        }
        // What it writes into specs that it has evaluated.
        fields.ignore("component_modeling_log");
        for (const char* key : {"total_area", "total_leak_power"}) {
            spec::warn_ignored(fields, key, "it follows from the values of one instance");
        }
        result.enabled = fields.set_expression("enabled");
        result.total_latency = fields.set_expression("total_latency");
        for (const char* key :
             {"area", "leak_power", "area_scale", "leak_power_scale", "energy_scale",
              "throughput_scale", "actions_scale", "n_parallel_instances", "latency_scale"}) {
            read_number(fields, key, component_numbers(), result.numbers);
        }
        if (result.numbers.count("latency_scale") != 0 &&
            result.numbers.count("throughput_scale") != 0) {
            spec::fail(fields.node(), {"throughput_scale and latency_scale are given", "", "one",
                                       "remove latency_scale, it is outdated"});
        }
        for (const Node* action : fields.list("actions")) {
            read_action(*action, result);
        }
    }

    void read_action(const Node& node, ComponentSpec& component) {
        Fields fields(node, "an action of a " + kind_name(component.kind));
        ActionSpec action;
        action.name = fields.name("name");
        action.where = node.position;
        action.path = node.path;
        const std::vector<std::string>& known = action_names(component.kind);
        const Node& name = *node.find("name");
        if (std::find(known.begin(), known.end(), action.name) == known.end()) {
            spec::fail(name, {"a " + kind_name(component.kind) + " has no such action", action.name,
                              spec::name_list(known), spec::did_you_mean(action.name, known)});
        }
        for (const ActionSpec& other : component.actions) {
            if (other.name == action.name) {
                spec::fail(name, {"the action is given twice", action.name, "", "remove one"});
            }
        }
        for (const char* key : {"energy", "energy_scale", "throughput", "throughput_scale",
                                "latency", "latency_scale"}) {
            read_number(fields, key, action_numbers(), action.numbers);
        }
        if (component.kind != LevelKind::compute) {
            read_number(fields, "bits_per_action", action_numbers(), action.numbers);
            action.values_per_action = fields.set_map("values_per_action");
        }
        warn_of_library(fields, "extra_attributes_for_component_model");
        if (action.numbers.count("latency_scale") != 0 &&
            action.numbers.count("throughput_scale") != 0) {
            spec::fail(node, {"throughput_scale and latency_scale are given", "", "one",
                              "remove latency_scale, it is outdated"});
        }
        warn_of_latency(node, action, component);
        fields.finish();
        component.actions.push_back(std::move(action));
    }

    void warn_of_library(Fields& fields, const char* key) {
        spec::warn_ignored(fields, key, "component models are not evaluated, give the numbers");
    }

    /// Beside a throughput the latency of an action counts in networks and where `total_latency`
    /// asks for it. 0 and 1 / throughput say nothing more.
    void warn_of_latency(const Node& node, const ActionSpec& action,
                         const ComponentSpec& component) {
        const auto latency = action.numbers.find("latency");
        const auto throughput = action.numbers.find("throughput");
        if (latency == action.numbers.end() || throughput == action.numbers.end() ||
            component.kind == LevelKind::network ||
            component.total_latency.text().find("latency") != std::string::npos) {
            return;
        }
        if (is_constant(latency->second) && is_constant(throughput->second)) {
            const double latency_s = latency->second.number(variables_);
            const double per_s = throughput->second.number(variables_);
            if (latency_s == 0 || std::abs(latency_s * per_s - 1) < 1e-9) {
                return;
            }
        }
        spec::warn(node.find_entry("latency")->key_position, node.path,
                   {"'latency' has no effect beside 'throughput'", latency->second.text(), "",
                    "AccelForge versions that give it a meaning take it as the time in which a "
                    "call winds up; 'total_latency' of the component can add it"});
    }

    /// `operations: {mac: , exp: {throughput: 1e9}}`, or a list of kinds.
    void read_operations(const Node& node, ComponentSpec& component) {
        std::vector<OperationSpec>& operations = component.operations.emplace();
        const auto add = [&](const std::string& kind, const Node& where) -> OperationSpec& {
            const std::vector<std::string>& known = workload::operation_kinds();
            if (std::find(known.begin(), known.end(), kind) == known.end()) {
                spec::fail(where, {"unknown operation", kind, spec::name_list(known),
                                   spec::did_you_mean(kind, known)});
            }
            return operations.emplace_back(OperationSpec{kind, {}});
        };
        if (node.is_sequence()) {
            for (const Node& item : node.items) {
                if (!item.is_scalar()) {
                    spec::fail(item,
                               {"the name of an operation is needed here, not " + item.describe(),
                                "", "e.g. mac", ""});
                }
                add(item.text, item);
            }
            return;
        }
        if (!node.is_map()) {
            spec::fail(node,
                       {"operations are written as a map or a list, not as " + node.describe(), "",
                        "e.g. {mac: , exp: {throughput: 1e9}}", ""});
        }
        for (const Node::Entry& entry : node.entries) {
            OperationSpec& operation = add(entry.key, entry.value);
            Fields fields(entry.value, "an operation");
            for (const char* key : {"energy", "throughput"}) {
                read_number(fields, key, action_numbers(), operation.numbers);
            }
            fields.finish();
        }
    }

    void read_number(Fields& fields, const std::string& key,
                     const std::map<std::string, NumberInfo>& infos,
                     std::map<std::string, spec::Expression>& numbers) {
        const spec::Expression expression = fields.expression(key);
        if (expression.empty()) {
            return;
        }
        numbers[key] = expression;
        // What does not depend on an Einsum is checked now, so that a wrong value is found even
        // in a component that no Einsum uses.
        if (is_constant(expression)) {
            spec::number_in(expression, variables_, infos.at(key).range);
        }
    }

    bool is_constant(const spec::Expression& expression) const {
        const std::vector<std::string> names = expression.names();
        return std::all_of(names.begin(), names.end(),
                           [&](const std::string& name) { return variables_.contains(name); });
    }

    void read_widths(Fields& fields, ComponentSpec& result) {
        result.bits_per_value = fields.set_map("bits_per_value");
        read_number(fields, "bits_per_action", component_numbers(), result.numbers);
    }

    void read_holder(Fields& fields, ComponentSpec& result) {
        read_widths(fields, result);
        result.values_per_action = fields.set_map("values_per_action");
        const Node* tensors = fields.optional("tensors");
        if (tensors != nullptr) {
            read_tensors(*tensors, result.tensors);
        }
    }

    void read_tensors(const Node& node, TensorsSpec& result) {
        Fields fields(node, "'tensors'");
        result.keep = fields.set_expression("keep");
        result.may_keep = fields.set_expression("may_keep");
        result.back = fields.set_expression("back");
        result.no_refetch_from_above = fields.set_expression("no_refetch_from_above");
        result.no_resend_to_below = fields.set_expression("no_resend_to_below");
        result.force_memory_hierarchy_order = fields.set_expression("force_memory_hierarchy_order");
        for (const Node* option : fields.list("tensor_order_options")) {
            if (!option->is_sequence()) {
                spec::fail(*option, {"an order is a list of sets, not " + option->describe(), "",
                                     "e.g. [weight, input | output]", ""});
            }
            std::vector<spec::Expression> order;
            for (const Node& set : option->items) {
                order.push_back(spec::set_expression_of(set));
            }
            result.order_options.push_back(std::move(order));
        }
        // Of no effect in the reference either.
        spec::warn_ignored(fields, "tile_shape",
                           "'loop_bounds' of a spatial dimension limits loops");
        fields.finish();
    }

    std::vector<DimSpec> read_spatial(Fields& owner) {
        std::vector<DimSpec> result;
        for (const Node* item : owner.list("spatial")) {
            Fields fields(*item, "a spatial dimension");
            DimSpec dim;
            dim.where = item->position;
            dim.name = fields.name("name");
            for (const DimSpec& other : result) {
                if (other.name == dim.name) {
                    spec::fail(*item->find("name"),
                               {"two spatial dimensions of a node have this name", dim.name, "",
                                "rename one"});
                }
            }
            fields.required("fanout");
            dim.fanout = fields.expression("fanout");
            check_constant_fanout(dim.fanout);
            dim.may_reuse = fields.set_expression("may_reuse");
            dim.reuse = fields.set_expression("reuse");
            dim.min_usage = fields.expression("min_usage");
            dim.usage_scale = fields.expression("usage_scale");
            dim.power_gateable = fields.set_expression("power_gateable");
            for (const Node* bound : fields.list("loop_bounds")) {
                dim.loop_bounds.push_back(read_bound(*bound));
            }
            fields.finish();
            if (result.size() == spec::most_dimensions) {
                spec::fail(*item, {"the node has more spatial dimensions than are supported",
                                   dim.name, "at most " + std::to_string(spec::most_dimensions),
                                   "give some of them to a !Container of its own"});
            }
            result.push_back(std::move(dim));
        }
        return result;
    }

    void check_constant_fanout(const spec::Expression& fanout) const {
        for (const std::string& name : fanout.names()) {
            if (!variables_.contains(name)) {
                return;
            }
        }
        spec::integer_in(fanout, variables_, spec::extent());
    }

    static BoundSpec read_bound(const Node& node) {
        Fields fields(node, "a loop bound");
        BoundSpec bound;
        bound.where = node.position;
        fields.required("expression");
        bound.expression = fields.set_expression("expression");
        fields.required("operator");
        bound.op = fields.choice("operator",
                                 {"==", "<=", ">=", "<", ">",
                                  "product==", "product<=", "product>=", "product<", "product>"},
                                 "");
        fields.required("value");
        bound.value = fields.expression("value");
        fields.finish();
        return bound;
    }

    const spec::Symbols& variables_;
    std::set<std::string> names_;
};

}  // namespace

std::vector<TreeNode> read_tree(const Node& nodes, const spec::Symbols& variables) {
    return TreeReader(variables).read_nodes(nodes, false);
}

}  // namespace tessera::arch
