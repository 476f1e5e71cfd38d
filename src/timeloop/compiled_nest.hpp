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

#include "timeloop/linear_map.hpp"
#include "timeloop/machine.hpp"
#include "timeloop/nest_result.hpp"

namespace tessera::timeloop {

/// Scratch of one thread.
struct NestScratch {
    struct TemporalLoop {
        std::uint8_t dimension;
        std::int64_t stride;
        std::uint64_t trips;
        std::uint64_t outer;  ///< product of the trips of all temporal loops outside
    };
    struct SpatialLoop {
        std::uint8_t dimension;
        bool along_y;
        std::int64_t stride, end;
    };
    std::vector<TemporalLoop> temporal;
    std::vector<SpatialLoop> spatial;
    // Per data space and temporal loop: prefix sum S, and s - S.
    std::vector<std::int64_t> prefix, turn;
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

class CompiledNest {
public:
    CompiledNest(const Problem& problem, const Architecture& architecture, const Machine& machine,
                 const ModelOptions& options);

    /// False if offsets do not fit the linear form: only the as-written analysis applies.
    bool valid() const {
        return valid_;
    }

    Fit check_capacity(const FlatMapping& mapping) const;

    /// \pre valid(), all loops perfect. Returns false if a count is too large to be exact.
    bool analyse(const FlatMapping& mapping, NestScratch& scratch, NestResult& result) const;

private:
    friend class NestRun;
    const Machine& machine_;
    std::vector<LinearMap> maps_;
    int dimensions_, ranks_ = 0;
    std::vector<int> first_rank_;
    std::vector<std::int64_t> fanout_x_, fanout_y_;
    bool link_transfers_, valid_ = true;
};

}  // namespace tessera::timeloop
