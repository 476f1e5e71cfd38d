// What a LoopTree does not say by itself: how often each loop runs, how large each tile is, and
// what the traffic of each holder costs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/json.hpp"
#include "tessera/mapping/pmapping.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::io {

/// How some of the Einsums below a loop use it.
struct LoopNote {
    std::string rank_variable;
    std::int64_t size = 1;     ///< values that the loop divides
    std::int64_t tile = 1;     ///< values of one iteration
    std::int64_t initial = 0;  ///< values of the first iteration; 0: as the others
    std::int64_t trips = 1;    ///< iterations; of a spatial loop: instances in use
    std::int64_t fanout = 0;   ///< instances that there are; 0: a temporal loop
    std::vector<std::string> einsums;
};

/// One tensor of a holder.
struct TileNote {
    std::string tensor;
    /// Set aside in one instance of a memory; of a toll, or a memory without limit: the holder's
    /// tile. The largest of all Einsums below.
    double words = 0, bits = 0;
    double banks = 0;              ///< of a memory that has them
    double reads = 0, writes = 0;  ///< actions of all Einsums below, all instances
    double energy_j = 0;           ///< of these actions
};

/// One node; empty unless it is a loop or a holder.
struct NodeNote {
    std::vector<LoopNote> loops;
    std::vector<TileNote> tiles;
};

/// One note for each node of the tree, in pre-order (the root is the first). `einsums`: this
/// mapping, split; `report`: of it. Thread rule: pure.
std::vector<NodeNote> mapping_notes(const mapping::Mapping& mapping,
                                    const std::vector<mapping::EinsumMapping>& einsums,
                                    const model::Report& report);

/// "m or p in 4096 / 64 (64 trips)", "h in 32 / 1 (32 of 128 instances)"; where Einsums differ,
/// "m in 8 / 2 (A), p in 16 / 4 (B) (4 trips)". Names are escaped.
std::string loop_text(const NodeNote& note);

/// "QK 16384 words (16 KiB)".
std::string tile_text(const TileNote& note);

/// Indented text for people: mapping::to_text() with sizes; lists of tensors fold at 80 columns.
std::string to_text(const mapping::Mapping& mapping, const std::vector<NodeNote>& notes);

/// mapping_json() with `size` and `trips` of loops, `tiles` of holders.
base::Json mapping_json(const mapping::Mapping& mapping, const std::vector<NodeNote>& notes);

}  // namespace tessera::io
