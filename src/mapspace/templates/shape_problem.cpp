// From a template's formulas to the explorer's problem: objectives, capacities, fan-outs, loop
// limits.
#include "mapspace/shape_problem.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "mapspace/template_shapes.hpp"
#include "tessera/base/error.hpp"

namespace tessera::mapspace {

using model::Formula;

namespace {

/// Bits in use of one memory over all its holders.
struct Usage {
    int level = 0;
    Formula bits, least;
};

std::vector<Usage> usages(const model::TemplateFormulas& f) {
    std::map<int, Usage> sums;
    for (const model::OccupancyFormula& o : f.occupancies) {
        if (!o.shared) {
            const auto [it, fresh] =
                sums.try_emplace(o.level, Usage{o.level, o.bits, o.least_bits});
            if (!fresh) {
                it->second.bits += o.bits;
                it->second.least += o.least_bits;
            }
        }
    }
    std::vector<Usage> out;
    for (const auto& [level, usage] : sums) {
        out.push_back(usage);
    }
    return out;
}

}  // namespace

std::vector<Formula> costs(const ShapeContext& c, const model::TemplateFormulas& f) {
    std::vector<Formula> out;
    if (c.want_energy) {
        out.push_back(f.dynamic_energy_j + f.leak_energy_j);
    }
    if (c.want_latency) {
        out.push_back(f.latency_s);
    }
    return out;
}

TileShapeProblem tile_shape_problem(const ShapeContext& c, const arch::Path& path,
                                    const Template& tmpl, const model::TemplateFormulas& f,
                                    const TabulateContext& table) {
    TileShapeProblem p;
    p.symbols = tile_shape_symbols(path, tmpl, c.problem->convention().partial_inner_tiles);
    p.objectives = costs(c, f);
    for (const Usage& u : usages(f)) {
        const double size = path.levels[static_cast<std::size_t>(u.level)].size_bits;
        if (table.tracked_of_level[static_cast<std::size_t>(u.level)] >= 0) {
            p.objectives.push_back(u.bits);
        }
        if (size < std::numeric_limits<double>::infinity()) {
            p.constraints.push_back(
                {u.bits, Relation::less_equal, size, u.least, LimitKind::capacity});
        }
    }
    for (const model::FanoutFormula& u : f.fanouts) {
        const arch::PathDim& dim =
            path.levels[static_cast<std::size_t>(u.level)].spatial[static_cast<std::size_t>(u.dim)];
        const double most = static_cast<double>(dim.fanout) / dim.usage_scale;
        p.constraints.push_back({u.used, Relation::less_equal, most, {}, LimitKind::fanout});
    }
    for (TileShapeConstraint& limit : line_buffer_limits(path, tmpl)) {
        p.constraints.push_back(std::move(limit));
    }
    for (const TemplateConstraint& k : tmpl.constraints) {
        if (k.kind == TemplateConstraint::Kind::loop_bound) {
            Formula trips(1.0);
            for (const int node : k.loops) {
                trips *= trip_formula(path, tmpl, node);
            }
            p.constraints.push_back({trips, k.op, k.value});
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
    p.loop_limits = loop_limits(path, tmpl, *c.mapspace);
    return p;
}

std::optional<std::vector<double>> perfect_levels(const TileShapeProblem& problem,
                                                  TileShapeExplorer& explorer,
                                                  const TileShapeOptions& options) {
    if (problem.best_effort.empty() ||
        std::ranges::none_of(problem.symbols, [](const TileShapeSymbol& s) {
            return s.choice == TileChoice::partial_outermost;
        })) {
        return std::nullopt;
    }
    TileShapeProblem perfect = problem;
    for (TileShapeSymbol& s : perfect.symbols) {
        s.choice = TileChoice::divisors;
        s.only.reset();
    }
    return explorer.best_effort_levels(perfect, options);
}

void fix_levels(const std::vector<double>& levels, TileShapeProblem& problem) {
    if (levels.empty()) {
        return;
    }
    for (std::size_t k = 0; k < levels.size(); ++k) {
        const Formula& reached = problem.best_effort[k].formula;
        problem.constraints.push_back(
            {reached, Relation::greater_equal, levels[k], {}, LimitKind::best_effort});
    }
    problem.best_effort.clear();
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

namespace {

/// The reference takes a copy and its input for one buffer, which is there before the input is:
/// what others hold at that time cannot be told from sums by depth.
void refuse_persistent_copy(const workload::EinsumView& einsum) {
    const auto has = [&](bool output, bool persistent) {
        return std::ranges::any_of(einsum.tensors, [&](const workload::LocalTensor& t) {
            return t.output == output && t.persistent == persistent && t.fusable;
        });
    };
    if (einsum.is_copy_operation && has(true, true) && has(false, false)) {
        throw UserError("Einsum '" + einsum.name +
                        "' copies a tensor that is not persistent into one that is; under the "
                        "reference's rules such mappings can be evaluated, not searched: leave out "
                        "--compat, or make both persistent");
    }
}

}  // namespace

TabulateContext table_context(const ShapeContext& c, const arch::Path& path) {
    if (!c.problem->convention().check_physical) {
        refuse_persistent_copy(path.einsum);
    }
    TabulateContext out;
    out.path = &path;
    out.n_objectives = c.n_objectives();
    out.n_tracked = static_cast<int>(c.tracked.size());
    out.match_tile_shapes =
        c.problem->convention().least_partial_tiles && c.mapspace->partial_tiles();
    const std::vector<std::string>& names = c.problem->architecture->component_names();
    for (const arch::PathLevel& level : path.levels) {
        const auto name = std::find(names.begin(), names.end(), level.name);
        out.component_of_level.push_back(static_cast<int>(name - names.begin()));
        const auto tracked =
            std::find_if(c.tracked.begin(), c.tracked.end(),
                         [&](const TrackedMemory& m) { return m.name == level.name; });
        out.tracked_of_level.push_back(
            tracked == c.tracked.end() ? -1 : static_cast<int>(tracked - c.tracked.begin()));
    }
    return out;
}

}  // namespace tessera::mapspace
