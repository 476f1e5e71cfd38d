// Joining pmapping tables into whole mappings, one Einsum after the other. Several orders are
// explored by dynamic programming over the sets of Einsums already joined: all orders of a set end
// in the same states.
//
// Map of the method (FFM paper, section 6; reservations as 2N+1 columns a memory):
//   state      the Pareto set of partial mappings that agree on what later Einsums can see: open
//              fused loops and live tensors (memory, depth, ranks indexed by the open loops);
//   match      which fused loops of the next Einsum are the open ones (same tensor rank, same trip
//              count), in an order that both sides' holders allow;
//   combine    add costs, add what is held at the same time, close loops that no live tensor needs;
//   prune      capacity, Pareto per trip counts, bound against the incumbent.
// Columns of a state row (row-major):
//   objectives                     energy and/or latency, summed
//   held[m][d], d = -1..s          bits of memory m held at depth <= d for whatever comes next
//   peak[m][d], d = 0..s           highest use by finished branches below d open loops; later
//                                  holders at depths < d still add to it. Kept as suffix maxima
//                                  over d; as low as these allow where it cannot overflow any more.
//   size[t]                        bits of live tensor t
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/mapspace/pmapping_table.hpp"
#include "tessera/workload/einsum_view.hpp"

namespace tessera::mapspace {

/// How join results are compared.
enum class JoinGoal : std::uint8_t { single, pareto, edp };

/// In which order Einsums may run.
enum class EinsumOrder : std::uint8_t {
    file,  ///< as the workload lists them
    all,   ///< every order in which producers come before consumers
};

struct JoinOptions {
    EinsumOrder order = EinsumOrder::file;
    /// The reference's rules: tensors that stay live may not lie below more loops than those that
    /// the next Einsum exchanges with later ones; a shared tensor has the size that its first user
    /// sees.
    bool reference_rules = false;
    JoinGoal goal = JoinGoal::edp;  ///< single: one objective; pareto, edp: two (energy, latency)
    int threads = 1;
    std::size_t beam =
        0;  ///< > 0: keep at most this many rows a step (incumbent search, not exact)
    /// > 0: of a beam, so many states a step: those whose best rows are best, and those without
    /// open loops, which anything may follow.
    std::size_t beam_states = 0;
    /// > 0: given up once a step keeps more rows, or more pairs of rows were put together.
    std::size_t most_rows = 0;
    std::uint64_t most_pairs = 0;
    /// Count on what live tensors ask of later Einsums.
    bool lookahead = true;
    /// > 0: count on what completions cost at least, tensors held as by the state. Tables of the
    /// relaxed join take so many sums at most; where that is too few they say less.
    std::size_t completion_sums = 0;
    /// Forget peaks that nothing which is still to come can lift above a memory's size.
    bool settle = true;
    /// Once set, join() returns soon and incomplete. Null: base::current_stop() holds, which ends
    /// it by an exception.
    const std::atomic<bool>* stop = nullptr;
    /// Known solutions (objective vectors) that a row must be able to beat.
    std::vector<std::vector<double>> incumbents;
    std::function<void(int joined, std::size_t states, std::size_t rows)> progress;
};

/// One chosen pmapping of a joined mapping, in execution order.
struct JoinedEinsum {
    int einsum = 0;            ///< index into Workload::einsums
    int group = 0;             ///< index into the Einsum's groups
    std::uint32_t row = 0;     ///< row of that group
    std::vector<int> order;    ///< its fused loops in tree order: position -> loop of the group
    int shared_with_next = 0;  ///< leading loops shared with the next Einsum
};

struct JoinedMapping {
    std::vector<double> objectives;
    std::vector<JoinedEinsum> einsums;
};

struct JoinResult {
    std::vector<JoinedMapping> mappings;  ///< Pareto set, sorted by the first objective; edp: one
    bool complete = true;                 ///< false: stopped, given up, or a beam dropped rows
    bool given_up = false;                ///< JoinOptions::most_rows, most_pairs
    std::uint64_t rows_joined = 0, rows_kept = 0;
    bool all_orders = true;  ///< false: too many orders, the file's alone was joined
    int failed_at = -1;      ///< Einsum at which nothing was left, -1 if none
    bool failed_capacity = false;
    std::string
        failed_memory;  ///< memory that was over capacity in every candidate, if that was the cause
    double failed_needed_bits = 0;
};

/// Joins `groups[e]` (one list per Einsum of the workload). Deterministic for any thread count.
JoinResult join(const workload::Workload& workload,
                const std::vector<std::vector<PmappingGroup>>& groups,
                const std::vector<TrackedMemory>& memories, const JoinOptions& options);

}  // namespace tessera::mapspace
