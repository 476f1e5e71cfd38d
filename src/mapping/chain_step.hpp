// A node of a LoopTree with its names as indices into the workload. Looked up once a node: in a
// cascade of n Einsums, n chains share the nodes of the root.
#pragma once

#include <string>
#include <vector>

#include "tessera/arch/architecture.hpp"
#include "tessera/mapping/mapping.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapping {

struct Step {
    const TreeNode* node = nullptr;
    int origin = 0;               ///< pre-order index in the tree
    std::vector<int> tensors;     ///< of the workload; -1: unknown there
    std::vector<int> einsums;     ///< of the workload, sorted
    std::vector<int> loop_names;  ///< rank variables of the workload
    std::vector<int> uses;        ///< Einsums of `node->uses`
};

/// \throws UserError naming the node's place and the nearest known name.
[[noreturn]] void unknown(const TreeNode& node, const std::string& what, const std::string& name,
                          const std::vector<std::string>& known);

template <class Items>
std::vector<std::string> names(const Items& items) {
    std::vector<std::string> result;
    for (const auto& item : items) {
        result.push_back(item.name);
    }
    return result;
}

/// Looks names up in the workload. The reference ignores unknown tensors. \throws UserError
Step resolve(const TreeNode& node, int origin, const workload::Workload& workload,
             arch::Compat compat);

/// Index in the workload -> index in one Einsum, -1 elsewhere. One for all chains.
class LocalIndices {
public:
    explicit LocalIndices(std::size_t size) : local_(size, -1) {}
    template <class Items, class Global>
    void enter(const Items& items, Global global) {
        for (std::size_t i = 0; i < items.size(); ++i) {
            local_[global(items[i])] = static_cast<int>(i);
        }
    }
    template <class Items, class Global>
    void leave(const Items& items, Global global) {
        for (const auto& item : items) {
            local_[global(item)] = -1;
        }
    }
    int operator[](int global) const {
        return global < 0 ? -1 : local_[global];
    }

private:
    std::vector<int> local_;
};

}  // namespace tessera::mapping
