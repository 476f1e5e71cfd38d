// Gaps of a chain, and where a loop over a variable may stand given the holders: section 2 of
// docs/mapspace.md. Loops of one trip and tolls are left out.
#pragma once

#include <utility>
#include <vector>

#include "legality_internal.hpp"

namespace tessera::mapspace::legality {

/// Of a loop: the gap below holder `gap` (-1: above all), and its kind.
struct Place {
    int gap = -1, level = -1, dim = -1;  ///< level < 0: temporal
    bool temporal() const {
        return level < 0;
    }
};

class Places {
public:
    Places(const Leaf& leaf, const MapSpaceOptions& options);

    /// Memory holders from above, as indices into the nodes.
    const std::vector<int>& holders() const {
        return holders_;
    }
    /// Loops of more than one trip in the gap, as indices into the nodes.
    std::vector<int> loops_in(int gap) const;
    Place place_of(int loop) const;

    /// Tensors that are first held below the gap.
    workload::TensorMask unseen(int gap) const;
    bool fused(int gap) const {
        return (unseen(gap) & leaf_.view().fusable()) != 0;
    }
    /// First of the holders above the gap that no loop separates: a written tree does not say in
    /// which order the chain has them, as those of several branches stand above the split.
    int run_begin(int gap) const;
    /// The loop with which a line buffer right above the gap moves; -1: there is none.
    int window(int gap) const;
    /// L3: the gap of the spatial loops of a level.
    int spatial_gap(int level) const;
    /// L1: a tensor that forbids the loop; -1: none does.
    int unindexed(int variable, const Place& place) const;
    /// L5 with `holder` right above the gap: no such temporal loop stands there.
    bool belongs_above(int variable, int gap, int holder) const;
    bool has_network() const {
        return leaf_.path.spreads_over_network(static_cast<int>(leaf_.path.levels.size()) - 1);
    }
    /// C1 and fan-outs of one instance, besides L1 and L3.
    bool spatial_fits(int variable, int level, int dim) const;

    /// Places further in than that of the loop that could hold one over its variable (L8, L6), as
    /// far as the place of the next such loop.
    std::vector<Place> further(int loop) const;

private:
    /// From the first node of the gap to the holder below.
    std::pair<int, int> nodes_in(int gap) const;
    /// Tolls of the gap that a spatial loop stands below.
    int tolls_outside(const Place& place) const;
    bool temporal_fits(int variable, int gap) const;
    bool crosses(int variable, int gap) const;
    bool refetches_allow(int variable, int gap) const;
    void find_places(int variable);

    const Leaf& leaf_;
    const MapSpaceOptions& options_;
    std::vector<int> holders_;
    std::vector<std::vector<Place>> places_;  ///< per variable, from the outside to the inside
};

}  // namespace tessera::mapspace::legality
