// A template: the mapping of one Einsum on one path with unknown tile shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapping/pmapping.hpp"

namespace tessera::mapspace {

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
    arch::LoopBound::Op op = arch::LoopBound::Op::le;
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
    mapping::Pmapping nodes;  ///< no reservations; the cost model places them
    std::vector<TileSymbol> symbols;
    std::vector<TemplateConstraint> constraints;
    int n_fused_nodes = 0;  ///< loops at index < this are fused

    bool operator==(const Template&) const = default;
};

/// Switches of the mapspace. A preset is a set of values for them: `{}` is `accelforge`, full() is
/// `full`.
struct MapSpaceOptions {
    static constexpr int unlimited = -1;
    enum class Preset : std::uint8_t { full, accelforge };

    static MapSpaceOptions full() {
        MapSpaceOptions o;
        o.preset = Preset::full;
        o.copies_in_distributed_memories = true;
        o.all_einsum_orders = true;
        o.sliding_holders = true;
        return o;
    }

    /// Whether any loop may leave a partial last tile.
    bool partial_tiles() const {
        return imperfect_temporal || imperfect_spatial;
    }

    Preset preset = Preset::accelforge;
    int max_fused_loops = unlimited;
    int max_fused_loops_per_rank_variable = 1;
    int max_loops_per_spatial_dimension = unlimited;
    bool imperfect_temporal = false;
    bool imperfect_spatial = false;
    /// Partial tiles in inner loops, too, as the reference explores them (with fractional trip
    /// counts; `check()` goes by the problem's `compat`). Off: only the outermost loop over a
    /// variable with more than one trip may leave one.
    bool partial_inner_tiles = false;
    bool force_memory_hierarchy_order = true;
    bool explore_loop_orders = true;
    /// Loop orders that differ in what one reservation sinks through alone are one template
    /// (PmappingNode::open_order). Off: a template each; the best of them is the same.
    bool open_loop_orders = true;
    bool unfused = false;  ///< the outermost memory keeps every tensor
    bool out_of_order_removes_spatials = false;
    bool all_einsum_orders = false;  ///< every order in which producers come before consumers
    /// In a fused gap a loop may also stand below a holder whose tensor it indexes (lifts L5 of
    /// docs/mapspace.md). No preset has it: where two loops over one variable would meet in one
    /// gap, the templates do not cover all of it.
    bool loops_below_holders = false;
    /// Below a memory inside an array, spatial loops that do not index its tensor.
    bool copies_in_distributed_memories = false;
    /// A backing holder may keep what one iteration of the loop below it reaches, from one to the
    /// next: Einsums share loops inside a sum (`p + r`).
    bool sliding_holders = false;
    /// For tests only: the rule "raise" of docs/templates.md in fused gaps, too, where it loses
    /// optima. It shows that the tests notice.
    bool raise_fused_loops = false;
};

/// Calls `sink` for every template of the Einsum on the path, deterministic order, duplicates
/// removed. Returns the number of templates. \throws NoLegalMapping naming the constraint if none
/// can exist (a tensor that no memory may keep).
std::size_t enumerate_templates(const arch::Path& path, const MapSpaceOptions& options,
                                const std::function<void(Template&&)>& sink);

}  // namespace tessera::mapspace
