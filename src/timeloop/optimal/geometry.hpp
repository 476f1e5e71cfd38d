// What the optimal search needs to know of a problem, an architecture and an objective, and the
// spatial and bypass choices that it treats as given while it splits the temporal loops.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
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
    /// Per storage level, what each word that is read, filled or updated there costs besides;
    /// empty: nothing. Prices of metrics that come before this one, see stage.hpp.
    std::vector<double> prices;
    double compute_cost = 0;  ///< of all computes
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

struct SpatialChoices {
    std::vector<SpatialChoice> list;
    double rest_cycles = HUGE_VAL;  ///< every choice that is not listed has at least so many
};

/// All spatial choices that obey the constraints, fit the fan-outs and reach the minimum
/// parallelism, by ascending cycles; one arrangement along the axes for each set of factors. Where
/// there are more than `most`, those with the fewest cycles. `many` is called once if there are
/// some thousand, before the rest is looked for.
SpatialChoices spatial_choices(const Geometry& geometry, std::size_t most,
                               const std::function<void()>& many = {});

/// One that spreads as much as it can, dimension by dimension from `first` on, without a search.
/// Empty: that breaks a constraint.
std::optional<SpatialChoice> filled_choice(const Geometry& geometry, int first);

/// Splits a block's loops along X and Y. \return false if no order and split fit.
bool arrange(const TilingLevel& level, const std::int64_t* factor, int dimensions,
             std::vector<int>& order, int& split);

}  // namespace tessera::timeloop
