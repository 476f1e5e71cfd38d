// A template: the mapping of one Einsum on one path with unknown tile shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapping/pmapping.hpp"

namespace tessera::mapping {

/// One unknown tile shape. A chain of symbols of one rank variable runs bound, s_a, s_b, ..., 1.
struct TileSymbol {
    int rank_variable = 0;
    int node = 0;        ///< index of the loop in Template::nodes
    int outer = -1;      ///< symbol of the next outer loop over the same variable, -1: the bound
    int inner = -1;      ///< symbol of the next inner loop over the same variable, -1: tile 1
    bool fused = false;  ///< loop above the last backing holder of a fusable tensor
    bool spatial = false;
    bool imperfect = false;

    bool operator==(const TileSymbol&) const = default;
};

/// A condition on trip counts or on the use of a fan-out.
struct TemplateConstraint {
    enum class Kind : std::uint8_t { loop_bound, min_usage };
    Kind kind = Kind::loop_bound;
    std::vector<int> loops;  ///< loop_bound: node indices; their trip counts are multiplied
    arch::LoopBound::Op op = arch::LoopBound::Op::less_equal;
    double value = 1;
    int level = -1, dim = -1;  ///< min_usage: best effort
    Position where;

    bool operator==(const TemplateConstraint& o) const {
        return kind == o.kind && loops == o.loops && op == o.op && value == o.value &&
               level == o.level && dim == o.dim;
    }
};

/// Most loops of one template that stand above shared tensors.
inline constexpr std::size_t max_fused_loops_of_template = 32;

struct Template {
    Pmapping nodes;  ///< no reservations; the cost model places them
    std::vector<TileSymbol> symbols;
    std::vector<TemplateConstraint> constraints;
    int n_fused_nodes = 0;  ///< loops at index < this are fused
    /// Of the orders of loops below a network, which make other hops, it has one alone: they are
    /// too many, here or in another template of the Einsum (L9 of docs/mapspace.md).
    bool one_order = false;

    bool operator==(const Template&) const = default;
};

}  // namespace tessera::mapping
