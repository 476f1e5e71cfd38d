// Rows of joined states: combining, pruning, bounding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "mapspace/join_state.hpp"
#include "state_rows.hpp"
#include "tessera/mapspace/join.hpp"

namespace tessera::mapspace::detail {

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

using StateGroup = StateRows<StateLayout>;

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

/// Right rows by the trip counts of the loops that become the open ones; without those whose states
/// have no completion.
class MatchingRows {
public:
    MatchingRows(const PmappingGroup& right, const std::vector<int>& loops, const StepBound& bound);

    /// Calls `take` for each row with these trip counts, ascending.
    template <class Take>
    void for_each(const std::int64_t* trips, const Take& take) const {
        const auto [first, last] = find(trips);
        for (auto at = first; at != last; ++at) {
            if (same(trips, at->second)) {
                take(at->second);
            }
        }
    }

private:
    using Row = std::pair<std::uint64_t, std::uint32_t>;  ///< hash, row

    std::pair<const Row*, const Row*> find(const std::int64_t* trips) const;
    bool same(const std::int64_t* trips, std::uint32_t row) const;

    const PmappingGroup& right_;
    const std::vector<int>& loops_;
    std::vector<Row> rows_;
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

}  // namespace tessera::mapspace::detail
