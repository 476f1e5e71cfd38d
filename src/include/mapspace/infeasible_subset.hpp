// Why no mapping is legal: a smallest set of constraints that cannot be met together, known as an
// irreducible infeasible subset (IIS). It belongs to problem and mapspace, not to a mapper.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/mapspace/template.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::mapspace {

/// What can be dropped, by its key in the files; in the order in which it is tried.
enum class ConstraintKind : std::uint8_t {
    option,  ///< a switch of the mapspace, `component` is its name
    min_usage,
    fanout,
    banks,
    size,
    no_refetch_from_above,
    no_resend_to_below,
    reuse,
    loop_bounds,
    tensor_order_options,
    compute,   ///< `enabled`, `operations`
    back,      ///< without it the memory may keep these tensors
    may_keep,  ///< that the memory keeps nothing else; without it all
    keep,      ///< without it the memory may keep these tensors
};

struct NamedConstraint {
    ConstraintKind kind = ConstraintKind::option;
    std::string component, dim;
    int index = 0;  ///< in `loop_bounds`
    Position where;

    bool same(const NamedConstraint& other) const {
        return kind == other.kind && component == other.component && dim == other.dim &&
               index == other.index;
    }
};

struct InfeasibleSubset {
    /// Alone it has no pmapping; -1: every Einsum has one, but they do not fit together.
    int einsum = -1;
    std::vector<NamedConstraint> constraints;
    /// Those of them that may not be needed. Without any single one of the others there is a
    /// mapping, or, if it was one Einsum that had none, each Einsum alone has one.
    std::vector<NamedConstraint> open;
    /// For people: what cannot be met, then a line for each constraint with both sides.
    std::vector<std::string> lines;
};

/// Nothing if there is a mapping, if it is not the constraints that rule out every mapping, and if
/// base::current_stop() came before one was ruled out. A stop after that ends the search for fewer
/// constraints. The constraints that are not named need not be met for the proof.
/// \pre model.has_formulas(). Thread rule: pure.
std::optional<InfeasibleSubset> infeasible_subset(const model::Problem& problem,
                                                  const model::CostModel& model,
                                                  const MapSpaceOptions& options);

}  // namespace tessera::mapspace
