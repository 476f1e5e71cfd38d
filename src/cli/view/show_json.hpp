// What `tessera show` says of a spec: the facts, and its JSON document.
#pragma once

#include <optional>
#include <string>

#include "io/json_text.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::cli::show {

/// The first sentence of the comment at the head of the file.
std::string about(const std::string& path);

double computes_of(const workload::Workload& workload, const workload::Einsum& einsum);
/// "input", "intermediate", "result"
const char* role(const workload::Tensor& tensor);
/// "memory", "toll", ...
const char* kind_name(arch::LevelKind kind);
/// The levels as the first Einsum of the workload that runs on the compute sees them.
std::optional<arch::Path> path_to(const std::string& compute,
                                  const arch::Architecture& architecture,
                                  const workload::Workload& workload);
double leak_power_w(const arch::Architecture& architecture, const workload::Workload& workload);

/// All shipped specs.
io::Json names_json();
io::Json spec_json(const std::string& name, const std::string& path);
void add_workload(io::Json& to, const workload::Workload& workload);
void add_architecture(io::Json& to, const arch::Architecture& architecture,
                      const workload::Workload& workload);

}  // namespace tessera::cli::show
