// Rows of joined states: combining, pruning, bounding.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mapspace/join_state.hpp"
#include "tessera/mapspace/join.hpp"

namespace tessera::mapspace::detail {

/// Where a state row comes from.
struct BackPointer {
    std::uint32_t left_group = 0, left_row = 0;
    std::uint32_t right_group = 0, right_row = 0;
    std::uint32_t plan = 0;  ///< index into the step's plans
};

/// Column layout of a state with n open loops, M memories, k objectives and the given live tensors.
struct StateLayout {
    int k = 1, memories = 0, n = 0, live = 0;

    int held(int m, int depth) const {
        return k + m * (2 * n + 3) + depth + 1;
    }
    int peak(int m, int depth) const {
        return k + m * (2 * n + 3) + n + 2 + depth;
    }
    int size(int t) const {
        return k + memories * (2 * n + 3) + t;
    }
    int compared() const {
        return k + memories * (2 * n + 3);
    }  ///< leading columns that Pareto compares
    int stride() const {
        return compared() + live;
    }
};

/// Rows that share a structure.
struct StateGroup {
    int done = 0;  ///< which set of Einsums is joined (index into the sets of its size)
    StateStructure structure;
    StateLayout layout;
    std::vector<double> values;
    std::vector<std::int64_t> trips;
    std::vector<BackPointer> from;

    std::size_t rows() const {
        return from.size();
    }
    const double* row(std::size_t r) const {
        return values.data() + r * static_cast<std::size_t>(layout.stride());
    }
    const std::int64_t* trips_of(std::size_t r) const {
        return trips.data() + r * static_cast<std::size_t>(layout.n);
    }
};

struct LaterBits;
class CompletionBounds;

/// Lower bounds of everything the Einsums after a step still add, and what is known already.
struct StepBound {
    JoinGoal goal = JoinGoal::edp;
    std::vector<double> future;  ///< per objective
    const std::vector<std::vector<double>>* incumbents = nullptr;
    bool reference_sizes = false;                   ///< see JoinOptions::reference_rules
    const LaterBits* later = nullptr;               ///< what they may still hold; null: not known
    const CompletionBounds* completions = nullptr;  ///< null: not known
    /// By row of the right group: what the joined states still cost at least.
    const std::vector<double>* least = nullptr;

    /// True if a row with these partial objectives cannot beat (or tie) a known solution.
    bool pruned_by_bound(const double* objectives) const;
    /// The same with the completions of the states that a right row makes.
    bool pruned_by_completions(const double* objectives, std::size_t right_row) const;
    /// Whether the states of this right row have a completion.
    bool has_completion(std::size_t right_row) const;
};

/// Lowest over-capacity use seen, to explain an empty result.
struct CapacityMiss {
    int memory = -1;
    double bits = 0;
};

/// Prunes rows that are added to a group whenever they have doubled: what is held at a time stays
/// within twice what is of use, and pruning costs as much again at most.
class RowLimit {
public:
    void hold(StateGroup& group);

private:
    std::size_t next_ = 1u << 16;
};

/// A state and a group of pmappings, how they join, and their numbers for the way back.
struct Pairing {
    const StateGroup& left;
    const PmappingGroup& right;
    const JoinPlan& plan;
    std::uint32_t left_index = 0, right_index = 0, plan_index = 0;
};

/// Joins every left row with every matching right row under the plan and appends to `out`, pruned
/// now and then.
/// Returns the number of pairs looked at.
std::uint64_t combine(const Pairing& pairing, const std::vector<TrackedMemory>& memories,
                      const StepBound& bound, StateGroup& out, CapacityMiss& miss);

/// Drops all rows of the row-major table but these (ascending).
template <class T>
void keep_rows(std::vector<T>& table, std::size_t width, const std::vector<std::uint32_t>& rows) {
    T* to = table.data();
    for (const std::uint32_t row : rows) {
        to = std::copy_n(table.data() + row * width, width, to);
    }
    table.resize(rows.size() * width);
}

/// Keeps the first of equal rows and drops dominated ones, per trip counts. Order is deterministic.
void prune_pareto(StateGroup& group);

/// The same kernel over plain rows: returns the indices of the rows to keep, ascending.
/// Rows with different keys never prune each other; the first `compared` of `stride` columns count.
std::vector<std::uint32_t> pareto_rows(const double* values, int stride, int compared,
                                       const std::int64_t* keys, int key_width, std::size_t rows);

}  // namespace tessera::mapspace::detail
