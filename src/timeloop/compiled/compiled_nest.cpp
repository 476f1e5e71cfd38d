// Map of this file:
//   loops()    strides of all loops, the list of temporal loops and its prefix sums
//   update()   W, R and the number of moves of each kind
//   level()    moves, traffic, then sizes and extents
#include <algorithm>

#include "nest_run.hpp"

namespace tessera::timeloop {

void NestRun::loops() {
    std::fill_n(tile_, nest_.tables.dimensions(), 1);
    int next = 0;
    for (int i = 0; i < machine_.levels; ++i) {
        blocks_[i] = {loop_count_, next, flat_.level_end[i]};
        for (; next < flat_.level_end[i]; ++next) {
            const Loop& loop = flat_.loops[next];
            strides_[next] = tile_[loop.dimension];
            if (loop.kind == LoopKind::temporal) {
                s_.temporal[loop_count_++] = {loop.dimension, tile_[loop.dimension],
                                              static_cast<std::uint64_t>(loop.end), 1};
            }
            tile_[loop.dimension] *= loop.end;
        }
    }
    std::uint64_t outer = 1;
    for (int q = loop_count_ - 1; q >= 0; --q) {
        NestScratch::TemporalLoop& loop = s_.temporal[q];
        loop.outer = outer;
        s_.weights[q] = (loop.trips - 1) * outer;
        outer *= loop.trips;
    }
    result_.temporal_product = outer;
    for (int space = 0; space < machine_.spaces; ++space) {
        NestScratch::Turns& turns = s_.turns[space];
        std::int64_t sum = 0;
        for (int q = 0; q < loop_count_; ++q) {
            const std::int64_t step =
                nest_.tables.step(space, s_.temporal[q].dimension) * s_.temporal[q].stride;
            turns.prefix[q] = sum;
            turns.turn[q] = step - sum;
            sum += step;
        }
    }
}

/// Sum of w(q) over the loops outside `first` that turn by the same step.
std::uint64_t NestRun::equal_moves(int space, int first) const {
    const std::int64_t* turns = s_.turns[space].turn;
    const std::int64_t turn = turns[first];
    std::uint64_t sum = 0;
    for (int q = first + 1; q < loop_count_; ++q) {
        sum += turns[q] == turn ? s_.weights[q] : 0;
    }
    return sum;
}

void NestRun::update(int i, int space, Moves& m) const {
    const int first = blocks_[i].first_temporal;
    const bool same_loops = m.first == first;
    m.first = first;
    if (i == 0) {
        // Single points: never subtracted.
        m.whole = m.residue = 1;
        m.total = result_.temporal_product;
        return;
    }
    m.whole = words_[space];
    if (first == loop_count_) {
        m.residue = m.total = m.whole;
        m.equal = 0;
        return;
    }
    const NestScratch::TemporalLoop& zero = s_.temporal[first];
    m.residue = m.whole;
    if (!(flat_.no_temporal_reuse[i - 1] >> space & 1)) {
        m.residue = nest_.tables.step(space, zero.dimension) == 0
                        ? 0
                        : nest_.tables.residue(extents_, space, zero.dimension, zero.stride);
    }
    if (!same_loops || i == 1) {
        m.equal = equal_moves(space, first);
    }
    m.total =
        zero.outer * (m.whole + (zero.trips - 1) * m.residue) - m.equal * (m.whole - m.residue);
}

// Below an empty block nothing changes.
void NestRun::update_moves(int i) {
    if (i >= 2 && blocks_[i - 1].begin == blocks_[i - 1].end &&
        flat_.no_temporal_reuse[i - 1] == flat_.no_temporal_reuse[i - 2]) {
        return;
    }
    for (int space = 0; space < machine_.spaces; ++space) {
        update(i, space, moves_[space]);
    }
}

/// A level without fan-out: one receiver.
void NestRun::temporal_traffic(int i) {
    Tile* const tiles = &result_.tiles[i * machine_.spaces];
    Record* const records = result_.records.data() + record_count_;
    for (int space = 0; space < machine_.spaces; ++space) {
        const double accesses = static_cast<double>(moves_[space].total);
        exact_ = exact_ && accesses < exact;
        records[space] = {1, 1, accesses, 0};
        tiles[space].first_record = record_count_ + space;
        tiles[space].record_count = 1;
        tiles[space].link_transfers = 0;
        tiles[space].spatial_size = 0;
    }
    record_count_ += machine_.spaces;
}

void NestRun::level(int i) {
    const Block& block = blocks_[i];
    const auto advance = [&](int q) {
        const Loop& loop = flat_.loops[q];
        nest_.tables.grow(extents_, loop.dimension, strides_[q] * (loop.end - 1));
    };
    Tile* const tiles = &result_.tiles[i * machine_.spaces];
    update_moves(i);
    int q = block.begin;
    if (q == block.end || flat_.loops[q].kind == LoopKind::temporal) {
        temporal_traffic(i);
    } else {
        spatial_block(i);
        for (int space = 0; space < machine_.spaces; ++space) {
            spatial_traffic(i, space);
        }
        for (; q < block.begin + spatial_count_; ++q) {
            advance(q);
        }
        for (int space = 0; space < machine_.spaces; ++space) {
            tiles[space].spatial_size =
                machine_.writes(space) ? nest_.tables.words(extents_, space) : 0;
        }
    }
    for (; q < block.end; ++q) {
        advance(q);
    }
    for (int space = 0; space < machine_.spaces; ++space) {
        if (block.begin != block.end) {
            words_[space] = nest_.tables.words(extents_, space);
        }
        tiles[space].size = words_[space];
    }
}

bool NestRun::run() {
    loops();
    set_geometry(flat_, result_);
    result_.average_computes = static_cast<double>(result_.temporal_product);
    result_.imperfect = false;
    std::fill_n(extents_, nest_.tables.ranks(), 1);
    std::fill_n(words_, machine_.spaces, 1);
    reserve(machine_.spaces * machine_.levels);
    for (int i = 0; i < machine_.levels; ++i) {
        level(i);
    }
    return exact_;
}

CompiledNest::CompiledNest(const Problem& problem, const Architecture& architecture,
                           const Machine& machine, const ModelOptions& options)
    : machine(machine), tables(problem), link_transfers(options.link_transfers) {
    for (int i = 0; i < architecture.levels(); ++i) {
        fanout_x.push_back(architecture.fanout_x(i));
        fanout_y.push_back(architecture.fanout_y(i));
    }
}

}  // namespace tessera::timeloop
