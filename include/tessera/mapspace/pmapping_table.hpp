// Pmapping tables: the surviving pmappings of one Einsum, grouped by what the join must know.
//
// All pmappings of a group have the same fused loops (rank variable and kind, order, blocks within
// which they may be permuted) and back the same tensors in the same memories at the same depths.
// They differ in trip counts, costs and occupancies: the columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/workload/einsum_view.hpp"

namespace tessera::mapspace {

/// A memory whose capacity couples Einsums. Memories that cannot are checked per template only.
struct TrackedMemory {
    std::string name;
    double size_bits = 0;  ///< of sizes that depend on the Einsum the largest
};

/// The prologue of a loop, see workload::Prologue; zeros if it does not.
struct LoopPrologue {
    std::int64_t base = 0, prologue = 0;

    auto operator<=>(const LoopPrologue&) const = default;
};

/// One fused loop of a group, outermost first. Trip counts are columns.
struct FusedLoop {
    int rank_variable = 0;   ///< local to the Einsum
    int spatial_dim = -1;    ///< temporal: -1; spatial: level name * 16 + dimension
    std::int64_t bound = 1;  ///< of the rank variable
    LoopPrologue prologue = {};

    auto operator<=>(const FusedLoop&) const = default;
};

/// A fusable tensor in the memory that backs it.
struct HeldTensor {
    int tensor = 0;    ///< index into Workload::tensors
    int memory = 0;    ///< index into Architecture::level_names
    int level = 0;     ///< fused loops above its backing holder; -1: persistent
    int tracked = -1;  ///< index of the tracked memory, -1 if its capacity is not coupled
    /// Copy Einsum: it shares the buffer of this tensor (same memory), the input or another output;
    /// -1 otherwise.
    int shares_buffer_of = -1;
    /// A line buffer: the rank along which the loop below it (number `level`) walks, how many
    /// values of it all iterations together pass, and how far an iteration reaches beyond them; of
    /// the output: how far it has been made. -1: it is no line buffer.
    int window_rank = -1;
    std::int64_t window_base = 0, window_prologue = 0;
    /// A running state: a line buffer whose readers may also stand before its writer.
    bool running_state = false;

    /// Loops that all its users run inside.
    int shared_loops() const {
        return level + (window_rank >= 0 ? 1 : 0);
    }

    auto operator<=>(const HeldTensor&) const = default;
};

/// As a group holds it.
struct BackedTensor : HeldTensor {
    bool output = false;
    /// Per fused loop: the rank of the tensor that the loop's variable indexes directly, -1 if
    /// none.
    std::vector<int> rank_of_loop;

    auto operator<=>(const BackedTensor&) const = default;
};

/// What the rows of a group have in common.
struct GroupStructure {
    std::vector<FusedLoop> loops;
    /// Bit d: a holder or reservation stands below exactly d fused loops, so loops do not move
    /// across.
    std::uint32_t breaks = 0;
    std::vector<BackedTensor> tensors;  ///< sorted by tensor

    auto operator<=>(const GroupStructure&) const = default;
};

/// Rows of one group, row-major. Columns of a row of `values`:
///   objectives                      n_objectives
///   occupancy[m][d], d = -1..n      bits of tracked memory m held by reservations at depth <= d
///   busy[u]                         searches of pipelines: seconds that component u is busy; the
///                                   last one: that the Einsum takes alone
///   size[t]                         bits of backed tensor t in its memory (0 if untracked)
struct PmappingGroup {
    GroupStructure structure;
    int n_objectives = 1;
    int n_tracked = 0;
    std::vector<double> values;
    /// Row-major, one per fused loop: what must agree on both sides of a join. Trip counts; with
    /// partial tiles (trip count << 32 | tile shape).
    std::vector<std::int64_t> trips;
    /// Where a row comes from: template (index into the Einsum's list) and its tile-shape row.
    std::vector<std::uint32_t> source_template, source_row;
    int n_busy = 0;

    int n_loops() const {
        return static_cast<int>(structure.loops.size());
    }
    int n_depths() const {
        return n_loops() + 2;
    }
    int stride() const {
        return n_compared() + static_cast<int>(structure.tensors.size());
    }
    /// Leading columns of which less is better.
    int n_compared() const {
        return n_objectives + n_tracked * n_depths() + n_busy;
    }
    int occupancy_column(int memory, int depth) const {
        return n_objectives + memory * n_depths() + depth + 1;
    }
    int busy_column(int component) const {
        return n_objectives + n_tracked * n_depths() + component;
    }
    int size_column(int tensor) const {
        return n_compared() + tensor;
    }
    std::size_t rows() const {
        return source_row.size();
    }
    const double* row(std::size_t r) const {
        return values.data() + r * static_cast<std::size_t>(stride());
    }
    /// Drops all rows but these (ascending).
    void keep(const std::vector<std::uint32_t>& rows);
    const std::int64_t* trips_of(std::size_t r) const {
        return trips.data() + r * structure.loops.size();
    }
};

/// For a quick, incomplete search: at most `rows` of each combination of trip counts, those of
/// least cost (product of the objectives) and the one that occupies least.
PmappingGroup thinned(const PmappingGroup& group, std::size_t rows);

/// Keeps the rows that no other row with the same trip counts dominates in objectives, occupancies
/// and busy times.
void prune_pareto(PmappingGroup& group);

}  // namespace tessera::mapspace
