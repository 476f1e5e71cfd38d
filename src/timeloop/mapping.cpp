#include "timeloop/mapping.hpp"

#include <numeric>
#include <string>

#include "tessera/base/error.hpp"

namespace tessera::timeloop {

namespace {

LoopBlock empty_block(int dimensions) {
    LoopBlock block;
    block.factors.resize(dimensions);
    block.permutation.resize(dimensions);
    std::iota(block.permutation.begin(), block.permutation.end(), 0);
    block.split = dimensions;
    return block;
}

/// What is above this is not counted exactly.
constexpr std::int64_t enough = std::int64_t{1} << 31;

/// The bound that the factors of one dimension reach, outermost level first (TL rule of `x`).
std::int64_t reached_bound(const Mapping& mapping, int dimension) {
    std::int64_t last = 0;
    for (std::size_t i = mapping.levels.size(); i-- > 0;) {
        for (const LoopBlock* block : {&mapping.levels[i].temporal, &mapping.levels[i].spatial}) {
            const Factor& factor = block->factors[dimension];
            last = last > enough ? last : last * factor.end + factor.residual - 1;
        }
    }
    return last + 1;
}

void append(const LoopBlock& block, bool spatial, FlatMapping& flat) {
    for (std::size_t q = 0; q < block.permutation.size(); ++q) {
        const int dimension = block.permutation[q];
        const Factor& factor = block.factors[dimension];
        if (factor.end <= 1) {
            continue;
        }
        if (flat.loop_count == FlatMapping::max_loops) {
            throw UserError("the mapping has more than " + std::to_string(FlatMapping::max_loops) +
                            " loops");
        }
        flat.add(dimension, kind_of(spatial, static_cast<int>(q) < block.split), factor.end,
                 factor.residual);
    }
}

}  // namespace

Mapping empty_mapping(const Problem& problem, const Architecture& architecture) {
    const int dimensions = static_cast<int>(problem.dimensions.size());
    Mapping mapping;
    mapping.levels.resize(architecture.storage.size());
    for (LevelMapping& level : mapping.levels) {
        level.spatial = empty_block(dimensions);
        level.temporal = empty_block(dimensions);
        level.keep = (DataSpaceMask{1} << problem.data_spaces.size()) - 1;
    }
    return mapping;
}

Expansion expansion(const LoopBlock& spatial) {
    Expansion result;
    for (std::size_t q = 0; q < spatial.permutation.size(); ++q) {
        const std::int64_t end = spatial.factors[spatial.permutation[q]].end;
        std::int64_t& used = static_cast<int>(q) < spatial.split ? result.x : result.y;
        used *= used > enough ? 1 : end;
    }
    return result;
}

std::string structural_fault(const Problem& problem, const Architecture& architecture,
                             const Mapping& mapping) {
    for (std::size_t d = 0; d < problem.dimensions.size(); ++d) {
        const std::int64_t reached = reached_bound(mapping, static_cast<int>(d));
        if (reached != problem.dimensions[d].bound) {
            return "the factors of dimension " + problem.dimensions[d].name + " reach " +
                   std::to_string(reached) + " instead of the bound " +
                   std::to_string(problem.dimensions[d].bound);
        }
    }
    for (int i = 0; i < architecture.levels() && !architecture.packs_instances(); ++i) {
        const Expansion used = expansion(mapping.levels[i].spatial);
        const std::string at = "level " + architecture.storage[i].name + " uses ";
        if (used.x > architecture.fanout_x(i)) {
            return at + std::to_string(used.x) + " instances along X, its fan-out is " +
                   std::to_string(architecture.fanout_x(i));
        }
        if (used.y > architecture.fanout_y(i)) {
            return at + std::to_string(used.y) + " instances along Y, its fan-out is " +
                   std::to_string(architecture.fanout_y(i));
        }
    }
    for (std::size_t s = 0; s < problem.data_spaces.size(); ++s) {
        bool kept = false;
        for (const LevelMapping& level : mapping.levels) {
            kept = kept || level.keeps(static_cast<int>(s));
        }
        if (!kept) {
            return "data space " + problem.data_spaces[s].name + " is bypassed by every level";
        }
    }
    return "";
}

void flatten(const Mapping& mapping, FlatMapping& flat) {
    if (mapping.levels.size() > FlatMapping::max_levels) {
        throw UserError("the architecture has more than " +
                        std::to_string(FlatMapping::max_levels) + " storage levels");
    }
    flat.loop_count = 0;
    flat.level_count = static_cast<int>(mapping.levels.size());
    for (int i = 0; i < flat.level_count; ++i) {
        append(mapping.levels[i].spatial, true, flat);
        append(mapping.levels[i].temporal, false, flat);
        flat.level_end[i] = flat.loop_count;
        const LevelMapping& level = mapping.levels[i];
        flat.keep[i] = level.keep;
        flat.no_temporal_reuse[i] = level.no_temporal_reuse;
        flat.no_link_transfer[i] = level.no_link_transfer;
        flat.no_multicast_no_reduction[i] = level.no_multicast_no_reduction;
        flat.rmw_first_update[i] = level.rmw_first_update;
        flat.no_coalesce[i] = level.no_coalesce;
    }
}

}  // namespace tessera::timeloop
