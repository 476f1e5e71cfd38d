// What the rest of a mapping costs at least, given how tensors are shared: RelaxedJoin over rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "join_rows.hpp"
#include "tessera/mapspace/relaxed_join.hpp"

namespace tessera::mapspace::detail {

/// How far compatibilities are refined; see CompatibilityIndex.
enum class Detail : std::uint8_t { memory, loops, trips };

/// A way to treat a shared tensor: its memory; the number of loops above it, and of each of these
/// the rank that it indexes and its kind; their trip counts. match() and combine() demand that all
/// users of a tensor agree in this; the order of the loops is left aside.
class CompatibilityIndex {
public:
    CompatibilityIndex(std::size_t n_tensors, Detail detail) : detail_(detail), known_(n_tensors) {}

    /// Number of the compatibility of the group's tensor `index` with these trip counts.
    std::int32_t of_group(const GroupStructure& g, std::size_t index, const std::int64_t* trips);
    /// The same of a state's live tensor; -1 if no group treats the tensor so.
    /// Thread rule: any number of threads, while nobody calls of_group.
    std::int32_t of_state(const StateStructure& st, std::size_t live,
                          const std::int64_t* trips) const;

private:
    /// Memory that outlives a call.
    struct Scratch {
        std::vector<std::int64_t> key;
        std::vector<std::array<std::int64_t, 3>> loops;
    };
    /// `ranks`: those of the tensor that the loops index.
    template <class Loops>
    void write_key(const HeldTensor& t, const std::vector<int>& ranks, const Loops& loops,
                   const std::int64_t* trips, Scratch& to) const;

    Detail detail_;
    std::vector<std::unordered_map<std::vector<std::int64_t>, std::int32_t, base::HashOfRow>>
        known_;
    Scratch scratch_;
};

/// For Einsums in the order of the file. In rounds of growing detail: what one round shows to be of
/// no use is left out of the next, and a round that gets too large is given up.
class RelaxedRows {
public:
    RelaxedRows(const workload::Workload& w, const std::vector<std::vector<PmappingGroup>>& groups,
                int objectives, const StepBound& bound);

    /// False if the groups of an Einsum do not have the same shared tensors.
    bool usable() const {
        return round_ != nullptr;
    }
    /// Least costs of mappings of these rows that are of use.
    const CostFront& total() const {
        return round_->relaxed->total();
    }
    /// Number of rows that can be part of a mapping that the bound does not exclude.
    std::size_t n_useful() const {
        return n_useful_;
    }
    /// One entry per row of the group.
    const std::vector<char>& useful(std::size_t e, std::size_t group) const {
        return useful_[e][group];
    }
    /// Least costs of the Einsums from `e` on after a state with these trip counts; null if none
    /// fit. Thread rule: any number of threads.
    const CostFront* from(std::size_t e, const StateStructure& st, const std::int64_t* trips) const;

private:
    struct Round {
        CompatibilityIndex compatibility_keys;
        /// By Einsum and group: number of a row's choices, and the choices by number.
        std::vector<std::vector<std::vector<std::uint32_t>>> choices_of;
        std::vector<std::vector<TensorChoices>> choices;
        std::vector<std::unordered_map<TensorChoices, std::uint32_t, TensorChoicesHash>> numbers;
        std::optional<RelaxedJoin> relaxed;
    };
    std::unique_ptr<Round> make_round(Detail detail);
    void add_rows(const PmappingGroup& g, std::size_t e, std::size_t group, Round& round,
                  ChoiceTable& table, CoarserJoin& coarser);
    void mark(const Round& round);

    const workload::Workload& workload_;
    const std::vector<std::vector<PmappingGroup>>& groups_;
    const int objectives_;
    const StepBound& bound_;
    bool uniform_ = true;
    std::unique_ptr<Round> round_;
    std::vector<std::vector<std::vector<char>>> useful_;
    std::size_t n_useful_ = 0;
};

}  // namespace tessera::mapspace::detail
