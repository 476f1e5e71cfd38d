// The workload: a cascade (DAG) of Einsums over rank variables.
//
// Two views of one thing:
//   Workload    the whole cascade, global indices, names and source positions;
//   EinsumView  one Einsum with dense local indices, as the cost model and the mapspace use it.
// Immutable after loading; safe to read from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/spec/expression.hpp"
#include "tessera/workload/equation.hpp"
#include "tessera/workload/operations.hpp"

namespace tessera::workload {

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

/// A tensor of the cascade. Sizes in values and bits.
struct Tensor {
    std::string name;
    std::vector<std::string> ranks;  ///< every access lists them in this order
    double bits_per_value = 0;
    bool persistent = false;
    std::vector<int> producers;  ///< Einsums that output it
    std::vector<int> consumers;  ///< Einsums that input it, after their producers
    /// Running states: index of the iterative rank in `ranks`, else -1.
    int state_rank = -1;
    /// Running states: Einsums that read the state of the iteration before, so they stand before
    /// the producer. Not among the consumers.
    std::vector<int> previous_readers;
    double size_values = 0;  ///< box of the image of the producing (else reading) iteration space
    Position where;

    bool intermediate() const {
        return !producers.empty() && (!consumers.empty() || !previous_readers.empty());
    }
};

/// One access of an Einsum; rank variables are global indices here.
struct TensorAccess {
    int tensor = 0;
    bool output = false;
    /// Of a running state: the rank is indexed by the iterative variable alone, whichever of the
    /// states m and m + 1 is meant.
    StateAccess state = StateAccess::none;
    std::vector<RankAccess> ranks;
    Position where;
};

/// A named set of tensors of one Einsum (`input`, `output`, `weight`, ...).
struct Rename {
    std::string name;
    std::vector<int> tensors;  ///< global tensor indices
    bool is_rank_variables = false;
    std::vector<int> rank_variables;
};

struct Einsum {
    std::string name;
    std::vector<TensorAccess> accesses;
    std::vector<int> rank_variables;  ///< global indices, sorted by name
    bool is_copy_operation = false;
    double n_instances = 1;
    std::vector<OperationCount> operations;  ///< per point; empty: one `compute`
    /// Global iterative variables of which only the last iteration is run: it reads last states.
    std::vector<int> only_last;
    std::vector<Rename> renames;
    Position where;
    Equation equation = {};  ///< as written; without parts if it has no text
};

struct RankVariable {
    std::string name;
    std::int64_t bound = 1;  ///< number of values, from the bounding box of the iteration space
};

/// Where names stand, for cascades of a thousand Einsums. The loader fills it; a kind that was not
/// entered whole is searched instead.
struct NameIndex {
    std::unordered_map<std::string, int> tensors, einsums, rank_variables;
    bool nothing_overlaps = false;  ///< no Einsum reads overlapping pieces of what another makes
};

/// The whole cascade in file order (a producer stands before its consumers).
struct Workload {
    std::string name;
    std::vector<RankVariable> rank_variables;
    std::vector<Tensor> tensors;
    std::vector<Einsum> einsums;
    double n_instances = 1;
    NameIndex index;

    int find_tensor(const std::string& name) const;  ///< -1 if absent
    int find_einsum(const std::string& name) const;  ///< -1 if absent
    int find_rank_variable(const std::string& name) const;
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

/// Of each tensor the first one that copy Einsums link it with: such tensors may share buffers.
std::vector<int> linked_by_copies(const Workload& workload);

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

/// Builds the local view. \throws Bug if an index is out of range.
EinsumView view(const Workload& workload, int einsum);

/// The set symbols an expression about this Einsum may use: All, Tensors, Nothing, Inputs, Outputs,
/// Intermediates, Shared, Persistent, every tensor of the workload (empty set if not in the
/// Einsum), every rank variable, every rename. \pre the workload outlives the symbols.
spec::Symbols einsum_symbols(const Workload& workload, const EinsumView& view);

/// Reads `workload` (and `renames`) of a document that is in memory. The name stays empty.
/// \throws UserError with file:line:column.
Workload read_workload(const spec::Document& document);

/// Reads `workload` (and `renames`) of a native or AccelForge file.
/// `name_or_path`: a file, or a name found in problem-shapes/. `defines`: -D NAME=VALUE.
/// \throws UserError with file:line:column.
Workload load_workload(const std::string& name_or_path,
                       const std::map<std::string, std::string>& defines);

}  // namespace tessera::workload
