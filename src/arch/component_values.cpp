#include "arch/component_values.hpp"

#include <algorithm>
#include <cmath>

#include "spec/quantities.hpp"

namespace tessera::arch {

namespace {

using spec::Value;

[[noreturn]] void fail_missing(const ComponentSpec& component, const std::string& what,
                               const std::string& key) {
    spec::fail(
        component.where, component.path,
        {what + " of '" + component.name + "' is missing", "", "the key '" + key + "'",
         component.has_model ? "models of component classes are not evaluated: give the number, or "
                               "component_class: Dummy for a component without cost"
                             : "give it, or component_class: Dummy for a component without cost"});
}

double evaluate(const std::map<std::string, spec::Expression>& numbers, const std::string& key,
                const NumberInfo& info, const spec::Symbols& symbols) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? info.otherwise
                                  : spec::number_in(found->second, symbols, info.range);
}

double action_number(const ActionSpec& action, const std::string& key, const spec::Symbols& scope) {
    return evaluate(action.numbers, key, action_numbers().at(key), scope);
}

/// Scales multiply, and so do instances: what is within its range by itself need not be together.
void check_product(double value, const std::string& what, const ComponentSpec& component,
                   const Position& where) {
    if (value > spec::largest_quantity) {
        spec::fail(
            where, component.path,
            {what + " of '" + component.name + "' is too large with all its scales",
             spec::number_text(value), "at most " + spec::number_text(spec::largest_quantity),
             "use units of another size"});
    }
}

}  // namespace

/// A component while fields are being evaluated: attributes are computed when asked for.
class ComponentValues::Live final : public spec::Object {
public:
    Live(const ComponentValues& owner, const ComponentSpec& component)
        : owner_(owner), component_(component) {}

    std::string type_name() const override {
        return "component " + component_.name;
    }

    std::vector<std::string> attributes() const override {
        std::vector<std::string> result = {"name", "spatial"};
        for (const auto& [key, info] : component_numbers()) {
            result.push_back(key);
        }
        return result;
    }

    std::unique_ptr<Value> attribute(std::string_view name) const override {
        if (name == "name") {
            return std::make_unique<Value>(component_.name);
        }
        if (name == "spatial") {
            return std::make_unique<Value>(spatial());
        }
        const std::string key(name);
        if (component_numbers().count(key) == 0) {
            return nullptr;
        }
        return std::make_unique<Value>(owner_.number(component_, key));
    }

private:
    Value spatial() const {
        std::vector<Value> dims;
        for (const DimSpec& dim : component_.spatial) {
            const double fanout = static_cast<double>(
                spec::integer_in(dim.fanout, owner_.scope(component_), spec::extent()));
            std::vector<std::pair<std::string, Value>> attributes;
            attributes.emplace_back("name", dim.name);
            attributes.emplace_back("fanout", fanout);
            dims.push_back(Value(spec::ObjectPtr(
                std::make_shared<ValueObject>("a spatial dimension", std::move(attributes)))));
        }
        return Value::list(std::move(dims));
    }

    const ComponentValues& owner_;
    const ComponentSpec& component_;
};

ComponentValues::ComponentValues(const std::vector<TreeNode>& tree, const spec::Symbols& symbols)
    : base_(symbols.child()) {
    for_each_leaf(tree, [&](const ComponentSpec& component) {
        components_.push_back(&component);
        base_.set(component.name, Value(spec::ObjectPtr(std::make_shared<Live>(*this, component))));
    });
    for (const ComponentSpec* component : components_) {
        spec::Symbols scope = base_.child();
        for (const auto& [key, expression] : component->numbers) {
            // A field that is named like a set or variable of its own text means the other one.
            const std::vector<std::string> names = expression.names();
            if (std::find(names.begin(), names.end(), key) == names.end()) {
                scope.set_lazy(key, expression);
            }
        }
        scopes_.emplace(component->name, std::move(scope));
    }
}

ComponentValues::~ComponentValues() = default;

const spec::Symbols& ComponentValues::scope(const ComponentSpec& component) const {
    // An Array has no scope of its own.
    const auto found = scopes_.find(component.name);
    return found == scopes_.end() ? base_ : found->second;
}

double ComponentValues::number(const ComponentSpec& component, const std::string& key) const {
    const NumberInfo& info = component_numbers().at(key);
    const auto found = component.numbers.find(key);
    if (found == component.numbers.end()) {
        return info.otherwise;
    }
    Memo& memo = memo_[&found->second];
    if (memo.running) {
        found->second.fail("'" + key + "' of '" + component.name + "' is defined by itself", "",
                           "break the cycle");
    }
    if (!memo.value) {
        memo.running = true;
        try {
            memo.value = spec::number_in(found->second, scope(component), info.range);
        } catch (...) {
            memo.running = false;
            throw;
        }
        memo.running = false;
    }
    return *memo.value;
}

double ComponentValues::throughput_scale(const ComponentSpec& component) const {
    const double latency_scale = number(component, "latency_scale");
    return component.numbers.count("latency_scale") != 0 ? 1 / latency_scale
                                                         : number(component, "throughput_scale");
}

double ComponentValues::leak_power_w(const ComponentSpec& component) const {
    if (component.kind == LevelKind::container) {
        return 0;
    }
    check_given(component);
    const double leak_w = number(component, "leak_power") * number(component, "leak_power_scale") *
                          number(component, "n_parallel_instances");
    check_product(leak_w, "the leak power (W)", component, component.where);
    return leak_w;
}

double ComponentValues::bank_bits(const ComponentSpec& component) const {
    const double size_bits = number(component, "size"), banks = number(component, "banks");
    if (std::isinf(banks)) {
        return 0;
    }
    const double bits = size_bits / banks;
    if (banks != std::floor(banks) || std::isinf(bits) || bits < 1 || bits != std::floor(bits)) {
        component.numbers.at("banks").fail(
            "'" + component.name + "' of " + spec::number_text(size_bits) +
                " bits does not consist of " + spec::number_text(banks) + " equal banks",
            "a whole number of banks with a whole number of bits each",
            "change banks or size, or leave banks out");
    }
    return bits;
}

void ComponentValues::check_given(const ComponentSpec& component) const {
    if (component.has_model && component.numbers.count("leak_power") == 0) {
        fail_missing(component, "the leak power (W)", "leak_power");
    }
    for (const std::string& name : action_names(component.kind)) {
        const auto action = std::ranges::find(component.actions, name, &ActionSpec::name);
        if (component.dummy) {
            continue;
        }
        if (action == component.actions.end()) {
            fail_missing(component, "the action '" + name + "'", "actions");
        }
        if (action->numbers.count("energy") == 0) {
            fail_missing(component, "the energy (J) of action '" + name + "'", "energy");
        }
        if (action->numbers.count("throughput") == 0 && action->numbers.count("latency") == 0) {
            fail_missing(component, "the throughput (actions per second) of action '" + name + "'",
                         "throughput");
        }
    }
}

std::vector<ActionValues> ComponentValues::actions(const ComponentSpec& component) const {
    check_given(component);
    const double energy_scale = number(component, "energy_scale");
    const double speed_scale =
        throughput_scale(component) * number(component, "n_parallel_instances");
    const double default_bits = number(component, "bits_per_action");
    std::vector<ActionValues> result;
    for (const std::string& name : action_names(component.kind)) {
        const auto found =
            std::find_if(component.actions.begin(), component.actions.end(),
                         [&](const ActionSpec& action) { return action.name == name; });
        ActionValues values;
        values.name = name;
        values.bits_per_action = default_bits;
        values.throughput_per_s = std::numeric_limits<double>::infinity();
        if (found == component.actions.end()) {
            result.push_back(values);
            continue;
        }
        const ActionSpec& action = *found;
        spec::Symbols scope = this->scope(component).child();
        for (const auto& [key, expression] : action.numbers) {
            const std::vector<std::string> names = expression.names();
            if (std::find(names.begin(), names.end(), key) == names.end()) {
                scope.set_lazy(key, expression);
            }
        }
        values.spec = &action;
        if (action.numbers.count("bits_per_action") != 0) {
            values.bits_per_action = action_number(action, "bits_per_action", scope);
        }
        const bool has_latency = action.numbers.count("latency") != 0;
        const bool has_throughput = action.numbers.count("throughput") != 0;
        const double action_speed = action.numbers.count("latency_scale") != 0
                                        ? 1 / action_number(action, "latency_scale", scope)
                                        : action_number(action, "throughput_scale", scope);
        const double throughput = has_throughput || !has_latency
                                      ? action_number(action, "throughput", scope)
                                      : 1 / action_number(action, "latency", scope);
        values.energy_j = action_number(action, "energy", scope) *
                          action_number(action, "energy_scale", scope) * energy_scale;
        values.throughput_per_s = throughput * action_speed * speed_scale;
        const std::string of_action = " of action '" + name + "'";
        check_product(values.energy_j, "the energy (J)" + of_action, component, action.where);
        if (!std::isinf(values.throughput_per_s)) {
            check_product(values.throughput_per_s, "the throughput" + of_action, component,
                          action.where);
        }
        check_product(1 / values.throughput_per_s, "the time (s)" + of_action, component,
                      action.where);
        values.latency_s =
            has_latency ? action_number(action, "latency", scope) : 1 / values.throughput_per_s;
        if (component.kind == LevelKind::network && !has_latency) {
            values.latency_s = 0;
        }
        result.push_back(values);
    }
    return result;
}

void ComponentValues::add_frozen(spec::Symbols& symbols) const {
    for (const ComponentSpec* component : components_) {
        const Live live(*this, *component);
        std::vector<std::pair<std::string, Value>> attributes;
        for (const std::string& name : live.attributes()) {
            try {
                attributes.emplace_back(name, *live.attribute(name));
            } catch (const UserError&) {
                // Reported when the component is used: a field may make sense for some Einsums
                // only.
                continue;
            }
        }
        symbols.set(component->name, Value(spec::ObjectPtr(std::make_shared<ValueObject>(
                                         live.type_name(), std::move(attributes)))));
    }
}

std::vector<std::string> ValueObject::attributes() const {
    std::vector<std::string> result;
    for (const auto& [name, value] : attributes_) {
        result.push_back(name);
    }
    return result;
}

std::unique_ptr<Value> ValueObject::attribute(std::string_view name) const {
    for (const auto& [key, value] : attributes_) {
        if (key == name) {
            return std::make_unique<Value>(value);
        }
    }
    return nullptr;
}

}  // namespace tessera::arch
