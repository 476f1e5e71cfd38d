// From the tree as written to the levels one Einsum sees. Every field is evaluated here; only what
// depends on choices of the mapper (keep, may_keep, back, orders) stays an expression.

#include "arch/path_builder.hpp"

#include <algorithm>
#include <cmath>

#include "spec/quantities.hpp"

namespace tessera::arch {

namespace {

using spec::Range;

spec::Expression tensor_constant(TensorMask mask, const ComponentSpec& component) {
    return spec::Expression::constant(spec::TensorSet{mask}, component.where, component.path);
}

bool truth_or(const spec::Expression& expression, const spec::Symbols& scope, bool otherwise) {
    return expression.empty() ? otherwise : expression.truth(scope);
}

Direction direction_of(const std::string& text) {
    return text == "up" ? Direction::up : text == "down" ? Direction::down : Direction::up_and_down;
}

}  // namespace

PathBuilder::PathBuilder(const std::vector<TreeNode>& tree, const workload::EinsumView& einsum,
                         const spec::Symbols& symbols, Compat compat)
    : tree_(tree), einsum_(einsum), symbols_(symbols), values_(tree, symbols), compat_(compat) {}

Path PathBuilder::build(const std::string& compute) {
    Path path;
    path.einsum = einsum_;
    double cumulative = 1;
    for (const FlatNode& node : flatten(tree_, compute)) {
        PathLevel level = build_level(node);
        for (const PathDim& dim : level.spatial) {
            cumulative *= static_cast<double>(dim.fanout);
            if (cumulative > spec::most_instances) {
                spec::fail(dim.where, node.component->path,
                           {"the dimensions down to '" + dim.name + "' have too many instances",
                            spec::number_text(cumulative), "at most 2^53 in all",
                            "make the fan-outs smaller"});
            }
        }
        if (path.levels.size() == spec::most_levels) {
            spec::fail(level.where, node.component->path,
                       {"more levels stand above compute '" + compute + "' than are supported",
                        level.name, "at most " + std::to_string(spec::most_levels),
                        "leave out nodes that hold nothing and spread nothing"});
        }
        level.cumulative_fanout = cumulative;
        path.levels.push_back(std::move(level));
    }
    if (path.first_memory() < 0) {
        spec::fail(
            path.levels.back().where, "",
            {"no memory stands before compute '" + compute + "'", "", "a !Memory node", "add one"});
    }
    check_bypass(path.levels[static_cast<std::size_t>(path.first_memory())]);
    path.leaks = collect_leaks(tree_, compute, values_, path);
    path.symbols = symbols_;
    values_.add_frozen(path.symbols);
    path.symbols.resolve_all();
    if (Convention::of(compat_).unknown_names_fail) {
        check_keep_names(path);
    }
    return path;
}

PathLevel PathBuilder::build_level(const FlatNode& node) {
    const ComponentSpec& component = *node.component;
    const spec::Symbols& scope = values_.scope(component);
    PathLevel level;
    level.kind = component.kind;
    level.name = component.name;
    level.where = component.where;
    level.has_latency =
        component.kind != LevelKind::container && component.kind != LevelKind::array;
    level.keep = level.back = tensor_constant(0, component);
    level.may_keep = tensor_constant(0, component);
    if (node.array != nullptr) {
        place_in_array(node, level);
    } else {
        for (const DimSpec& dim : component.spatial) {
            level.spatial.push_back(build_dim(dim, scope));
        }
    }
    if (level.has_latency) {
        build_component(component, level);
    }
    return level;
}

PathDim PathBuilder::build_dim(const DimSpec& dim, const spec::Symbols& scope) const {
    PathDim result;
    result.name = dim.name;
    result.where = dim.where;
    result.fanout = spec::integer_in(dim.fanout, scope, spec::extent());
    result.reuse = dim.reuse.empty() ? 0 : reuse_set(dim.reuse, scope);
    // `reuse` asks for more than may_reuse, so it also says what may be reused.
    result.may_reuse = !dim.may_reuse.empty() ? reuse_set(dim.may_reuse, scope)
                       : !dim.reuse.empty()   ? result.reuse
                                              : einsum_.all();
    build_bounds(dim, scope, result);
    if (!dim.min_usage.empty()) {
        const double usage = spec::number_in(dim.min_usage, scope, Range::between(0, 1));
        // A copy moves data only; asking it to fill an array makes no sense.
        result.min_usage = einsum_.is_copy_operation ? 0 : usage;
    }
    if (!dim.usage_scale.empty()) {
        result.usage_scale = spec::number_in(dim.usage_scale, scope, spec::positive_quantity());
    }
    result.power_gateable = truth_or(dim.power_gateable, scope, false);
    return result;
}

/// The reference leaves a text with an unknown name unevaluated and then asks whether a tensor's
/// name is part of the text. Under its compatibility that is what happens.
TensorMask PathBuilder::reuse_set(const spec::Expression& expression,
                                  const spec::Symbols& scope) const {
    try {
        return expression.tensors(scope);
    } catch (const spec::UnknownName&) {
        if (Convention::of(compat_).unknown_names_fail) {
            throw;
        }
    }
    TensorMask mask = 0;
    for (std::size_t t = 0; t < einsum_.tensors.size(); ++t) {
        if (expression.text().find(einsum_.tensors[t].name) != std::string::npos) {
            mask |= TensorMask{1} << t;
        }
    }
    return mask;
}

void PathBuilder::build_bounds(const DimSpec& dim, const spec::Symbols& scope,
                               PathDim& result) const {
    for (const BoundSpec& bound : dim.loop_bounds) {
        static const std::map<std::string, LoopBound::Op> operators = {
            {"==", LoopBound::Op::equal},
            {"<=", LoopBound::Op::less_equal},
            {">=", LoopBound::Op::greater_equal},
            {"<", LoopBound::Op::less},
            {">", LoopBound::Op::greater}};
        LoopBound built;
        built.where = bound.where;
        built.product = bound.op.rfind("product", 0) == 0;
        built.op = operators.at(built.product ? bound.op.substr(7) : bound.op);
        try {
            built.variables = bound.expression.rank_variables(scope);
        } catch (const spec::UnknownName&) {
            if (Convention::of(compat_).unknown_names_fail) {
                throw;
            }
            continue;
        }
        built.value = spec::number_in(bound.value, scope, spec::quantity());
        result.loop_bounds.push_back(built);
    }
}

void PathBuilder::place_in_array(const FlatNode& node, PathLevel& level) const {
    const ComponentSpec& component = *node.component;
    for (const DimSpec& dim : component.spatial) {
        const auto same = [&](const DimSpec& other) { return other.name == dim.name; };
        const auto outer =
            std::find_if(node.array->spatial.begin(), node.array->spatial.end(), same);
        if (outer == node.array->spatial.end()) {
            spec::fail(dim.where, component.path,
                       {"array '" + node.array->name + "' has no dimension of this name", dim.name,
                        "a dimension of the array", ""});
        }
        const double fanout = static_cast<double>(
            spec::integer_in(dim.fanout, values_.scope(component), spec::extent()));
        const double whole = static_cast<double>(
            spec::integer_in(outer->fanout, values_.scope(*node.array), spec::extent()));
        if (fanout > whole) {
            dim.fanout.fail("more instances than array '" + node.array->name + "' has places",
                            "at most " + spec::number_text(whole));
        }
        level.physical.push_back({dim.name, static_cast<std::int64_t>(fanout), whole / fanout});
    }
}

void PathBuilder::build_component(const ComponentSpec& component, PathLevel& level) {
    const spec::Symbols& scope = values_.scope(component);
    level.enabled = truth_or(component.enabled, scope, true);
    level.actions_scale = values_.number(component, "actions_scale");
    std::vector<ActionValues> actions = values_.actions(component);
    if (component.kind == LevelKind::compute) {
        level.lacks_operation =
            charge_operations(values_, component, einsum_.operations, actions.front());
        level.enabled = level.enabled && level.lacks_operation.empty();
    }
    for (const ActionValues& action : actions) {
        level.actions.push_back(
            {action.name, action.energy_j, action.throughput_per_s, action.latency_s, {}});
    }
    level.latency = compile_latency(component, actions, scope);
    if (component.kind == LevelKind::memory) {
        level.size_bits = values_.number(component, "size");
        level.bank_bits = values_.bank_bits(component);
    }
    level.skip_initial_output_write = truth_or(component.skip_initial_output_write, scope, true);
    level.topology = component.topology;
    if (level.holds_tensors()) {
        build_holder(component, actions, level);
    }
    if (component.kind == LevelKind::network) {
        for (const double bits : bits_per_value(component)) {
            level.actions_per_value.push_back(bits / actions[0].bits_per_action);
        }
        level.bits_per_value = bits_per_value(component);
    }
}

std::vector<double> PathBuilder::bits_per_value(const ComponentSpec& component) const {
    const spec::Symbols& scope = values_.scope(component);
    const auto own = component.bits_per_value.assign(scope);
    std::vector<double> result;
    for (std::size_t t = 0; t < einsum_.tensors.size(); ++t) {
        result.push_back(own[t] ? spec::number_in(*own[t], scope, spec::quantity())
                                : einsum_.tensors[t].bits_per_value);
    }
    return result;
}

void PathBuilder::build_holder(const ComponentSpec& component,
                               const std::vector<ActionValues>& actions, PathLevel& level) {
    const spec::Symbols& scope = values_.scope(component);
    level.bits_per_value = bits_per_value(component);
    build_values_per_action(component, actions, level);
    if (component.kind == LevelKind::toll) {
        const auto directions = component.direction.assign(scope);
        for (std::size_t t = 0; t < einsum_.tensors.size(); ++t) {
            if (!component.direction.empty() && !directions[t]) {
                spec::fail(component.where, component.path,
                           {"no direction is given for tensor '" + einsum_.tensors[t].name +
                                "' of Einsum '" + einsum_.name + "'",
                            "", "a direction for every tensor", "add e.g. Other: up_and_down"});
            }
            level.direction.push_back(
                directions[t] ? direction_of(directions[t]->evaluate(scope).as<std::string>())
                              : Direction::up_and_down);
        }
    }
    build_tensors(component, level);
}

/// Values moved by one action for each tensor, first rule that applies: values_per_action of the
/// action, of the component, bits_per_action over bits_per_value.
void PathBuilder::build_values_per_action(const ComponentSpec& component,
                                          const std::vector<ActionValues>& actions,
                                          PathLevel& level) {
    const spec::Symbols& scope = values_.scope(component);
    const auto of_component = component.values_per_action.assign(scope);
    for (std::size_t a = 0; a < actions.size(); ++a) {
        const ActionSpec* spec = actions[a].spec;
        const auto of_action =
            spec == nullptr ? spec::SetMap().assign(scope) : spec->values_per_action.assign(scope);
        for (std::size_t t = 0; t < einsum_.tensors.size(); ++t) {
            const auto& chosen = of_action[t] ? of_action[t] : of_component[t];
            level.actions[a].values_per_action.push_back(
                chosen ? spec::number_in(*chosen, scope, spec::positive_quantity())
                       : actions[a].bits_per_action / level.bits_per_value[t]);
        }
    }
}

TensorMask PathBuilder::tensors_or(const spec::Expression& expression, const spec::Symbols& scope,
                                   TensorMask otherwise) const {
    if (expression.empty()) {
        return otherwise;
    }
    try {
        return expression.tensors(scope);
    } catch (const spec::UnknownName&) {
        if (Convention::of(compat_).unknown_names_fail) {
            throw;
        }
        return otherwise;
    }
}

void PathBuilder::build_tensors(const ComponentSpec& component, PathLevel& level) {
    const TensorsSpec& tensors = component.tensors;
    const spec::Symbols& scope = values_.scope(component);
    level.has_keep = !tensors.keep.empty();
    level.has_may_keep = !tensors.may_keep.empty();
    if (level.has_keep) {
        level.keep = tensors.keep;
    }
    if (level.has_may_keep) {
        level.may_keep = tensors.may_keep;
    } else if (!level.has_keep) {
        level.may_keep = tensor_constant(einsum_.all(), component);
    }
    if (!tensors.back.empty()) {
        level.back = tensors.back;
    }
    if (component.bypass_on_overflow) {
        free_what_is_kept(component, level);
    }
    level.no_refetch_from_above = tensors_or(tensors.no_refetch_from_above, scope, 0);
    level.no_resend_to_below = tensors_or(tensors.no_resend_to_below, scope, 0);
    level.tensor_order_options = tensors.order_options;
    level.force_memory_hierarchy_order =
        truth_or(tensors.force_memory_hierarchy_order, scope, true);
}

/// What passes the outermost memory by would be stored nowhere.
void PathBuilder::check_bypass(const PathLevel& outermost) {
    if (outermost.bypass_on_overflow) {
        spec::fail(outermost.where, "",
                   {"nothing can pass by the outermost memory '" + outermost.name + "'", "bypass",
                    "on_overflow: invalid", "leave on_overflow out"});
    }
}

/// What must be kept may be, as what does not fit passes the memory by.
void PathBuilder::free_what_is_kept(const ComponentSpec& component, PathLevel& level) const {
    level.bypass_on_overflow = true;
    if (!level.has_keep) {
        return;
    }
    const TensorsSpec& tensors = component.tensors;
    level.may_keep = level.has_may_keep
                         ? spec::Expression::parse_text(
                               "(" + tensors.keep.text() + ") | (" + tensors.may_keep.text() + ")",
                               tensors.may_keep.position(), tensors.may_keep.path())
                         : tensors.keep;
    level.has_may_keep = true;
    level.has_keep = false;
    level.keep = tensor_constant(0, component);
}

/// Names in keep expressions are looked up while storage choices are made; a typing error would be
/// found only then, so it is looked for here.
void PathBuilder::check_keep_names(const Path& path) const {
    const auto check = [&](const spec::Expression& expression) {
        for (const std::string& name : expression.names()) {
            if (name == "Above" || path.symbols.contains(name)) {
                continue;
            }
            std::vector<std::string> known = path.symbols.names();
            known.push_back("Above");
            const std::string hint = spec::did_you_mean(name, known);
            const spec::Complaint complaint{
                "unknown name '" + name + "' for Einsum '" + einsum_.name + "'", expression.text(),
                "a tensor, a rename, a set such as All, or a memory", hint};
            throw spec::UnknownName(expression.position(),
                                    spec::complaint_text(expression.path(), complaint), name);
        }
    };
    for (const PathLevel& level : path.levels) {
        check(level.keep);
        check(level.may_keep);
        check(level.back);
        for (const auto& order : level.tensor_order_options) {
            std::for_each(order.begin(), order.end(), check);
        }
    }
}

}  // namespace tessera::arch
