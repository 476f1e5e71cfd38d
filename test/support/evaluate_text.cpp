#include "support/evaluate_text.hpp"

#include "spec/reader.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::testing {

namespace {

const model::ComponentReport* find(const model::Report& report, const std::string& einsum,
                                   const std::string& component) {
    for (const model::EinsumReport& one : report.einsums) {
        for (const model::ComponentReport& candidate : one.components) {
            if (one.einsum == einsum && candidate.component == component) {
                return &candidate;
            }
        }
    }
    return nullptr;
}

const model::TensorReport* find(const model::Report& report, const std::string& einsum,
                                const std::string& component, const std::string& tensor) {
    const model::ComponentReport* found = find(report, einsum, component);
    for (std::size_t i = 0; found != nullptr && i < found->tensors.size(); ++i) {
        if (found->tensors[i].tensor == tensor) {
            return &found->tensors[i];
        }
    }
    return nullptr;
}

}  // namespace

arch::Architecture architecture_of(const std::string& text) {
    return arch::Architecture(spec::read_text(text, "arch.yaml"), {});
}

workload::Workload workload_of(const std::string& text) {
    return workload::read_workload(
        spec::expand_document(spec::read_text(text, "workload.yaml"), {}));
}

model::Report evaluate_text(const workload::Workload& workload,
                            const arch::Architecture& architecture, const std::string& nodes,
                            arch::Compat compat) {
    const spec::Node root = spec::read_text("mapping:\n  nodes:\n" + nodes, "mapping.yaml");
    const model::Problem problem{&workload, &architecture, compat};
    return plugin::Registry<model::CostModel>::instance()
        .create("looptree")
        ->evaluate(problem, mapping::read_mapping(*root.find("mapping")));
}

std::string refusal(const workload::Workload& workload, const arch::Architecture& architecture,
                    const std::string& nodes, arch::Compat compat) {
    try {
        evaluate_text(workload, architecture, nodes, compat);
    } catch (const IllegalMapping& error) {
        return error.what();
    }
    return "";
}

double actions(const model::Report& report, const std::string& einsum, const std::string& component,
               const std::string& tensor, const std::string& action) {
    if (tensor.empty()) {
        const model::ComponentReport* found = find(report, einsum, component);
        const auto entry = found->compute_actions.find(action);
        return entry == found->compute_actions.end() ? 0 : entry->second;
    }
    const model::TensorReport* found = find(report, einsum, component, tensor);
    const bool known = found != nullptr && found->actions.count(action) > 0;
    return known ? found->actions.at(action) : 0;
}

double energy_j(const model::Report& report, const std::string& einsum,
                const std::string& component, const std::string& tensor) {
    const model::TensorReport* found = find(report, einsum, component, tensor);
    double total = 0;
    for (std::size_t i = 0; found != nullptr && i < 1; ++i) {
        for (const auto& [action, energy] : found->energy_j) {
            total += energy;
        }
    }
    return total;
}

double latency_s(const model::Report& report, const std::string& einsum,
                 const std::string& component) {
    const model::ComponentReport* found = find(report, einsum, component);
    return found == nullptr ? 0 : found->latency_s;
}

}  // namespace tessera::testing
