// Evaluates mappings written in a test, on architectures and workloads written there or named.
#pragma once

#include <map>
#include <string>

#include "tessera/arch/architecture.hpp"
#include "tessera/model/report.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::testing {

using Defines = std::map<std::string, std::string>;

/// `text`: the whole file.
arch::Architecture architecture_of(const std::string& text);
workload::Workload workload_of(const std::string& text);

/// `nodes`: the list under `mapping: nodes:`, indented by two spaces or more.
model::Report evaluate_text(const workload::Workload& workload,
                            const arch::Architecture& architecture, const std::string& nodes,
                            arch::Compat compat);

/// The error text of an illegal mapping, "" if it is legal.
std::string refusal(const workload::Workload& workload, const arch::Architecture& architecture,
                    const std::string& nodes, arch::Compat compat);

/// Figures by name; 0 if there is no such row.
double actions(const model::Report& report, const std::string& einsum, const std::string& component,
               const std::string& tensor, const std::string& action);
double energy_j(const model::Report& report, const std::string& einsum,
                const std::string& component, const std::string& tensor);
double latency_s(const model::Report& report, const std::string& einsum,
                 const std::string& component);

}  // namespace tessera::testing
