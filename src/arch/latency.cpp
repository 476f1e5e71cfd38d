// total_latency: evaluated once with action counts as unknowns, which leaves a postfix program.

#include <cmath>

#include "arch/component_values.hpp"
#include "spec/quantities.hpp"

namespace tessera::arch {

namespace {

using spec::Formula;
using spec::Value;

// Leaves of the formula: the action's index, or one of these.
constexpr int max_hops_leaf = -1;
constexpr int max_link_traffic_leaf = -2;

Value action_object(const ActionValues& action, int index) {
    std::vector<std::pair<std::string, Value>> attributes = {
        {"name", action.name},
        {"n_calls", Formula::leaf(index)},
        {"throughput", action.throughput_per_s},
        {"latency", action.latency_s},
        {"energy", action.energy_j},
        {"bits_per_action", action.bits_per_action},
    };
    return Value(
        spec::ObjectPtr(std::make_shared<ValueObject>("an action", std::move(attributes))));
}

/// The list of actions: iterated, or indexed by name.
class ActionList final : public spec::Object {
public:
    explicit ActionList(std::vector<Value> actions) : actions_(std::move(actions)) {}
    std::string type_name() const override {
        return "the list of actions";
    }
    std::vector<std::string> attributes() const override {
        return {};
    }
    std::unique_ptr<Value> attribute(std::string_view) const override {
        return nullptr;
    }
    std::vector<Value> elements() const override {
        return actions_;
    }

private:
    std::vector<Value> actions_;
};

spec::Expression default_latency(const ComponentSpec& component) {
    const char* text = component.kind == LevelKind::network
                           ? "max(max_hops * actions[0].latency, "
                             "max_link_traffic / actions[0].throughput)"
                           : "sum(a.n_calls / a.throughput for a in actions)";
    return spec::Expression::parse_text(text, component.where, component.path);
}

LatencyProgram::Step step_of(const Formula::Step& step) {
    using From = Formula::Op;
    using To = LatencyProgram::Op;
    if (step.op == From::leaf) {
        if (step.leaf == max_hops_leaf) {
            return {To::max_hops, 0, 0};
        }
        return step.leaf == max_link_traffic_leaf ? LatencyProgram::Step{To::max_link_traffic, 0, 0}
                                                  : LatencyProgram::Step{To::n_calls, 0, step.leaf};
    }
    static const std::map<From, To> operations = {
        {From::constant, To::constant}, {From::add, To::add},   {From::sub, To::sub},
        {From::mul, To::mul},           {From::div, To::div},   {From::max, To::max},
        {From::min, To::min},           {From::ceil, To::ceil}, {From::floor, To::floor}};
    return {operations.at(step.op), step.value, 0};
}

}  // namespace

LatencyProgram compile_latency(const ComponentSpec& component,
                               const std::vector<ActionValues>& actions,
                               const spec::Symbols& scope) {
    spec::Symbols symbols = scope.child();
    std::vector<Value> list;
    for (std::size_t i = 0; i < actions.size(); ++i) {
        list.push_back(action_object(actions[i], static_cast<int>(i)));
    }
    symbols.set("actions", Value(spec::ObjectPtr(std::make_shared<ActionList>(std::move(list)))));
    if (component.kind == LevelKind::network) {
        symbols.set("max_hops", Formula::leaf(max_hops_leaf));
        symbols.set("max_link_traffic", Formula::leaf(max_link_traffic_leaf));
    }
    const spec::Expression expression =
        component.total_latency.empty() ? default_latency(component) : component.total_latency;
    const Value value = expression.evaluate(symbols);
    LatencyProgram program;
    if (value.is<Formula>()) {
        for (const Formula::Step& step : value.as<Formula>().steps) {
            if (step.op == Formula::Op::constant && std::abs(step.value) > spec::largest_quantity &&
                !std::isinf(step.value)) {
                expression.fail("the latency has the factor " + spec::number_text(step.value),
                                "numbers up to " + spec::number_text(spec::largest_quantity));
            }
            program.steps.push_back(step_of(step));
        }
        return program;
    }
    if (!value.is<double>() || !spec::quantity().holds(value.as<double>())) {
        expression.fail(
            "a latency cannot be " + value.type_name() + " " + value.text(),
            "seconds from 0 to 1e+24, e.g. sum(a.n_calls / a.throughput for a in actions)");
    }
    program.steps.push_back({LatencyProgram::Op::constant, value.as<double>(), 0});
    return program;
}

}  // namespace tessera::arch
