#include "io/fused_groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

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

// Groups of Einsums that were found to belong together (union by the lowest member).
class Groups {
public:
    explicit Groups(std::size_t count) : parent_(count) {
        std::iota(parent_.begin(), parent_.end(), 0U);
    }
    std::size_t of(std::size_t einsum) {
        while (parent_[einsum] != einsum) {
            einsum = parent_[einsum] = parent_[parent_[einsum]];
        }
        return einsum;
    }
    void join(std::size_t a, std::size_t b) {
        const std::size_t x = of(a), y = of(b);
        parent_[std::max(x, y)] = std::min(x, y);
    }

private:
    std::vector<std::size_t> parent_;
};

}  // namespace

std::vector<std::vector<std::string>> fused_groups(const std::vector<EinsumMapping>& einsums) {
    Groups groups(einsums.size());
    std::map<int, std::size_t> loop_users, tensor_users;
    for (std::size_t i = 0; i < einsums.size(); ++i) {
        for (const int loop : loop_origins(einsums[i])) {
            groups.join(i, loop_users.try_emplace(loop, i).first->second);
        }
        for (const int tensor : on_chip(einsums[i])) {
            groups.join(i, tensor_users.try_emplace(tensor, i).first->second);
        }
    }
    std::vector<std::vector<std::string>> members(einsums.size());
    for (std::size_t i = 0; i < einsums.size(); ++i) {
        members[groups.of(i)].push_back(einsums[i].path.einsum.name);
    }
    std::vector<std::vector<std::string>> result;
    for (std::vector<std::string>& names : members) {
        if (names.size() > 1) {
            result.push_back(std::move(names));
        }
    }
    return result;
}

}  // namespace tessera::io
