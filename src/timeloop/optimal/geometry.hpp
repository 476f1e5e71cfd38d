// What the optimal search needs to know of a problem, an architecture and an objective, and the
// spatial and bypass choices that it treats as given while it splits the temporal loops.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "timeloop/mapper.hpp"
#include "timeloop/mapspace.hpp"

namespace tessera::timeloop {

using DimensionMask = std::uint32_t;

/// One rank of a data space: |coefficient| per dimension, 0 where absent.
struct RankShape {
    DimensionMask dimensions = 0;
    std::vector<std::int64_t> coefficient;

    /// Several dimensions move along it: windows overlap, neighbours forward to each other.
    bool sliding() const {
        return (dimensions & (dimensions - 1)) != 0;
    }
};

struct SpaceShape {
    DimensionMask relevant = 0;
    bool read_write = false, sliding = false;
    std::vector<RankShape> ranks;

    /// Words of a tile with these extents per dimension.
    double tile(const std::int64_t* extents) const;
    /// A window slides along a rank that d moves along.
    bool slides(int d) const {
        return std::any_of(ranks.begin(), ranks.end(), [&](const RankShape& rank) {
            return rank.sliding() && (rank.dimensions >> d & 1);
        });
    }
    /// Words that some compute uses, at least: positions that strides skip do not count.
    double distinct = 1;
};

/// Cost per vector access at one storage level. Instances that share a macro share its accesses.
struct LevelCost {
    double read = 0, fill = 0, update = 0;
    double block = 1;
    std::int64_t clusters = 1;  ///< macros of all instances; 0: every instance counts by itself
};

struct Geometry {
    Geometry(const MapSpace& space, const Objective& objective, const ModelOptions& model);

    const MapSpace& space;
    int dimensions, levels;
    std::vector<std::int64_t> bounds;
    std::vector<SpaceShape> spaces;
    std::vector<LevelCost> costs;  ///< of the linear part of the objective
    double compute_cost = 0;       ///< of all computes
    double computes = 1;
    bool elision, links;
    bool times_cycles = false;           ///< objective = linear part x cycles
    bool cycles_only = false;            ///< objective = cycles; the linear part breaks ties
    std::vector<int> temporal, spatial;  ///< tiling level of each storage level; -1: none

    double objective(double linear, double cycles) const {
        return cycles_only ? cycles : times_cycles ? linear * cycles / 1e12 : linear;
    }
};

/// Factors and axes of all spatial blocks.
struct SpatialChoice {
    /// factor[level * dimensions + d]
    std::vector<std::int64_t> factor;
    std::vector<std::vector<int>> order;  ///< per storage level: permutation, X dimensions first
    std::vector<int> split;
    double cycles = 0;  ///< of the arithmetic: computes per instance used
};

/// All spatial choices that obey the constraints, fit the fan-outs and reach the minimum
/// parallelism; one arrangement along the axes for each set of factors.
std::vector<SpatialChoice> spatial_choices(const Geometry& geometry);

/// Splits a block's loops along X and Y. \return false if no order and split fit.
bool arrange(const TilingLevel& level, const std::int64_t* factor, int dimensions,
             std::vector<int>& order, int& split);

}  // namespace tessera::timeloop
