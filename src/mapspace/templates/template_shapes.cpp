#include "mapspace/template_shapes.hpp"

#include <algorithm>

#include "tessera/model/formula.hpp"

namespace tessera::mapspace {

using model::Formula;

namespace {

Formula tile_formula(const mapping::PmappingNode& n) {
    return n.symbol >= 0 ? Formula::symbol(n.symbol) : Formula(static_cast<double>(n.tile));
}

/// A limit on how many of the loops `take` selects have more than one trip.
template <class Take>
void add_loop_limit(const Template& tmpl, const std::vector<TileShapeSymbol>& symbols, int limit,
                    Take take, std::vector<LoopLimit>& limits) {
    if (limit == MapSpaceOptions::unlimited) {
        return;
    }
    LoopLimit out;
    out.limit = limit;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        if (take(tmpl.symbols[i])) {
            out.loops.push_back({symbols[i].outer, static_cast<int>(i), symbols[i].bound});
        }
    }
    if (static_cast<int>(out.loops.size()) > limit) {
        limits.push_back(std::move(out));
    }
}

}  // namespace

std::vector<TileShapeSymbol> tile_shape_symbols(const arch::Path& path, const Template& tmpl,
                                                bool partial_inner_tiles) {
    // Below an imperfect loop the enclosing tile need not divide the bound.
    std::vector<char> imperfect(path.einsum.rank_variables.size(), 0);
    for (const TileSymbol& s : tmpl.symbols) {
        imperfect[static_cast<std::size_t>(s.rank_variable)] |= s.imperfect ? 1 : 0;
    }
    std::vector<TileShapeSymbol> symbols;
    for (const TileSymbol& s : tmpl.symbols) {
        const auto v = static_cast<std::size_t>(s.rank_variable);
        TileShapeSymbol out;
        const std::int32_t base = tmpl.nodes[static_cast<std::size_t>(s.node)].base;
        out.bound = base > 0 ? base : path.einsum.rank_variables[v].bound;
        out.outer = s.outer;
        out.inner = s.inner;
        out.fused = s.fused;
        out.spatial = s.spatial;
        const TileChoice partial =
            partial_inner_tiles ? TileChoice::one_per_trip_count : TileChoice::partial_outermost;
        out.choice = s.imperfect         ? partial
                     : imperfect[v] != 0 ? TileChoice::divisors_of_outer
                                         : TileChoice::divisors;
        symbols.push_back(out);
    }
    return symbols;
}

std::vector<LoopLimit> loop_limits(const arch::Path& path, const Template& tmpl,
                                   const MapSpaceOptions& options) {
    const std::vector<TileShapeSymbol> symbols = tile_shape_symbols(path, tmpl);
    std::vector<LoopLimit> limits;
    add_loop_limit(
        tmpl, symbols, options.max_fused_loops, [](const TileSymbol& s) { return s.fused; },
        limits);
    for (int v = 0; v < static_cast<int>(path.einsum.rank_variables.size()); ++v) {
        add_loop_limit(
            tmpl, symbols, options.max_fused_loops_per_rank_variable,
            [v](const TileSymbol& s) { return s.fused && s.rank_variable == v; }, limits);
    }
    for (int l = 0; l < static_cast<int>(path.levels.size()); ++l) {
        const auto& dims = path.levels[static_cast<std::size_t>(l)].spatial;
        for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
            add_loop_limit(
                tmpl, symbols, options.max_loops_per_spatial_dimension,
                [&](const TileSymbol& s) {
                    const auto& n = tmpl.nodes[static_cast<std::size_t>(s.node)];
                    return s.spatial && n.level == l && n.dim == d;
                },
                limits);
        }
    }
    return limits;
}

std::vector<TileShapeConstraint> line_buffer_limits(const arch::Path& path, const Template& tmpl,
                                                    workload::RankVariableMask uneven) {
    std::vector<TileShapeConstraint> limits;
    for (std::size_t i = 0; i < tmpl.nodes.size(); ++i) {
        const mapping::PmappingNode& n = tmpl.nodes[i];
        const bool slid = i > 0 && tmpl.nodes[i - 1].line_buffer;
        if (n.symbol < 0 || (!slid && n.base == 0)) {
            continue;
        }
        const std::int64_t bound =
            path.einsum.rank_variables[static_cast<std::size_t>(n.rank_variable)].bound;
        const std::int64_t most = std::min((n.base > 0 ? n.base : bound) / 2, bound - n.prologue);
        const bool average = n.base == 0 && (uneven >> n.rank_variable & 1) != 0;
        limits.push_back({Formula::symbol(n.symbol), Relation::less_equal,
                          average ? static_cast<double>(bound) / 2 : static_cast<double>(most)});
    }
    return limits;
}

Formula trip_formula(const arch::Path& path, const Template& tmpl, int node) {
    const mapping::PmappingNode& n = tmpl.nodes[static_cast<std::size_t>(node)];
    Formula outer(static_cast<double>(
        path.einsum.rank_variables[static_cast<std::size_t>(n.rank_variable)].bound));
    for (int i = 0; i < node; ++i) {
        const mapping::PmappingNode& m = tmpl.nodes[static_cast<std::size_t>(i)];
        if (m.is_loop() && m.rank_variable == n.rank_variable) {
            outer = tile_formula(m) + Formula(static_cast<double>(m.prologue));
        }
    }
    if (n.base > 0) {
        outer = Formula(static_cast<double>(n.base));
    }
    return model::ceil(outer / tile_formula(n));
}

}  // namespace tessera::mapspace
