// Map of this file:
//   spatial()         a run of spatial loops: element 0 visited, the others its translations
//   spatial_space()   groups of elements with equal words, words served by neighbours
//   collect()         per level: sizes, records, geometry
#include <algorithm>

#include "nest_execution.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::timeloop {

void NestExecution::spatial(int at) {
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
        NestExtents offset{};
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

void NestExecution::spatial_space(int at, int space, int inner, bool with_link) {
    base::poll_stop();  // large arrays take milliseconds for each of many invocations
    const NestPosition& position = positions_[at];
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
    NestMemory& memory = this->memory(at, space);
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

void NestExecution::collect_level(int level, int first, int boundary, NestResult& result) const {
    int innermost = first;
    while (positions_[innermost].spatial() && !positions_[innermost].master) {
        ++innermost;
    }
    for (int space = 0; space < spaces_; ++space) {
        Tile& tile = result.tiles[level * spaces_ + space];
        const NestMemory& memory = this->memory(innermost, space);
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

NestResult NestExecution::collect() const {
    const int levels = static_cast<int>(boundaries_.size());
    NestResult result;
    result.imperfect = imperfect_;
    result.tiles.resize(levels * spaces_);
    result.levels.resize(levels);
    for (int level = 0; level < levels; ++level) {
        collect_level(level, level == 0 ? 0 : boundaries_[level - 1] + 1, boundaries_[level],
                      result);
    }
    set_geometry(flat_, result);
    for (const NestPosition& position : positions_) {
        result.temporal_product *= position.spatial() ? 1 : position.loop.end;
    }
    for (std::uint64_t count : compute_counts_) {
        result.average_computes += static_cast<double>(count);
    }
    result.average_computes /= static_cast<double>(compute_counts_.size());
    return result;
}

}  // namespace tessera::timeloop
