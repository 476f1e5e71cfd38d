// One Einsum of an assembly: its holders and loops by name, and lists of holders of several
// Einsums.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/mapping/assemble.hpp"

namespace tessera::mapping {

struct Holder {
    TreeKind kind = TreeKind::storage;
    std::string component, tensor;
    bool persistent = false;
    bool lower = true;
    bool backing = false;
    bool line_buffer = false;
    /// Stands before the last backing holder of a copy, and counts for that alone.
    bool before_backing = false;

    bool same_place(const Holder& other) const {
        return line_buffer == other.line_buffer && kind == other.kind &&
               component == other.component && tensor == other.tensor &&
               persistent == other.persistent && lower == other.lower && backing == other.backing;
    }
    /// Its place among the holders of the gap matters: its capacity may be charged further down.
    bool sinks() const {
        return kind == TreeKind::storage && lower && !backing;
    }
};

struct Loop {
    TreeKind kind = TreeKind::temporal;
    std::string component, dim, rank_variable;
    std::int64_t tile_shape = 1;
    std::int64_t initial_tile_shape = 0, n_iterations = 0;  ///< of a loop with a prologue
};

struct Chain {
    const arch::Path* path = nullptr;
    std::vector<std::vector<Holder>> gaps{1};
    std::vector<Loop> loops;

    const std::string& einsum() const {
        return path->einsum.name;
    }
};

// A holder of a merged gap and the Einsums (indices into the chains) that use it.
struct Shared {
    Holder holder;
    std::set<int> users;
};

/// Loops that run once are dropped; `lower` is normalised to where it makes a difference.
Chain chain_of(const Branch& branch);

/// The holders of one gap of several Einsums (index, holders) as one list, the leading backing ones
/// of all first. Each Einsum finds its own in its own order, except that a shared backing holder
/// may stand further up.
std::vector<Shared> merged(const std::vector<std::pair<int, std::vector<Holder>>>& gaps);

}  // namespace tessera::mapping
