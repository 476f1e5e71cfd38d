// Map of this file. A nest is a list of loop positions, innermost first: of every storage level
// the spatial block, then the temporal block (a unit loop stands in for an empty one), whose
// outermost loop is the level's boundary.
//   build()      positions, strides, extents of the tiles below each position
//   visit()      one invocation of a position: what its working set adds to the former one
//   temporal()   a loop by its first, extrapolated and last iterations
//   spatial()    a run of spatial loops: element 0 visited, the others its translations
//   collect()    per level: sizes, records, geometry
#include "timeloop/nest_analysis.hpp"

#include <algorithm>
#include <map>

#include "timeloop/machine.hpp"
#include "timeloop/multicast.hpp"
#include "timeloop/point_set.hpp"

namespace tessera::timeloop {

namespace {

using Extents = std::array<std::int64_t, max_dimensions>;

struct Position {
    Loop loop;
    int level = 0;
    bool boundary = false;
    bool master = false;  ///< outermost loop of a spatial block
    std::int64_t stride = 1;
    Extents extent{};       ///< of the tile below and with this loop
    Extents last_extent{};  ///< the same in the last pass of all outer loops
    std::int64_t index = 0;

    bool spatial() const {
        return loop.kind != LoopKind::temporal;
    }
};

/// What one position remembers of one data space.
struct Memory {
    std::uint64_t max_size = 0;
    bool seen = false;
    Box last;
    std::optional<Point> translation;
    // Records of the loop, and what a spatial block needs of its former invocation.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<double, double>> records;
    std::uint64_t link_transfers = 0;
    bool has_former = false;
    BoxSet former_base;
    std::vector<Point> former_offsets;
};

class Analysis {
public:
    Analysis(const Problem& problem, const Architecture& architecture, const FlatMapping& flat,
             const ModelOptions& options)
        : problem_(problem),
          architecture_(architecture),
          flat_(flat),
          options_(options),
          spaces_(static_cast<int>(problem.data_spaces.size())) {
        build(flat);
    }

    NestResult run() {
        visit(static_cast<int>(positions_.size()) - 1);
        return collect();
    }

private:
    void build(const FlatMapping& flat);
    void mark_masters();
    void visit(int at);
    void temporal(int at);
    void spatial(int at);
    void spatial_space(int at, int space, int last, bool with_link);
    NestResult collect() const;
    void collect_level(int level, int first, int boundary, NestResult& result) const;

    int ranks(int space) const {
        return static_cast<int>(problem_.data_spaces[space].ranks.size());
    }
    Memory& memory(int at, int space) {
        return memories_[at * spaces_ + space];
    }
    const Memory& memory(int at, int space) const {
        return memories_[at * spaces_ + space];
    }
    BoxSet& delta(int at, int space) {
        return deltas_[at * spaces_ + space];
    }
    static bool flag(const DataSpaceMask (&which)[FlatMapping::max_levels], int level, int space) {
        return which[level] >> space & 1;
    }

    /// True if all loops of `dimension` at position `from` and outside it are in their last pass.
    bool in_last_pass(int from, int dimension) const {
        for (std::size_t q = from; q < positions_.size(); ++q) {
            const Position& p = positions_[q];
            if (p.loop.dimension == dimension && p.index + 1 < p.loop.residual) {
                return false;
            }
        }
        return true;
    }
    std::int64_t trips(int at) const {
        const Loop& loop = positions_[at].loop;
        return imperfect_ && in_last_pass(at + 1, loop.dimension) ? loop.residual : loop.end;
    }
    Box working_set(int at, int space) const;
    Point project(int space, const Extents& offset) const;
    /// One call of the next inner position standing for `weight` iterations.
    void call(int at, std::uint64_t weight, std::uint64_t advance, bool counted,
              std::vector<std::uint64_t>& sums);

    const Problem& problem_;
    const Architecture& architecture_;
    const FlatMapping& flat_;
    const ModelOptions& options_;
    const int spaces_;
    std::vector<Position> positions_;
    std::vector<int> boundaries_;  ///< per level
    bool imperfect_ = false;
    std::vector<Memory> memories_;
    std::vector<BoxSet> deltas_;
    Extents offset_{};
    std::uint64_t epochs_ = 1;
    std::vector<std::uint64_t> compute_counts_;  ///< per arithmetic element of the innermost block
    std::vector<std::vector<Point>> offsets_;    ///< scratch: per data space, per element
    std::vector<char> taken_;
};

void Analysis::build(const FlatMapping& flat) {
    int next = 0;
    for (int level = 0; level < flat.level_count; ++level) {
        bool has_temporal = false;
        for (; next < flat.level_end[level]; ++next) {
            Position position;
            position.loop = flat.loops[next];
            position.level = level;
            has_temporal = has_temporal || !position.spatial();
            imperfect_ = imperfect_ || position.loop.end != position.loop.residual;
            positions_.push_back(position);
        }
        if (!has_temporal) {
            Position unit;
            unit.loop.dimension = static_cast<std::uint8_t>(problem_.dimensions.size() - 1);
            unit.level = level;
            positions_.push_back(unit);
        }
        positions_.back().boundary = true;
        boundaries_.push_back(static_cast<int>(positions_.size()) - 1);
    }
    Extents extent, last_extent;
    extent.fill(1);
    last_extent.fill(1);
    for (Position& position : positions_) {
        const int d = position.loop.dimension;
        position.stride = extent[d];
        last_extent[d] += extent[d] * (position.loop.residual - 1);
        extent[d] *= position.loop.end;
        position.extent = extent;
        position.last_extent = last_extent;
    }
    mark_masters();
    memories_.resize(positions_.size() * spaces_);
    deltas_.resize(positions_.size() * spaces_);
    offsets_.resize(spaces_);
}

void Analysis::mark_masters() {
    for (std::size_t q = 0; q < positions_.size(); ++q) {
        const bool outer_spatial = q + 1 < positions_.size() && positions_[q + 1].spatial();
        positions_[q].master = positions_[q].spatial() && !outer_spatial;
    }
}

Box Analysis::working_set(int at, int space) const {
    const Position& position = positions_[at];
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

Point Analysis::project(int space, const Extents& offset) const {
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
void Analysis::visit(int at) {
    const Position& position = positions_[at];
    if (position.spatial()) {
        spatial(at);
    } else {
        temporal(at);
    }
    for (int space = 0; space < spaces_; ++space) {
        Memory& memory = this->memory(at, space);
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

void Analysis::call(int at, std::uint64_t weight, std::uint64_t advance, bool counted,
                    std::vector<std::uint64_t>& sums) {
    Position& position = positions_[at];
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

void Analysis::temporal(int at) {
    Position& position = positions_[at];
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

void Analysis::spatial(int at) {
    int inner = at;
    while (inner > 0 && positions_[inner - 1].spatial()) {
        --inner;
    }
    std::vector<std::int64_t> ends;  // of this invocation, outermost first
    for (int q = at; q >= inner; --q) {
        positions_[q].index = 0;
    }
    std::size_t elements = 1;
    for (int q = at; q >= inner; --q) {
        ends.push_back(trips(q));
        elements *= static_cast<std::size_t>(ends.back());
    }
    if (inner > 0) {
        visit(inner - 1);
    }
    for (int space = 0; space < spaces_; ++space) {
        offsets_[space].resize(elements);
    }
    if (inner == 0) {
        compute_counts_.resize(std::max(compute_counts_.size(), elements));
    }
    for (std::size_t e = 0; e < elements; ++e) {
        Extents offset{};
        std::size_t rest = e;
        for (int q = inner; q <= at; ++q) {
            const std::size_t end = static_cast<std::size_t>(ends[at - q]);
            offset[positions_[q].loop.dimension] +=
                static_cast<std::int64_t>(rest % end) * positions_[q].stride;
            rest /= end;
        }
        for (int space = 0; space < spaces_; ++space) {
            offsets_[space][e] = project(space, offset);
        }
        if (inner == 0) {
            compute_counts_[e] += epochs_;
        }
    }
    for (int space = 0; space < spaces_; ++space) {
        spatial_space(at, space, inner, options_.link_transfers);
    }
}

void Analysis::spatial_space(int at, int space, int inner, bool with_link) {
    const Position& position = positions_[at];
    Grid grid;
    for (int q = inner; q <= at; ++q) {
        (positions_[q].loop.kind == LoopKind::spatial_x ? grid.width : grid.height) *=
            positions_[q].loop.end;
    }
    grid.width = std::max(grid.width, architecture_.fanout_x(position.level));
    grid.height = std::max(grid.height, architecture_.fanout_y(position.level));

    const std::vector<Point>& offsets = offsets_[space];
    BoxSet base;
    if (inner > 0) {
        base = delta(inner - 1, space);
    } else {
        Box point;
        point.low = project(space, offset_);
        for (int r = 0; r < max_ranks; ++r) {
            point.high[r] = point.low[r] + 1;
        }
        base.push_back(point);
    }
    const std::uint64_t words = size(base, ranks(space));
    const bool separate = flag(flat_.no_multicast_no_reduction, position.level, space);
    taken_.assign(offsets.size(), 0);
    std::vector<GroupTable> tables;
    if (words > 0) {
        tables = group_elements(offsets, taken_, separate, grid);
    }
    Memory& memory = this->memory(at, space);
    if (with_link && !flag(flat_.no_link_transfer, position.level, space)) {
        const auto groups = [](const std::vector<GroupTable>& all) {
            std::uint64_t sum = 0;
            for (const GroupTable& table : all) {
                sum += table.groups;
            }
            return sum;
        };
        const std::optional<Point> shift =
            memory.has_former ? shift_between(memory.former_base, base, ranks(space))
                              : std::nullopt;
        const std::uint64_t forwarded = shift ? mark_forwarded(offsets, memory.former_offsets,
                                                               *shift, ranks(space), grid, taken_)
                                              : 0;
        if (forwarded > 0) {
            std::vector<GroupTable> rest = group_elements(offsets, taken_, separate, grid);
            if (groups(rest) < groups(tables)) {
                tables = std::move(rest);
                memory.link_transfers += forwarded * words * epochs_;
            }
        }
    }
    memory.has_former = true;
    memory.former_base = std::move(base);
    memory.former_offsets = offsets;
    for (const GroupTable& table : tables) {
        auto& [accesses, hops] = memory.records[{table.multicast, table.groups}];
        const double all = static_cast<double>(table.groups * words * epochs_);
        accesses += all;
        hops += table.hops * all / static_cast<double>(table.groups);
    }
}

void Analysis::collect_level(int level, int first, int boundary, NestResult& result) const {
    int innermost = first;
    while (positions_[innermost].spatial() && !positions_[innermost].master) {
        ++innermost;
    }
    for (int space = 0; space < spaces_; ++space) {
        Tile& tile = result.tiles[level * spaces_ + space];
        const Memory& memory = this->memory(innermost, space);
        tile.size = this->memory(boundary, space).max_size;
        tile.spatial_size = positions_[innermost].master ? memory.max_size : 0;
        tile.link_transfers = static_cast<double>(memory.link_transfers);
        tile.first_record = static_cast<int>(result.records.size());
        tile.record_count = static_cast<int>(memory.records.size());
        for (const auto& [key, value] : memory.records) {
            result.records.push_back({key.first, key.second, value.first, value.second});
        }
    }
}

NestResult Analysis::collect() const {
    const int levels = static_cast<int>(boundaries_.size());
    NestResult result;
    result.imperfect = imperfect_;
    result.tiles.resize(levels * spaces_);
    result.levels.resize(levels);
    for (int level = 0; level < levels; ++level) {
        collect_level(level, level == 0 ? 0 : boundaries_[level - 1] + 1, boundaries_[level],
                      result);
    }
    std::uint64_t x = 1, y = 1;
    for (int level = levels - 1, q = boundaries_.back(); level >= 0; --level) {
        LevelGeometry& geometry = result.levels[level];
        geometry.outer_x = x;
        geometry.outer_y = y;
        geometry.replication = x * y;
        for (; q >= 0 && positions_[q].level == level; --q) {
            const Loop& loop = positions_[q].loop;
            if (loop.kind == LoopKind::temporal) {
                result.temporal_product *= loop.end;
            } else {
                (loop.kind == LoopKind::spatial_x ? x : y) *= loop.end;
            }
        }
        geometry.fanout = x * y / geometry.replication;
    }
    result.arithmetic_x = x;
    result.arithmetic_y = y;
    result.arithmetic_instances = x * y;
    for (std::uint64_t count : compute_counts_) {
        result.average_computes += static_cast<double>(count);
    }
    result.average_computes /= static_cast<double>(compute_counts_.size());
    return result;
}

}  // namespace

NestResult analyse_nest(const Problem& problem, const Architecture& architecture,
                        const FlatMapping& flat, const ModelOptions& options) {
    return Analysis(problem, architecture, flat, options).run();
}

}  // namespace tessera::timeloop
