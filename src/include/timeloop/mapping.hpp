// A Timeloop mapping: for every storage level a spatial block (inside) and a temporal block
// (outside), and the data spaces that the level keeps.
#pragma once

#include <cstdint>
#include <vector>

#include "timeloop/architecture.hpp"
#include "timeloop/problem.hpp"

namespace tessera::timeloop {

/// Bit d = data space d.
using DataSpaceMask = std::uint32_t;

/// `D=end,residual`: the loop runs `end` times, in the last pass of all outer loops over the
/// dimension `residual` times. Perfect: equal.
struct Factor {
    std::int64_t end = 1, residual = 1;

    bool perfect() const {
        return end == residual;
    }
    bool operator==(const Factor&) const = default;
};

/// The loops of one tiling level, one per dimension.
struct LoopBlock {
    std::vector<Factor> factors;   ///< per dimension
    std::vector<int> permutation;  ///< all dimensions, innermost first
    /// Spatial: the first `split` dimensions of the permutation go along X, the others along Y.
    int split = 0;

    bool operator==(const LoopBlock&) const = default;
};

struct LevelMapping {
    LoopBlock spatial;  ///< trivial where the level has no fan-out
    LoopBlock temporal;
    DataSpaceMask keep = ~DataSpaceMask{0};
    // Reuse switched off by the user, per data space.
    DataSpaceMask no_temporal_reuse = 0, no_link_transfer = 0, no_multicast_no_reduction = 0;
    /// Of partial sums the first update reads, too: no first read is left out.
    DataSpaceMask rmw_first_update = 0;
    /// What the level keeps passes through it on every access from inside, as through a converter.
    DataSpaceMask no_coalesce = 0;

    bool keeps(int data_space) const {
        return keep >> data_space & 1;
    }
    bool operator==(const LevelMapping&) const = default;
};

struct Mapping {
    std::vector<LevelMapping> levels;  ///< storage levels, innermost first

    bool operator==(const Mapping&) const = default;
};

/// A mapping with all factors 1 (identity permutations, X only), everything kept.
Mapping empty_mapping(const Problem& problem, const Architecture& architecture);

/// Product of the factors of one block along X and along Y (ends).
struct Expansion {
    std::int64_t x = 1, y = 1;
};
Expansion expansion(const LoopBlock& spatial);

/// Why a mapping cannot run, or "" if it can: factors that do not multiply to a bound, fan-outs
/// exceeded, a data space kept nowhere. Capacities are the model's business.
std::string structural_fault(const Problem& problem, const Architecture& architecture,
                             const Mapping& mapping);

// ---- The flat form that evaluators run on. -------------------------------------------------

enum class LoopKind : std::uint8_t { temporal, spatial_x, spatial_y };

inline LoopKind kind_of(bool spatial, bool along_x) {
    return !spatial ? LoopKind::temporal : along_x ? LoopKind::spatial_x : LoopKind::spatial_y;
}

/// One loop with more than one iteration.
struct Loop {
    std::uint8_t dimension = 0;
    LoopKind kind = LoopKind::temporal;
    std::int32_t end = 1, residual = 1;
};

/// All non-unit loops, innermost first, without allocation. A block without temporal loops has
/// none here; the evaluators add Timeloop's unit loop themselves.
struct FlatMapping {
    static constexpr int max_loops = 128, max_levels = 32;

    Loop loops[max_loops];
    int loop_count = 0;
    int level_end[max_levels] = {};  ///< one past the last loop of each storage level's block
    DataSpaceMask keep[max_levels] = {};
    // As in LevelMapping.
    DataSpaceMask no_temporal_reuse[max_levels] = {}, no_link_transfer[max_levels] = {},
                  no_multicast_no_reduction[max_levels] = {}, rmw_first_update[max_levels] = {},
                  no_coalesce[max_levels] = {};
    int level_count = 0;

    /// \pre loop_count < max_loops
    void add(int dimension, LoopKind kind, std::int64_t end, std::int64_t residual) {
        loops[loop_count++] = {static_cast<std::uint8_t>(dimension), kind,
                               static_cast<std::int32_t>(end), static_cast<std::int32_t>(residual)};
    }
};

/// \throws UserError if the mapping has too many loops or levels for the flat form.
void flatten(const Mapping& mapping, FlatMapping& flat);

}  // namespace tessera::timeloop
