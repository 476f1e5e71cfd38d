// The mapping of one Einsum as a flat list of nodes with the dense indices of its arch::Path.
// A pmapping whose loops carry symbols instead of numbers is the body of a template.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/arch/paths.hpp"
#include "tessera/mapping/mapping.hpp"

namespace tessera::mapping {

enum class NodeKind : std::uint8_t { storage, toll, temporal, spatial, reservation, compute };

/// One node. `tensor`, `level`, `dim`, `rank_variable` index the Path; -1 where not used.
struct PmappingNode {
    NodeKind kind = NodeKind::compute;
    std::int8_t tensor = -1;         ///< storage, toll, reservation: exactly one tensor a node
    std::int8_t level = -1;          ///< holder's level; spatial: the level that owns the dimension
    std::int8_t dim = -1;            ///< spatial
    std::int8_t rank_variable = -1;  ///< loops
    std::int16_t symbol = -1;        ///< loops: unknown tile shape, index into Template::symbols
    std::int64_t tile = 1;           ///< loops: tile shape handed to the body when symbol < 0
    bool backing = false;            ///< first holder of its tensor
    bool persistent = false;
    /// The holder's capacity may be charged further down, below relevant loops (never for backing
    /// ones).
    bool lower = true;
    /// Templates: which of the partially relevant temporal loops right below comes first, and with
    /// it what the holder's reservation sinks through, is decided by tile shapes: the one that
    /// leaves the fewest bits.
    bool open_order = false;
    bool imperfect = false;  ///< loop may have a partial last tile
    /// Backing holders: the next loop below walks along the tensor. Only what this and later
    /// iterations use is kept (see docs/model.md, line buffers).
    bool line_buffer = false;
    /// Loops with a prologue (base > 0), see workload::Prologue: base / tile iterations.
    std::int32_t prologue = 0, base = 0;
    std::int32_t origin = -1;  ///< index of the LoopTree node it came from (pre-order), -1 if none

    bool operator==(const PmappingNode&) const = default;

    bool is_loop() const {
        return kind == NodeKind::temporal || kind == NodeKind::spatial;
    }
    bool is_holder() const {
        return kind == NodeKind::storage || kind == NodeKind::toll;
    }
    /// Largest tile that the loop hands to its body.
    std::int64_t largest_tile() const {
        return tile + prologue;
    }
    /// Iterations over an enclosing tile of this size.
    std::int64_t trips(std::int64_t enclosing) const {
        return ((base > 0 ? base : enclosing) + tile - 1) / tile;
    }
};

using Pmapping = std::vector<PmappingNode>;

/// One branch of a LoopTree.
struct EinsumMapping {
    int einsum = 0;
    arch::Path path;
    Pmapping nodes;
};

/// One pmapping per compute leaf, in execution order: the chain from the root to the leaf, holders
/// restricted to the Einsum's tensors (and to `einsums` where given), multi-tensor holders and
/// multi-variable loops split, backing flags set, loops over variables the Einsum does not have
/// dropped. \throws UserError for unknown names; IllegalMapping for a missing unit loop, a tensor
/// stored nowhere, a tensor twice in one memory, a toll as outermost holder.
std::vector<EinsumMapping> split(const Mapping& mapping, const workload::Workload& workload,
                                 const arch::Architecture& architecture, arch::Compat compat);

/// The same, with the workload, the architecture and the paths of `paths`.
std::vector<EinsumMapping> split(const Mapping& mapping, arch::Paths& paths);

}  // namespace tessera::mapping
