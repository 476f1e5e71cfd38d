// Writes a LoopTree for AccelForge, which knows neither holders for some Einsums only nor loops
// with several variables in files.
#include <algorithm>

#include "tessera/mapping/assemble.hpp"

namespace tessera::mapping {

namespace {

bool needs_extensions(const TreeNode& node) {
    return !node.einsums.empty() || !node.lower || node.line_buffer || !node.uses.empty() ||
           node.rank_variables.size() > 1 ||
           std::any_of(node.children.begin(), node.children.end(), needs_extensions);
}

}  // namespace

std::string to_accelforge_yaml(const Mapping& mapping, const workload::Workload& workload,
                               const arch::Architecture& architecture) {
    if (!needs_extensions(mapping.root)) {
        return to_yaml(mapping);
    }
    // Without neighbours a chain comes back node by node; only then are the branches joined.
    Mapping apart;
    apart.root.kind = TreeKind::nested;
    TreeNode sequential;
    sequential.kind = TreeKind::sequential;
    for (EinsumMapping& one : split(mapping, workload, architecture, arch::Compat::none)) {
        for (PmappingNode& node : one.nodes) {
            node.lower = true;
            node.line_buffer = false;
            node.prologue = node.base = 0;
        }
        sequential.children.push_back(assemble({{&one.path, one.nodes}}, {}).root);
    }
    if (sequential.children.size() == 1) {
        return to_yaml({sequential.children.front()});
    }
    apart.root.children.push_back(std::move(sequential));
    return to_yaml(apart);
}

}  // namespace tessera::mapping
