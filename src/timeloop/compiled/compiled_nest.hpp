// Perfect nests in closed form.
//
// The tile of a level visits its positions in the order of a binary counter, one bit per temporal
// loop outside it, innermost first: Timeloop runs two iterations of every loop, the second standing
// for the other n - 1. When bit q flips, the tile moves by T(q) = s(q) - sum of s(p) over p inside
// q, with s the step of one iteration. Between two flips of outer bits, bit 0 flips: every other
// move is T(0), and the rule "subtract what was there unless the step changed" comes down to
//   moves T(0)            cost R, the residue of the tile moved by T(0);
//   moves T(q) = T(0)     cost R too (the step did not change);
//   all others            cost the whole tile W, and are forgotten at once.
// With w(q) = (n(q) - 1) * product of n(p) over p outside q, the number of moves of bit q:
//   words = N' * (W + (n(0) - 1) * R) - sum over q > 0 with T(q) = T(0) of w(q) * (W - R),
// N' the product of all n but n(0). T(q) = T(0) is s(q) - S(q) = s(0) - S(0), S the prefix sums,
// whatever loop counts as number 0: one list serves all levels.
//
// A spatial block multiplies a move by its groups of elements with equal offsets. Words that a
// neighbour had one move before need the shapes of two moves to agree: R after R, or all of them
// where R is the whole tile (see links()).
#pragma once

#include <array>

#include "timeloop/model/machine.hpp"
#include "timeloop/model/nest_result.hpp"

namespace tessera::timeloop {

/// Data spaces as the closed form sees them. An offset of a data space is one integer: its ranks
/// are digits of a mixed radix wide enough that sums and differences of a few offsets stay apart,
/// so that offsets add and compare as plain integers.
class SpaceTables {
public:
    static constexpr int max_ranks = 64;

    explicit SpaceTables(const Problem& problem);

    /// False if the digits of some data space do not fit into one integer.
    bool valid() const {
        return valid_;
    }
    int dimensions() const {
        return dimensions_;
    }
    int ranks() const {
        return first_rank_.back();
    }
    /// What one step of a dimension adds to an offset; 0 if it does not move the tile.
    std::int64_t step(int space, int dimension) const {
        return steps_[space * max_dimensions + dimension];
    }
    /// A tile grows by `growth` steps of a dimension: new extents of all ranks.
    void grow(std::int64_t* extents, int dimension, std::int64_t growth) const {
        for (int t = touch_begin(dimension, 0); t < touch_begin(dimension, spaces_); ++t) {
            extents[touches_[t].rank] += touches_[t].magnitude * growth;
        }
    }
    std::uint64_t words(const std::int64_t* extents, int space) const {
        std::int64_t product = 1;
        for (int r = first_rank_[space]; r < first_rank_[space + 1]; ++r) {
            product *= extents[r];
        }
        return static_cast<std::uint64_t>(product);
    }
    /// Words of a tile that its translation by `steps` of `dimension` does not hold.
    std::uint64_t residue(const std::int64_t* extents, int space, int dimension,
                          std::int64_t steps) const;

private:
    struct Touch {  ///< a dimension in a rank
        int rank;
        std::int64_t value, magnitude;
    };
    int touch_begin(int dimension, int space) const {
        return touch_begin_[dimension * (spaces_ + 1) + space];
    }
    void add_space(const Problem& problem, int space);
    void index_touches(const Problem& problem);

    int dimensions_, spaces_;
    bool valid_ = true;
    std::vector<std::int64_t> steps_;
    std::vector<int> first_rank_;  ///< per data space, and one more
    std::vector<Touch> touches_;   ///< by dimension, then data space
    std::vector<int> touch_begin_;
};

/// Scratch of one thread.
struct NestScratch {
    struct TemporalLoop {
        int dimension;
        std::int64_t stride;
        std::uint64_t trips;
        std::uint64_t outer;  ///< product of the trips of all temporal loops outside
    };
    struct SpatialLoop {
        int dimension;
        bool along_y;
        std::int64_t stride, end;
    };
    struct Turns {                                    ///< of one data space, per temporal loop
        std::int64_t turn[FlatMapping::max_loops];    ///< s - S
        std::int64_t prefix[FlatMapping::max_loops];  ///< S
    };
    std::array<TemporalLoop, FlatMapping::max_loops> temporal;
    std::array<std::uint64_t, FlatMapping::max_loops> weights;  ///< w(q)
    std::array<SpatialLoop, FlatMapping::max_loops> spatial;
    std::vector<Turns> turns;
    // Elements of a spatial block.
    std::vector<std::int64_t> offsets;
    std::vector<int> order, group;
    std::vector<char> taken;
    std::vector<std::int64_t> rows;  ///< lowest and highest row per column
    struct Table {
        std::uint64_t multicast, groups;
        double hops;
    };
    std::vector<Table> tables, others;
    std::vector<Record> records;  ///< of one data space
};

/// What is known of all mappings. If the tables are not valid, only the as-written analysis
/// applies.
struct CompiledNest {
    CompiledNest(const Problem& problem, const Architecture& architecture, const Machine& machine,
                 const ModelOptions& options);

    const Machine& machine;
    SpaceTables tables;
    std::vector<std::int64_t> fanout_x, fanout_y;
    bool link_transfers;
};

}  // namespace tessera::timeloop
