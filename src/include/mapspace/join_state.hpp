// What joined partial mappings have in common, and how the next Einsum's loops fit onto it.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/mapspace/pmapping_table.hpp"

namespace tessera::mapspace::detail {

/// A fused loop that is still open: later Einsums run inside it.
struct OpenLoop {
    int spatial_dim = -1;  ///< -1: temporal
    std::uint32_t after =
        0;  ///< positions of loops over the same variable that must stay outside it

    auto operator<=>(const OpenLoop&) const = default;
};

/// A tensor that a later Einsum still accesses. The prologue of a line buffer is its producer's.
struct LiveTensor : HeldTensor {
    bool produced = false;  ///< a joined Einsum writes it
    /// Rank that each open loop indexes, for the loops that its producer (or first reader) runs
    /// inside; at least `level` entries unless persistent. Reads are complete only if the reader's
    /// loop indexes the same rank. A running state: the loops of all its users so far, with -1
    /// where they differ.
    std::vector<int> ranks;
    /// Bound and prologue of that rank's variable, zeros where rank is -1.
    std::vector<std::pair<std::int64_t, LoopPrologue>> bounds;

    auto operator<=>(const LiveTensor&) const = default;
};

struct StateStructure {
    std::vector<OpenLoop> loops;
    std::uint32_t breaks = 0;      ///< bit d: order is fixed across depth d
    std::vector<LiveTensor> live;  ///< sorted by tensor

    int n_loops() const {
        return static_cast<int>(loops.size());
    }
    auto operator<=>(const StateStructure&) const = default;
};

/// A tensor that both sides hold.
struct SharedTensor {
    int tracked = -1;
    int level = 0;
    int left_index = 0;   ///< of its buffer, in the state's live tensors
    int right_index = 0;  ///< in GroupStructure::tensors
};

/// Where the size of a live tensor of the joined state comes from.
struct SizeSource {
    int left = -1;   ///< index in the state's live tensors, -1: not held before
    int right = -1;  ///< index in GroupStructure::tensors, -1: not held by the right group
    int tracked = -1;
    int level = 0;
    bool counts = true;  ///< false: it lives in another tensor's buffer
};

/// One way to run the right group's Einsum inside the left state's open loops.
struct JoinPlan {
    int einsum = 0;                  ///< of the right group
    int n_left = 0, n_right = 0;     ///< open loops before, fused loops of the right group
    std::vector<int> right_of_left;  ///< left loop -> right loop
    /// Joined loop order before closing: right loop at each position; the first n_left are shared.
    std::vector<int> order;
    std::vector<int> position_of_left;  ///< left loop -> position
    int n_open = 0;                     ///< open loops afterwards
    StateStructure structure;           ///< of the joined state
    std::vector<SharedTensor> shared;
    std::vector<SizeSource> sizes;  ///< parallel to structure.live
};

/// All plans; empty if the right group cannot follow the state. `needed_later[t]`: a tensor that an
/// Einsum after the right one accesses. `reference_depth_rule`: see JoinOptions.
std::vector<JoinPlan> match(const StateStructure& left, const GroupStructure& right,
                            const std::vector<char>& needed_later, bool reference_depth_rule);

/// Whether pmappings of the structure hold these tensors so, those of them that they hold. `asked`:
/// tensor, memory and loops above its holder, tensor after tensor.
bool fits(const GroupStructure& st, const std::vector<int>& asked);

}  // namespace tessera::mapspace::detail
