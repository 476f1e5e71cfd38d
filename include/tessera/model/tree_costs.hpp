// Costs of many LoopTrees of one problem, one after the other, on cost model looptree. The paths of
// the Einsums are built once; a structure (the tree without its tile shapes) is split and planned
// once, and its next trees are nothing but new tile shapes. No reports are made.
#pragma once

#include <memory>
#include <vector>

#include "tessera/mapping/mapping.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::model {

/// One Einsum of a tree; J and s, n_instances included.
struct EinsumCosts {
    int einsum = 0;  ///< index into Workload::einsums
    double energy_j = 0, latency_s = 0;
};

struct TreeTotals {
    double energy_j = 0, latency_s = 0;
    std::vector<EinsumCosts> einsums;  ///< in execution order
};

/// For one thread.
class TreeCosts {
public:
    /// `problem` outlives this.
    explicit TreeCosts(const Problem& problem);
    ~TreeCosts();

    /// The same numbers to the last bit, and the same errors, as cost model looptree gives for the
    /// mapping. Valid until the next call.
    const TreeTotals& evaluate(const mapping::Mapping& mapping);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::model
