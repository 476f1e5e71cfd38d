#include "fused_structure.hpp"

#include <algorithm>
#include <tuple>

#include "spec/quantities.hpp"
#include "tessera/base/error.hpp"

namespace tessera::mapspace {

using mapping::NodeKind;
using mapping::PmappingNode;

namespace {

/// How the loop right below the holder walks along its tensor.
void window(BackedTensor& b, const workload::LocalTensor& t, const GroupStructure& st) {
    if (b.level >= static_cast<int>(st.loops.size())) {
        throw Bug("a line buffer of tensor '" + t.name + "' has no loop below it");
    }
    const FusedLoop& loop = st.loops[static_cast<std::size_t>(b.level)];
    for (const workload::Window& s : t.windows) {
        if (s.variable == loop.rank_variable) {
            b.window_rank = s.rank;
            b.window_base = loop.prologue.base > 0 ? s.factor * loop.prologue.base : s.base;
            b.window_prologue = s.factor * loop.prologue.prologue + (t.output ? 0 : s.need);
        }
    }
}

void add_break(GroupStructure& st, int depth) {
    if (depth > 0 && depth < static_cast<int>(st.loops.size())) {
        st.breaks |= 1u << depth;
    }
}

/// Hops depend on the order of a loop that spreads data over a network and its neighbours.
void break_below_networks(const arch::Path& path, const Template& tmpl,
                          const std::vector<FusedNode>& fused, std::uint32_t mask,
                          const Depths& depths, GroupStructure& st) {
    for (std::size_t k = 0; k < fused.size(); ++k) {
        const PmappingNode& n = tmpl.nodes[static_cast<std::size_t>(fused[k].node)];
        if ((mask >> k & 1u) && n.kind == NodeKind::spatial && path.spreads_over_network(n.level)) {
            add_break(st, depths.of_loops[k]);
            add_break(st, depths.of_loops[k + 1]);
        }
    }
}

/// All tensors of a copy in one memory are one buffer: that of a persistent one, else the input's,
/// or that of the first output if the input lies elsewhere. What is persistent is apart from an
/// input that is not: Einsums before the copy have the input's room already, and their peaks do
/// not tell how much of them it is.
void share_buffers(const TabulateContext& c, GroupStructure& st) {
    const auto apart = [&](const BackedTensor& b) {
        return b.level < 0 && std::ranges::any_of(st.tensors, [&](const BackedTensor& input) {
                   return !input.output && input.memory == b.memory && input.level >= 0;
               });
    };
    const auto place = [&](const BackedTensor& b) {
        return std::tuple(b.level >= 0, b.output,
                          c.path->einsum.tensors[static_cast<std::size_t>(b.tensor)].tensor);
    };
    for (BackedTensor& b : st.tensors) {
        const BackedTensor* owner = &b;
        for (const BackedTensor& other : st.tensors) {
            if (other.memory == b.memory && apart(other) == apart(b) &&
                place(other) < place(*owner)) {
                owner = &other;
            }
        }
        b.shares_buffer_of = owner == &b ? -1 : owner->tensor;
    }
}

}  // namespace

std::int64_t match_key(const TabulateContext& context, const PmappingNode& loop, std::int64_t trips,
                       const std::int64_t* tiles) {
    return context.match_tile_shapes ? trips << 32 | tile_of(loop, tiles) : trips;
}

std::int64_t trips_of_key(bool match_tile_shapes, std::int64_t key) {
    return match_tile_shapes ? key >> 32 : key;
}

std::vector<FusedNode> fused_nodes(const Template& tmpl) {
    std::vector<FusedNode> out;
    for (int i = 0; i < tmpl.n_fused_nodes; ++i) {
        const PmappingNode& n = tmpl.nodes[static_cast<std::size_t>(i)];
        if (!n.is_loop()) {
            continue;
        }
        int outer = -1;
        for (std::size_t k = 0; k < out.size(); ++k) {
            if (tmpl.nodes[static_cast<std::size_t>(out[k].node)].rank_variable ==
                n.rank_variable) {
                outer = static_cast<int>(k);
            }
        }
        out.push_back({i, outer});
    }
    return out;
}

std::int64_t tile_of(const PmappingNode& n, const std::int64_t* tiles) {
    return n.symbol >= 0 ? tiles[n.symbol] : n.tile;
}

void trips_of(const arch::Path& path, const Template& tmpl, const std::vector<FusedNode>& fused,
              const std::int64_t* tiles, std::vector<std::int64_t>& trips) {
    for (std::size_t k = 0; k < fused.size(); ++k) {
        const PmappingNode& n = tmpl.nodes[static_cast<std::size_t>(fused[k].node)];
        const std::int64_t outer =
            fused[k].outer >= 0
                ? tile_of(tmpl.nodes[static_cast<std::size_t>(
                              fused[static_cast<std::size_t>(fused[k].outer)].node)],
                          tiles)
                : path.einsum.rank_variables[static_cast<std::size_t>(n.rank_variable)].bound;
        const std::int64_t tile = tile_of(n, tiles);
        trips[k] = ((n.base > 0 ? n.base : outer) + tile - 1) / tile;
    }
}

Depths depths_of(const Template& tmpl, std::uint32_t mask) {
    Depths d;
    int loops = 0, depth = 0;
    d.of_loops.push_back(0);
    for (std::size_t i = 0; i < tmpl.nodes.size(); ++i) {
        d.of_node.push_back(depth);
        if (tmpl.nodes[i].is_loop()) {
            if (static_cast<int>(i) < tmpl.n_fused_nodes) {
                depth += static_cast<int>(mask >> loops & 1u);
            }
            ++loops;
            d.of_loops.push_back(depth);
        }
    }
    return d;
}

GroupStructure structure_of(const TabulateContext& c, const Template& tmpl,
                            const std::vector<FusedNode>& fused, std::uint32_t mask,
                            const Depths& depths) {
    GroupStructure st;
    const workload::EinsumView& e = c.path->einsum;
    for (std::size_t k = 0; k < fused.size(); ++k) {
        if (mask >> k & 1u) {
            const PmappingNode& n = tmpl.nodes[static_cast<std::size_t>(fused[k].node)];
            const int dim = n.kind == NodeKind::spatial
                                ? c.component_of_level[static_cast<std::size_t>(n.level)] *
                                          static_cast<int>(spec::most_dimensions) +
                                      n.dim
                                : -1;
            st.loops.push_back({n.rank_variable,
                                dim,
                                e.rank_variables[static_cast<std::size_t>(n.rank_variable)].bound,
                                {n.base, n.prologue}});
        }
    }
    break_below_networks(*c.path, tmpl, fused, mask, depths, st);
    for (std::size_t i = 0; i < tmpl.nodes.size(); ++i) {
        const PmappingNode& node = tmpl.nodes[i];
        if (node.kind != NodeKind::storage && node.kind != NodeKind::toll) {
            continue;
        }
        add_break(st, depths.of_node[i]);
        const workload::LocalTensor& t = e.tensors[static_cast<std::size_t>(node.tensor)];
        if (!node.backing || !t.fusable) {
            continue;
        }
        BackedTensor b;
        b.tensor = node.tensor;
        b.memory = c.component_of_level[static_cast<std::size_t>(node.level)];
        b.level = node.persistent ? -1 : depths.of_node[i];
        b.tracked = c.tracked_of_level[static_cast<std::size_t>(node.level)];
        b.output = t.output;
        b.running_state = t.state_variable >= 0;
        for (const FusedLoop& loop : st.loops) {
            b.rank_of_loop.push_back(
                t.rank_of_variable[static_cast<std::size_t>(loop.rank_variable)]);
        }
        if (node.line_buffer) {
            window(b, t, st);
            add_break(st, b.level + 1);
        }
        st.tensors.push_back(std::move(b));
    }
    if (e.is_copy_operation) {
        share_buffers(c, st);
    }
    return st;
}

void add_breaks(const model::TemplateFormulas& formulas, const Depths& depths,
                GroupStructure& structure) {
    for (const model::OccupancyFormula& o : formulas.occupancies) {
        if (o.loops_above >= 0) {
            add_break(structure, depths.of_loops[static_cast<std::size_t>(o.loops_above)]);
        }
    }
}

}  // namespace tessera::mapspace
