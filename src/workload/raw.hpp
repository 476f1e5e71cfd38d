#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/affine.hpp"

// The workload as written, before names become indices and sizes become numbers.

namespace tessera::workload {

struct RawRank {
    std::string rank;
    Affine affine;
    Place place;
};

struct RawAccess {
    std::string tensor;
    std::vector<RawRank> ranks;
    bool output = false;
    bool persistent = false;
    StateAccess state = StateAccess::none;
    std::string state_rank;  ///< running states: the iterative rank
    std::optional<double> bits_per_value;
    Place place;
};

struct RawShape {
    std::string text;
    Place place;
};

struct RawEinsum {
    std::string name;
    std::vector<RawAccess> accesses;
    std::vector<RawShape> shapes;
    const spec::Node* rank_sizes = nullptr;
    const spec::Node* renames = nullptr;
    bool is_copy_operation = false;
    double n_instances = 1;
    Equation equation;  ///< indices into `accesses`
    std::vector<OperationCount> operations;
    std::vector<std::string> only_last;  ///< see Einsum::only_last
    Place place;

    /// Rank variables in use, sorted, each once.
    std::vector<std::string> rank_variables() const;
};

struct RawWorkload {
    std::vector<RawEinsum> einsums;
    const spec::Node* rank_sizes = nullptr;
    const spec::Node* iteration_space_shape = nullptr;
    const spec::Node* bits_per_value = nullptr;
    const spec::Node* persistent_tensors = nullptr;
    const spec::Node* renames = nullptr;  ///< top-level section
    const spec::Node* iterative_ranks = nullptr;
    double n_instances = 1;
    Place place;
};

/// Reads the sections `workload` and `renames`. \throws UserError
RawWorkload read_raw(const spec::Document& document);

/// Finds the running states of iterative ranks, and makes every access to them one by the iterative
/// variable alone. Part of read_raw(). \throws UserError
void resolve_states(RawWorkload& raw);
/// Fills bounds of rank variables and sizes of tensors. \throws UserError
void resolve_bounds(Workload& workload, const RawWorkload& raw, const spec::Symbols& variables);
/// Fills Einsum::renames: the Einsum's own, then the top-level ones of its name, then the default
/// ones, each for names not defined yet. \throws UserError
void resolve_renames(Workload& workload, const RawWorkload& raw, const spec::Symbols& variables);
/// Fills Tensor::bits_per_value and Tensor::persistent. \throws UserError
void resolve_tensors(Workload& workload, const RawWorkload& raw, const spec::Symbols& variables);

}  // namespace tessera::workload
