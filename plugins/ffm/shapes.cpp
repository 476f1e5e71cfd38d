// From a template's formulas to the explorer's problem: objectives, capacities, fan-outs, loop
// limits.
#include "shapes.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace tessera::ffm {

using mapspace::Relation;
using mapspace::TileChoice;
using model::Formula;
using telemetry::Reason;

namespace {

Formula tile_formula(const mapping::PmappingNode& n) {
    return n.symbol >= 0 ? Formula::symbol(n.symbol) : Formula(static_cast<double>(n.tile));
}

/// Trip count of the loop at `node`.
Formula trip_formula(const arch::Path& path, const mapspace::Template& tmpl, int node) {
    const mapping::PmappingNode& n = tmpl.nodes[static_cast<std::size_t>(node)];
    Formula outer(static_cast<double>(
        path.einsum.rank_variables[static_cast<std::size_t>(n.rank_variable)].bound));
    for (int i = 0; i < node; ++i) {
        const mapping::PmappingNode& m = tmpl.nodes[static_cast<std::size_t>(i)];
        const bool loop =
            m.kind == mapping::NodeKind::temporal || m.kind == mapping::NodeKind::spatial;
        if (loop && m.rank_variable == n.rank_variable) {
            outer = tile_formula(m);
        }
    }
    return model::ceil(outer / tile_formula(n));
}

Relation relation_of(arch::LoopBound::Op op) {
    switch (op) {
        case arch::LoopBound::Op::eq:
            return Relation::equal;
        case arch::LoopBound::Op::le:
            return Relation::less_equal;
        case arch::LoopBound::Op::ge:
            return Relation::greater_equal;
        case arch::LoopBound::Op::lt:
            return Relation::less;
        default:
            return Relation::greater;
    }
}

void add_symbols(const arch::Path& path, const mapspace::Template& tmpl,
                 mapspace::TileShapeProblem& p) {
    // Below an imperfect loop the enclosing tile need not divide the bound.
    std::vector<char> imperfect(path.einsum.rank_variables.size(), 0);
    for (const mapspace::TileSymbol& s : tmpl.symbols) {
        imperfect[static_cast<std::size_t>(s.rank_variable)] |= s.imperfect ? 1 : 0;
    }
    for (const mapspace::TileSymbol& s : tmpl.symbols) {
        const auto v = static_cast<std::size_t>(s.rank_variable);
        mapspace::TileShapeSymbol out;
        out.bound = path.einsum.rank_variables[v].bound;
        out.outer = s.outer;
        out.inner = s.inner;
        out.fused = s.fused;
        out.spatial = s.spatial;
        out.choice = s.imperfect         ? TileChoice::one_per_trip_count
                     : imperfect[v] != 0 ? TileChoice::divisors_of_outer
                                         : TileChoice::divisors;
        p.symbols.push_back(out);
    }
}

/// A limit on how many of the loops `take` selects have more than one trip. Loops whose tile shape
/// is the constant 1 are not counted.
template <class Take>
void add_loop_limit(const arch::Path& path, const mapspace::Template& tmpl, int limit, Take take,
                    mapspace::TileShapeProblem& p) {
    if (limit == mapspace::MapSpaceOptions::unlimited) {
        return;
    }
    mapspace::LoopLimit out;
    out.limit = limit;
    for (std::size_t i = 0; i < tmpl.symbols.size(); ++i) {
        const mapspace::TileSymbol& s = tmpl.symbols[i];
        if (take(s)) {
            out.loops.push_back(
                {s.outer, static_cast<int>(i),
                 path.einsum.rank_variables[static_cast<std::size_t>(s.rank_variable)].bound});
        }
    }
    if (static_cast<int>(out.loops.size()) > limit) {
        p.loop_limits.push_back(std::move(out));
    }
}

void add_loop_limits(const arch::Path& path, const mapspace::Template& tmpl,
                     const mapspace::MapSpaceOptions& o, mapspace::TileShapeProblem& p) {
    using mapspace::TileSymbol;
    add_loop_limit(
        path, tmpl, o.max_fused_loops, [](const TileSymbol& s) { return s.fused; }, p);
    for (int v = 0; v < static_cast<int>(path.einsum.rank_variables.size()); ++v) {
        add_loop_limit(
            path, tmpl, o.max_fused_loops_per_rank_variable,
            [v](const TileSymbol& s) { return s.fused && s.rank_variable == v; }, p);
    }
    for (int l = 0; l < static_cast<int>(path.levels.size()); ++l) {
        const auto& dims = path.levels[static_cast<std::size_t>(l)].spatial;
        for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
            add_loop_limit(
                path, tmpl, o.max_loops_per_spatial_dimension,
                [&](const TileSymbol& s) {
                    const auto& n = tmpl.nodes[static_cast<std::size_t>(s.node)];
                    return s.spatial && n.level == l && n.dim == d;
                },
                p);
        }
    }
}

/// Bits in use of one memory over all its holders.
struct Usage {
    int level = 0;
    Formula bits;
};

std::vector<Usage> usages(const model::TemplateFormulas& f) {
    std::map<int, Formula> sums;
    for (const model::OccupancyFormula& o : f.occupancies) {
        if (!o.shared) {
            const auto [it, fresh] = sums.try_emplace(o.level, o.bits);
            if (!fresh) {
                it->second += o.bits;
            }
        }
    }
    std::vector<Usage> out;
    for (const auto& [level, bits] : sums) {
        out.push_back({level, bits});
    }
    return out;
}

}  // namespace

std::vector<Formula> costs(const ExploreContext& c, const model::TemplateFormulas& f) {
    std::vector<Formula> out;
    if (c.want_energy) {
        out.push_back(f.dynamic_energy_j + f.leak_energy_j);
    }
    if (c.want_latency) {
        out.push_back(f.latency_s);
    }
    return out;
}

mapspace::TileShapeProblem tile_shape_problem(const ExploreContext& c, const TemplateEntry& t,
                                              const model::TemplateFormulas& f,
                                              const mapspace::TabulateContext& table,
                                              std::vector<Reason>& reasons) {
    const arch::Path& path = *t.path;
    mapspace::TileShapeProblem p;
    reasons.clear();
    add_symbols(path, t.tmpl, p);
    p.objectives = costs(c, f);
    for (const Usage& u : usages(f)) {
        const double size = path.levels[static_cast<std::size_t>(u.level)].size_bits;
        if (table.tracked_of_level[static_cast<std::size_t>(u.level)] >= 0) {
            p.objectives.push_back(u.bits);
        }
        if (size < std::numeric_limits<double>::infinity()) {
            p.constraints.push_back({u.bits, Relation::less_equal, size});
            reasons.push_back(Reason::capacity);
        }
    }
    for (const model::FanoutFormula& u : f.fanouts) {
        const arch::PathDim& dim =
            path.levels[static_cast<std::size_t>(u.level)].spatial[static_cast<std::size_t>(u.dim)];
        p.constraints.push_back(
            {u.used, Relation::less_equal, static_cast<double>(dim.fanout) / dim.usage_scale});
        reasons.push_back(Reason::fanout);
    }
    for (const mapspace::TemplateConstraint& k : t.tmpl.constraints) {
        if (k.kind == mapspace::TemplateConstraint::Kind::loop_bound) {
            Formula trips(1.0);
            for (const int node : k.loops) {
                trips *= trip_formula(path, t.tmpl, node);
            }
            p.constraints.push_back({trips, relation_of(k.op), k.value});
            reasons.push_back(Reason::constraint);
            continue;
        }
        for (const model::FanoutFormula& u : f.fanouts) {
            if (u.level == k.level && u.dim == k.dim) {
                const arch::PathDim& dim = path.levels[static_cast<std::size_t>(u.level)]
                                               .spatial[static_cast<std::size_t>(u.dim)];
                p.best_effort.push_back(
                    {u.used, k.value * static_cast<double>(dim.fanout) / dim.usage_scale});
            }
        }
    }
    add_loop_limits(path, t.tmpl, c.options->mapspace, p);
    return p;
}

std::vector<CapacityNeed> least_needs(const arch::Path& path, const model::TemplateFormulas& f) {
    std::vector<model::Interval> box;
    for (int i = 0; i < model::kMaxSymbols; ++i) {
        box.push_back({1.0, 2147483647.0});
    }
    std::vector<CapacityNeed> out;
    for (const Usage& u : usages(f)) {
        const arch::PathLevel& level = path.levels[static_cast<std::size_t>(u.level)];
        const double least = u.bits.bounds(box).lo;
        if (least > level.size_bits) {
            out.push_back({level.name, least, level.size_bits});
        }
    }
    return out;
}

mapspace::TabulateContext table_context(const ExploreContext& c, const arch::Path& path) {
    mapspace::TabulateContext out;
    out.path = &path;
    out.n_objectives = c.n_objectives();
    out.n_tracked = static_cast<int>(c.tracked.size());
    out.match_tile_shapes =
        c.problem->compat == arch::Compat::none &&
        (c.options->mapspace.imperfect_temporal || c.options->mapspace.imperfect_spatial);
    const std::vector<std::string>& names = c.problem->architecture->component_names();
    for (const arch::PathLevel& level : path.levels) {
        const auto name = std::find(names.begin(), names.end(), level.name);
        out.component_of_level.push_back(static_cast<int>(name - names.begin()));
        const auto tracked =
            std::find_if(c.tracked.begin(), c.tracked.end(),
                         [&](const mapspace::TrackedMemory& m) { return m.name == level.name; });
        out.tracked_of_level.push_back(
            tracked == c.tracked.end() ? -1 : static_cast<int>(tracked - c.tracked.begin()));
    }
    return out;
}

}  // namespace tessera::ffm
