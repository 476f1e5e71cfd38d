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
#include "tessera/workload/einsum_view.hpp"
#include "tessera/workload/equation.hpp"
#include "tessera/workload/operations.hpp"

namespace tessera::spec {
struct Document;
class Symbols;
}  // namespace tessera::spec

namespace tessera::workload {

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

/// Of each tensor the first one that copy Einsums link it with: such tensors may share buffers.
std::vector<int> linked_by_copies(const Workload& workload);

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
