// What the operations of an Einsum cost on a compute.

#include <algorithm>
#include <limits>

#include "arch/component_values.hpp"
#include "spec/quantities.hpp"

namespace tessera::arch {

namespace {

/// One operation: its own numbers, else those of the action `compute`.
struct Cost {
    double energy_j = 0, throughput_per_s = 0;
};

Cost cost_of(const ComponentValues& values, const ComponentSpec& component,
             const OperationSpec& operation, const ActionValues& action) {
    Cost cost{action.energy_j, action.throughput_per_s};
    const auto number = [&](const char* key, double scale, double& result) {
        const auto found = operation.numbers.find(key);
        if (found != operation.numbers.end()) {
            result = scale * spec::number_in(found->second, values.scope(component),
                                             action_numbers().at(key).range);
        }
    };
    number("energy", values.number(component, "energy_scale"), cost.energy_j);
    number("throughput",
           values.throughput_scale(component) * values.number(component, "n_parallel_instances"),
           cost.throughput_per_s);
    return cost;
}

}  // namespace

std::string charge_operations(const ComponentValues& values, const ComponentSpec& component,
                              const std::vector<workload::OperationCount>& operations,
                              ActionValues& action) {
    if (operations.empty()) {
        return "";
    }
    double energy_j = 0, seconds = 0;
    for (const workload::OperationCount& operation : operations) {
        Cost cost{action.energy_j, action.throughput_per_s};
        if (component.operations) {
            const auto known = std::find_if(
                component.operations->begin(), component.operations->end(),
                [&](const OperationSpec& spec) { return spec.kind == operation.kind; });
            if (known == component.operations->end()) {
                return operation.kind;
            }
            cost = cost_of(values, component, *known, action);
        }
        energy_j += operation.count * cost.energy_j;
        seconds += operation.count / cost.throughput_per_s;
    }
    action.energy_j = energy_j;
    action.throughput_per_s = seconds > 0 ? 1 / seconds : std::numeric_limits<double>::infinity();
    action.latency_s = seconds;
    return "";
}

}  // namespace tessera::arch
