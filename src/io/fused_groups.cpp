#include "io/fused_groups.hpp"

#include <map>
#include <numeric>
#include <set>

#include "tessera/mapping/pmapping.hpp"

namespace tessera::io {

namespace {

using mapping::EinsumMapping;
using mapping::NodeKind;
using mapping::PmappingNode;

std::set<int> loop_origins(const EinsumMapping& einsum) {
    std::set<int> result;
    for (const PmappingNode& node : einsum.nodes) {
        if (node.kind == NodeKind::temporal || node.kind == NodeKind::spatial) {
            result.insert(node.origin);
        }
    }
    return result;
}

// Intermediates that the Einsum backs below the outermost memory (indices into the workload).
std::set<int> on_chip(const EinsumMapping& einsum) {
    std::set<int> result;
    for (const PmappingNode& node : einsum.nodes) {
        if (node.kind == NodeKind::storage && node.backing) {
            const workload::LocalTensor& tensor = einsum.path.einsum.tensors[node.tensor];
            if (tensor.intermediate && node.level != einsum.path.first_memory()) {
                result.insert(tensor.tensor);
            }
        }
    }
    return result;
}

bool intersect(const std::set<int>& a, const std::set<int>& b) {
    for (const int item : a) {
        if (b.count(item) > 0) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::vector<std::vector<std::string>> fused_groups(const model::Problem& problem,
                                                   const mapping::Mapping& mapping) {
    const std::vector<EinsumMapping> einsums =
        mapping::split(mapping, *problem.workload, *problem.architecture, problem.compat);
    std::vector<std::set<int>> loops, tensors;
    for (const EinsumMapping& einsum : einsums) {
        loops.push_back(loop_origins(einsum));
        tensors.push_back(on_chip(einsum));
    }
    std::vector<std::size_t> group(einsums.size());
    std::iota(group.begin(), group.end(), 0U);
    for (std::size_t i = 0; i < einsums.size(); ++i) {
        for (std::size_t j = i + 1; j < einsums.size(); ++j) {
            if (group[i] != group[j] &&
                (intersect(loops[i], loops[j]) || intersect(tensors[i], tensors[j]))) {
                const std::size_t from = group[j], to = group[i];
                for (std::size_t& g : group) {
                    g = g == from ? to : g;
                }
            }
        }
    }
    std::vector<std::vector<std::string>> result;
    for (std::size_t g = 0; g < einsums.size(); ++g) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < einsums.size(); ++i) {
            if (group[i] == g) {
                names.push_back(einsums[i].path.einsum.name);
            }
        }
        if (names.size() > 1) {
            result.push_back(std::move(names));
        }
    }
    return result;
}

}  // namespace tessera::io
