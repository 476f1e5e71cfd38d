// One Einsum with dense local indices, as the cost model and the mapspace use it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/workload/operations.hpp"

namespace tessera::workload {

struct Workload;  // the whole cascade: tessera/workload/workload.hpp

/// Bit i = local tensor i of one Einsum (at most 64).
using TensorMask = std::uint64_t;
/// Bit v = local rank variable v of one Einsum (at most 64).
using RankVariableMask = std::uint64_t;

/// One addend `coefficient * rank_variable` of an affine rank expression.
struct AffineTerm {
    std::int64_t coefficient = 1;
    int rank_variable = 0;
};

/// How one rank of a tensor is indexed: sum of terms plus a constant.
struct RankAccess {
    std::string rank;
    std::vector<AffineTerm> terms;
    std::int64_t constant = 0;
};

/// How a rank variable relates to a tensor. `relevant`: it is the only addend of some rank
/// expression; `partially_relevant`: it is one addend of several wherever it occurs (halo).
enum class Relevancy : std::uint8_t { irrelevant, relevant, partially_relevant };

/// A way to walk along a rank of an intermediate tensor whose pieces a reader reads with overlap
/// (`P: p + r`): a loop over `variable` advances by factor * tile shape on the rank and covers
/// `base` values of it in all; an iteration reads up to `need` values more than it advances.
struct Window {
    int variable = 0;         ///< local
    int rank = 0;             ///< index into LocalTensor::ranks
    std::int64_t factor = 1;  ///< of the variable in the rank's expression
    std::int64_t base = 1;    ///< factor * bound of the variable
    /// Extent of the other addends beyond the factor; of an output: the least prologue of the loop
    /// that serves all readers.
    std::int64_t need = 0;

    bool operator==(const Window&) const = default;
};

/// Prologue of a loop whose readers overlap: base / tile iterations, of which the first covers
/// tile + prologue values and each other the next tile values, as far as there are any.
struct Prologue {
    std::int64_t base = 1;
    std::int64_t prologue = 0;

    bool operator<(const Prologue& o) const {
        return prologue != o.prologue ? prologue < o.prologue : base < o.base;
    }
    bool operator==(const Prologue&) const = default;
};

/// One tensor of an EinsumView. Affine terms use local rank variables.
struct LocalTensor {
    std::string name;
    int tensor = 0;  ///< index into Workload::tensors
    bool output = false;
    bool persistent = false;
    bool intermediate = false;  ///< produced and consumed in the workload
    bool fusable = false;       ///< accessed by two Einsums or more
    StateAccess state = StateAccess::none;
    int state_variable = -1;  ///< running states: the iterative variable, else -1
    double bits_per_value = 0;
    std::vector<RankAccess> ranks;
    std::vector<Relevancy> relevancy;  ///< per local rank variable
    RankVariableMask relevant = 0;     ///< variables that are Relevancy::relevant
    RankVariableMask partially_relevant = 0;
    /// Variables that are a whole rank expression by themselves (`M: m`) and occur in no other; the
    /// template rules use these.
    RankVariableMask directly_indexing = 0;
    RankVariableMask expression_indexing = 0;  ///< all other variables of the tensor
    std::vector<int>
        rank_of_variable;  ///< local variable -> index into ranks if directly indexing, else -1
    double size_values = 0;
    /// Intermediates with overlapping reads, and running states: how this Einsum may walk along
    /// them.
    std::vector<Window> windows;
};

/// Values in the bounding box of what so many values of each rank variable access, times `start`.
double box_values(const LocalTensor& tensor, const std::vector<std::int64_t>& sizes,
                  double start = 1);

struct LocalRankVariable {
    std::string name;
    int rank_variable = 0;  ///< index into Workload::rank_variables
    std::int64_t bound = 1;
    bool simple = true;  ///< never inside a sum or a multiple in any access of the Einsum
    /// How a shared loop over it may have a prologue (at most four, the smallest prologues), beside
    /// not at all.
    std::vector<Prologue> prologues;
    bool only_last = false;  ///< see Einsum::only_last
};

/// One Einsum with dense local indices. Local tensors stand in sorted name order, so do variables.
struct EinsumView {
    int einsum = 0;
    std::string name;
    bool is_copy_operation = false;
    double n_instances = 1;                  ///< workload.n_instances * einsum.n_instances
    std::vector<OperationCount> operations;  ///< per point
    std::vector<LocalTensor> tensors;
    std::vector<LocalRankVariable> rank_variables;

    std::vector<std::int64_t> bounds() const;  ///< of the rank variables
    TensorMask all() const {
        return tensors.size() == 64 ? ~0ull : (1ull << tensors.size()) - 1;
    }
    TensorMask outputs() const;
    TensorMask fusable() const;
    TensorMask intermediates() const;
    /// Iterative variables of more than one value whose running states the Einsum accesses.
    RankVariableMask state_variables() const;
    int find_tensor(const std::string& name) const;         ///< local index or -1
    int find_tensor(int tensor) const;                      ///< of the workload: local index or -1
    int find_rank_variable(const std::string& name) const;  ///< local index or -1
};

}  // namespace tessera::workload
