// A nest is a list of loop positions, innermost first: of every storage level the spatial block,
// then the temporal block (a unit loop stands in for an empty one), whose outermost loop is the
// level's boundary. Map of this file:
//   build()      positions, strides, extents of the tiles below each position
//   visit()      one invocation of a position: what its working set adds to the former one
//   temporal()   a loop by its first, extrapolated and last iterations
#include "nest_execution.hpp"

#include <algorithm>

namespace tessera::timeloop {

void NestExecution::build(const FlatMapping& flat) {
    int next = 0;
    for (int level = 0; level < flat.level_count; ++level) {
        bool has_temporal = false;
        for (; next < flat.level_end[level]; ++next) {
            NestPosition position;
            position.loop = flat.loops[next];
            position.level = level;
            has_temporal = has_temporal || !position.spatial();
            imperfect_ = imperfect_ || position.loop.end != position.loop.residual;
            positions_.push_back(position);
        }
        if (!has_temporal) {
            NestPosition unit;
            unit.loop.dimension = static_cast<std::uint8_t>(problem_.dimensions.size() - 1);
            unit.level = level;
            positions_.push_back(unit);
        }
        positions_.back().boundary = true;
        boundaries_.push_back(static_cast<int>(positions_.size()) - 1);
    }
    NestExtents extent, last_extent;
    extent.fill(1);
    last_extent.fill(1);
    for (NestPosition& position : positions_) {
        const int d = position.loop.dimension;
        position.stride = extent[d];
        last_extent[d] += extent[d] * (position.loop.residual - 1);
        extent[d] *= position.loop.end;
        position.extent = extent;
        position.last_extent = last_extent;
    }
    for (std::size_t q = 0; q < positions_.size(); ++q) {
        const bool outer_spatial = q + 1 < positions_.size() && positions_[q + 1].spatial();
        positions_[q].master = positions_[q].spatial() && !outer_spatial;
    }
    memories_.resize(positions_.size() * spaces_);
    deltas_.resize(positions_.size() * spaces_);
    offsets_.resize(spaces_);
}

Box NestExecution::working_set(int at, int space) const {
    const NestPosition& position = positions_[at];
    Box box;
    for (int r = 0; r < max_ranks; ++r) {
        box.high[r] = 1;
    }
    for (int r = 0; r < ranks(space); ++r) {
        std::int64_t low = 0, high = 0;
        for (const Term& term : problem_.data_spaces[space].ranks[r]) {
            const int d = term.dimension;
            const bool last = imperfect_ && in_last_pass(at + 1, d);
            const std::int64_t extent = last ? position.last_extent[d] : position.extent[d];
            const std::int64_t a = offset_[d] * term.value;
            const std::int64_t b = (offset_[d] + extent - 1) * term.value;
            low += std::min(a, b);
            high += std::max(a, b);
        }
        box.low[r] = low;
        box.high[r] = high + 1;
    }
    return box;
}

Point NestExecution::project(int space, const NestExtents& offset) const {
    Point point{};
    for (int r = 0; r < ranks(space); ++r) {
        for (const Term& term : problem_.data_spaces[space].ranks[r]) {
            point[r] += offset[term.dimension] * term.value;
        }
    }
    return point;
}

// What was resident is subtracted as long as the tile moves by the same step; a change of the step
// discards it.
void NestExecution::visit(int at) {
    const NestPosition& position = positions_[at];
    if (position.spatial()) {
        spatial(at);
    } else {
        temporal(at);
    }
    for (int space = 0; space < spaces_; ++space) {
        NestMemory& memory = this->memory(at, space);
        const Box box = working_set(at, space);
        const std::uint64_t words = size(box, ranks(space));
        if (position.boundary || position.master) {
            memory.max_size = std::max(memory.max_size, words);
        }
        BoxSet& out = delta(at, space);
        out.clear();
        if (flag(flat_.no_temporal_reuse, position.level, space)) {
            out.push_back(box);
            continue;
        }
        std::optional<Point> step;
        if (memory.seen) {
            step = translation(memory.last, box, ranks(space));
        }
        const bool reset = memory.translation && step != memory.translation;
        if (!memory.seen || reset) {
            out.push_back(box);
        } else {
            subtract(box, memory.last, ranks(space), out);
        }
        memory.translation = reset ? std::nullopt : step;
        memory.last = box;
        memory.seen = true;
    }
}

void NestExecution::call(int at, std::uint64_t weight, std::uint64_t advance, bool counted,
                         std::vector<std::uint64_t>& sums) {
    NestPosition& position = positions_[at];
    const std::uint64_t saved = epochs_;
    epochs_ *= advance;
    visit(at - 1);
    epochs_ = saved;
    for (int space = 0; counted && space < spaces_; ++space) {
        sums[space] += size(delta(at - 1, space), ranks(space)) * weight;
    }
    offset_[position.loop.dimension] += position.stride * static_cast<std::int64_t>(advance);
    position.index += static_cast<std::int64_t>(advance);
}

void NestExecution::temporal(int at) {
    NestPosition& position = positions_[at];
    const std::uint64_t n = static_cast<std::uint64_t>(trips(at));
    if (at == 0) {
        compute_counts_.resize(1);
        compute_counts_[0] += n * epochs_;
        for (int space = 0; space < spaces_; ++space) {
            memory(at, space).records[{1, 1}].first += static_cast<double>(n * epochs_);
        }
        return;
    }
    std::vector<std::uint64_t> sums(spaces_);
    const std::int64_t saved = offset_[position.loop.dimension];
    position.index = 0;
    call(at, 1, 1, true, sums);
    if (!imperfect_) {
        if (n >= 2) {
            call(at, n - 1, n - 1, true, sums);
        }
    } else {
        // One iteration stands for all but the first and the last two; the last but one sees the
        // tile move as the one before it did, so that its own delta is not asked for.
        if (n >= 4) {
            call(at, n - 2, n - 3, true, sums);
        }
        if (n >= 3) {
            call(at, 1, 1, n == 3, sums);
        }
        if (n >= 2) {
            call(at, 1, 1, true, sums);
        }
    }
    offset_[position.loop.dimension] = saved;
    if (positions_[at - 1].boundary) {
        for (int space = 0; space < spaces_; ++space) {
            memory(at, space).records[{1, 1}].first += static_cast<double>(sums[space] * epochs_);
        }
    }
}

NestResult analyse_nest(const Problem& problem, const Architecture& architecture,
                        const FlatMapping& flat, const ModelOptions& options) {
    return NestExecution(problem, architecture, flat, options).run();
}

}  // namespace tessera::timeloop
