// Semi-join of pmapping tables: what cannot be joined with anything is dropped before the join.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/mapspace/join.hpp"
#include "tessera/workload/einsum_view.hpp"

namespace tessera::mapspace {

/// Drops rows of `groups[e]` (one list per Einsum) that hold a fusable tensor as no row of another
/// Einsum that accesses it does (memory, depth, ranks and trip counts of the loops above), or that
/// cannot beat one of the `incumbents` (objective vectors, compared as join() does) together with
/// the cheapest rows that do as they do; and groups that are left empty. Returns the number of rows
/// dropped. Thread rule: none; pure function.
std::size_t semijoin_rows(const workload::Workload& workload,
                          std::vector<std::vector<PmappingGroup>>& groups, JoinGoal goal,
                          const std::vector<std::vector<double>>& incumbents);

/// Reduced-cost fixing: drops rows that are part of no whole mapping which beats or ties one of the
/// `incumbents`, whatever the others do, if only shared tensors have to be held alike (relaxed
/// join); and groups that are left empty. Returns what no mapping of the groups is below: for
/// several objectives that are no product, of the first. Infinite: there is none.
/// `most_sums`: see JoinOptions::completion_sums. Thread rule: none; pure function.
double fix_by_reduced_costs(const workload::Workload& workload,
                            std::vector<std::vector<PmappingGroup>>& groups, JoinGoal goal,
                            const std::vector<std::vector<double>>& incumbents,
                            std::size_t most_sums);

/// A loop above a shared tensor, but for its trips.
struct LoopAbove {
    int rank = -1;  ///< of the tensor, which the loop indexes directly; -1: none
    int spatial_dim = -1;
    std::int64_t bound = 0, prologue = 0;  ///< of the rank's variable; 0 without one
};

/// How the rows of a group, or a joined state, hold one of their tensors: memory, depth, and the
/// loops above as a set. Two users of a tensor can be joined only if their numbers for it are the
/// same.
class Compatibility {
public:
    Compatibility(const GroupStructure& structure, const BackedTensor& tensor);
    /// `above`: its `tensor.level` loops, outermost first.
    Compatibility(const HeldTensor& tensor, const std::vector<LoopAbove>& above);

    std::uint64_t of(const std::int64_t* trips) const {
        std::uint64_t hash = place_;
        for (std::size_t l = 0; l < of_loops_.size(); ++l) {
            hash += of_loop(of_loops_[l], trips[l]);
        }
        return hash;
    }

private:
    static std::uint64_t of_loop(std::uint64_t loop, std::int64_t trips);

    std::uint64_t place_ = 0;              ///< memory and depth
    std::vector<std::uint64_t> of_loops_;  ///< each loop above but for its trips
};

}  // namespace tessera::mapspace
