// What an analysis of a loop nest hands to the accounting: tile sizes and access records of every
// (storage level, data space), before bypass.
#pragma once

#include <cstdint>
#include <vector>

#include "timeloop/model.hpp"

namespace tessera::timeloop {

/// Words read from a level's network in groups of `multicast` receivers, `scatter` groups at once;
/// hops are weighted by accesses.
using Record = AccessRecord;

struct Tile {
    std::uint64_t size = 0;
    /// Words in the working set of the level's spatial block as a whole; 0 without spatial loops.
    std::uint64_t spatial_size = 0;
    double link_transfers = 0;
    int first_record = 0, record_count = 0;  ///< in NestResult::records, ascending keys
};

struct LevelGeometry {
    std::uint64_t fanout = 1;       ///< instances used below one instance of this level
    std::uint64_t replication = 1;  ///< product of the spatial loops outside this level
};

struct NestResult {
    std::vector<Tile> tiles;  ///< [level * data spaces + data space]
    std::vector<Record> records;
    std::vector<LevelGeometry> levels;
    double average_computes = 0;  ///< per arithmetic instance in use
    std::uint64_t arithmetic_instances = 1;
    std::uint64_t temporal_product = 1;  ///< of all temporal loops' ends
    bool imperfect = false;
};

/// Fan-outs, replications and arithmetic instances, which the spatial loops alone decide.
inline void set_geometry(const FlatMapping& flat, NestResult& result) {
    std::uint64_t outer = 1;
    for (int i = flat.level_count - 1; i >= 0; --i) {
        LevelGeometry& geometry = result.levels[i];
        geometry.replication = outer;
        geometry.fanout = 1;
        for (int q = i == 0 ? 0 : flat.level_end[i - 1];
             q < flat.level_end[i] && flat.loops[q].kind != LoopKind::temporal; ++q) {
            geometry.fanout *= flat.loops[q].end;
        }
        outer *= geometry.fanout;
    }
    result.arithmetic_instances = outer;
}

/// The loop nest executed as Timeloop executes it, iteration by iteration with its extrapolations:
/// the as-written analysis that the compiled one is compared with. \pre a Machine accepts problem
/// and architecture.
NestResult analyse_nest(const Problem& problem, const Architecture& architecture,
                        const FlatMapping& flat, const ModelOptions& options);

}  // namespace tessera::timeloop
