// One analysis of a perfect nest in closed form; see compiled_nest.hpp for the derivation.
//   compiled_nest.cpp      loops, moves, levels without fan-out
//   compiled_spatial.cpp   spatial blocks: groups, hops, neighbours
#pragma once

#include "compiled_nest.hpp"

namespace tessera::timeloop {

class NestRun {
public:
    NestRun(const CompiledNest& nest, const FlatMapping& mapping, NestScratch& scratch,
            NestResult& result)
        : nest_(nest), machine_(nest.machine), flat_(mapping), s_(scratch), result_(result) {}

    /// \pre the tables are valid, all loops perfect; scratch and result have the machine's sizes.
    /// Returns false if a count is too large to be exact. Sizes that only reports need are left
    /// out.
    bool run();

private:
    struct Block {
        int first_temporal;  ///< of this block in the list of temporal loops
        int begin, end;      ///< loops of the mapping
    };
    struct Moves {
        std::uint64_t whole, residue;  ///< W, R
        int first = -1;                ///< loop number 0
        std::uint64_t total;           ///< weighted words
        std::uint64_t equal;           ///< sum of w(q), q > 0, T(q) = T(0)
    };

    void loops();
    void level(int i);
    void spatial_block(int i);
    void temporal_traffic(int i);
    void spatial_traffic(int i, int space);
    void update_moves(int i);
    void update(int i, int space, Moves& moves) const;
    std::uint64_t equal_moves(int space, int first) const;
    void group(int i, int space, bool separate);
    bool group_in_closed_form(int space);
    void enumerate(int space);
    void group_elements(bool separate, bool with_taken, std::vector<NestScratch::Table>& tables);
    double hops_to_group();
    void links(int i, int space, const Moves& moves);
    void find_differences(int space);
    bool may_forward(std::int64_t shift) const;
    void forward(int space, std::int64_t shift, std::uint64_t words);
    std::uint64_t mark(std::int64_t shift);
    void add(const std::vector<NestScratch::Table>& tables, std::uint64_t words);

    std::int64_t turn(int space, int q) const {
        return s_.turns[space].turn[q];
    }
    /// S(q) of the loop that counts as number 0.
    std::int64_t prefix(int space, const Moves& moves) const {
        return s_.turns[space].prefix[moves.first];
    }
    std::int64_t offset(int space, const NestScratch::SpatialLoop& loop) const {
        return nest_.tables.step(space, loop.dimension) * loop.stride;
    }
    void put(int i, int space, const Record* records, int count);
    void reserve(int count);

    const CompiledNest& nest_;
    const Machine& machine_;
    const FlatMapping& flat_;
    NestScratch& s_;
    NestResult& result_;
    Block blocks_[FlatMapping::max_levels];
    std::int64_t strides_[FlatMapping::max_loops];
    std::int64_t tile_[max_dimensions];
    std::int64_t extents_[SpaceTables::max_ranks];  ///< of the tile at hand
    std::uint64_t words_[max_spaces];               ///< of the tile of the level below
    Moves moves_[max_spaces];                       ///< of the level at hand
    int loop_count_ = 0, record_count_ = 0;
    // The spatial block at hand.
    int spatial_count_ = 0;
    std::uint64_t elements_ = 1;
    std::int64_t width_ = 1, height_ = 1, logical_width_ = 1;
    std::int64_t differences_[FlatMapping::max_loops];  ///< of neighbours' offsets
    bool any_difference_ = false;                       ///< others are possible
    bool hops_needed_ = false, separate_ = false, offsets_ready_ = false;
    std::uint64_t groups_ = 0;     ///< of the space at hand, nothing taken
    std::uint64_t remaining_ = 0;  ///< words of moves that no neighbour serves
    std::uint64_t link_transfers_ = 0;
    bool exact_ = true;  ///< all counts so far

    static constexpr double exact = 9007199254740992.0;  ///< 2^53
};

}  // namespace tessera::timeloop
