// From a template's formulas to the explorer's problem: objectives, capacities, fan-outs, loop
// limits.
#include "mapspace/shape_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "mapspace/template_shapes.hpp"
#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::mapspace {

using model::Formula;

std::vector<MemoryUse> memory_uses(const workload::Workload& workload, const arch::Path& path,
                                   const model::TemplateFormulas& f) {
    const bool copies = !path.einsum.is_copy_operation &&
                        std::ranges::any_of(workload.einsums, &workload::Einsum::is_copy_operation);
    const std::vector<int> first_linked =
        copies ? workload::linked_by_copies(workload) : std::vector<int>();
    // By memory: of tensors that are backed there and that copies link, the first one.
    std::set<std::pair<int, int>> seen;
    const auto may_be_there = [&](const model::OccupancyFormula& o) {
        const workload::LocalTensor& tensor =
            path.einsum.tensors[static_cast<std::size_t>(o.tensor)];
        return copies && o.backing && tensor.fusable &&
               !seen.insert({o.level, first_linked[static_cast<std::size_t>(tensor.tensor)]})
                    .second;
    };
    std::map<int, MemoryUse> uses;
    for (const model::OccupancyFormula& o : f.occupancies) {
        if (o.shared) {
            continue;
        }
        MemoryUse& use = uses.try_emplace(o.level, MemoryUse{o.level, 0.0, 0.0, 0.0}).first->second;
        use.bits += o.bits;
        if (!may_be_there(o)) {
            use.alone += o.bits;
            use.least += o.least_bits;
        }
    }
    std::vector<MemoryUse> out;
    for (const auto& [level, use] : uses) {
        out.push_back(use);
    }
    return out;
}

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

namespace {

/// What a comparison says of the most.
std::optional<Relation> upper_side(Relation relation) {
    switch (relation) {
        case Relation::equal:
        case Relation::less_equal:
            return Relation::less_equal;
        case Relation::less:
            return Relation::less;
        default:
            return std::nullopt;
    }
}

}  // namespace

void add_template_limits(const ShapeContext& c, const arch::Path& path, const Template& tmpl,
                         TileShapeProblem& p, workload::RankVariableMask uneven) {
    p.symbols = tile_shape_symbols(path, tmpl, c.problem->convention().partial_inner_tiles);
    for (TileShapeConstraint& limit : line_buffer_limits(path, tmpl, uneven)) {
        p.constraints.push_back(std::move(limit));
    }
    for (const TemplateConstraint& k : tmpl.constraints) {
        if (k.kind != TemplateConstraint::Kind::loop_bound) {
            continue;
        }
        Formula trips(1.0);
        bool open = false;
        for (const int node : k.loops) {
            trips *= trip_formula(path, tmpl, node);
            open |= uneven >> tmpl.nodes[static_cast<std::size_t>(node)].rank_variable & 1;
        }
        if (!open) {
            p.constraints.push_back({trips, k.op, k.value});
        } else if (const auto most = upper_side(k.op)) {
            p.constraints.push_back({trips, *most, k.value});
        }
    }
    p.loop_limits = loop_limits(path, tmpl, *c.mapspace);
}

void add_best_effort(const arch::Path& path, const Template& tmpl, const model::TemplateFormulas& f,
                     TileShapeProblem& p) {
    for (const TemplateConstraint& k : tmpl.constraints) {
        for (const model::FanoutFormula& u : f.fanouts) {
            if (k.kind == TemplateConstraint::Kind::min_usage && u.level == k.level &&
                u.dim == k.dim) {
                const arch::PathDim& dim = path.levels[static_cast<std::size_t>(u.level)]
                                               .spatial[static_cast<std::size_t>(u.dim)];
                p.best_effort.push_back({u.used, arch::least_used(dim)});
            }
        }
    }
}

double most_instances(std::span<const std::int64_t> bounds, double most) {
    constexpr int tried = 4096;
    const double first = std::floor(most);
    if (!(first < 9e15)) {
        return most;
    }
    auto n = static_cast<std::int64_t>(first);
    for (int i = 0; i < tried && n > 1; ++i, --n) {
        std::int64_t left = n;
        for (const std::int64_t bound : bounds) {
            left /= std::gcd(left, bound);
        }
        if (left == 1) {
            return static_cast<double>(n);
        }
    }
    return n > 1 ? most : std::min(most, 1.0);
}

namespace {

/// Bounds of the rank variables that spatial loops of the dimension divide; nullopt: some loop may
/// have other trips than divisors. Tiles below a loop over overlapping tiles divide none of them,
/// nor those of `uneven` variables.
std::optional<std::vector<std::int64_t>> divided(const arch::Path& path, const Template& tmpl,
                                                 const TileShapeProblem& p,
                                                 const model::FanoutFormula& u,
                                                 workload::RankVariableMask uneven) {
    workload::RankVariableMask used = 0;
    for (const mapping::PmappingNode& n : tmpl.nodes) {
        if (!n.is_loop()) {
            continue;
        }
        const workload::RankVariableMask own = workload::RankVariableMask{1} << n.rank_variable;
        if (n.kind == mapping::NodeKind::spatial && n.level == u.level && n.dim == u.dim) {
            used |= own;
        }
        if (n.base > 0 || n.imperfect) {
            uneven |= own;
        }
    }
    const bool perfect = std::ranges::all_of(
        p.symbols, [](const TileShapeSymbol& s) { return s.choice == TileChoice::divisors; });
    if (!perfect || (used & uneven) != 0) {
        return std::nullopt;
    }
    std::vector<std::int64_t> out;
    for (std::size_t v = 0; v < path.einsum.rank_variables.size(); ++v) {
        if ((used >> v & 1) != 0) {
            out.push_back(path.einsum.rank_variables[v].bound);
        }
    }
    return out;
}

/// Of components that the path need not have.
void add_busy_times(const ShapeContext& c, const arch::Path& path, const Template& tmpl,
                    TileShapeProblem& p) {
    if (c.busy_s == nullptr) {
        return;
    }
    const std::vector<Formula> of_levels = c.busy_s(*c.problem, path, tmpl);
    for (const std::string& component : c.busy) {
        Formula& seconds = p.objectives.emplace_back(0.0);
        for (std::size_t l = 0; l < of_levels.size(); ++l) {
            if (path.levels[l].name == component) {
                seconds = seconds + of_levels[l];
            }
        }
    }
    Formula alone_s(0.0);
    for (const Formula& seconds : of_levels) {
        alone_s = model::max(alone_s, seconds);
    }
    p.objectives.push_back(alone_s);
}

/// Over these the template may stand for others, with prologues: a fan-out is used as far as it
/// goes, and no loop has a least number of trips.
TileShapeProblem shape_problem(const ShapeContext& c, const arch::Path& path, const Template& tmpl,
                               const model::TemplateFormulas& f, const TabulateContext& table,
                               workload::RankVariableMask uneven) {
    TileShapeProblem p;
    p.symbols = tile_shape_symbols(path, tmpl, c.problem->convention().partial_inner_tiles);
    p.objectives = costs(c, f);
    for (const MemoryUse& u : memory_uses(*c.problem->workload, path, f)) {
        const double size = path.levels[static_cast<std::size_t>(u.level)].size_bits;
        if (table.tracked_of_level[static_cast<std::size_t>(u.level)] >= 0) {
            p.objectives.push_back(u.bits);
        }
        if (size < std::numeric_limits<double>::infinity()) {
            p.constraints.push_back({u.alone, Relation::less_equal, arch::most_bits(size), u.least,
                                     LimitKind::capacity});
        }
    }
    add_busy_times(c, path, tmpl, p);
    for (const model::FanoutFormula& u : f.fanouts) {
        const arch::PathDim& dim =
            path.levels[static_cast<std::size_t>(u.level)].spatial[static_cast<std::size_t>(u.dim)];
        double most = arch::most_used(dim, c.problem->convention().check_physical);
        if (const auto bounds = divided(path, tmpl, p, u, uneven)) {
            most = most_instances(*bounds, most);
        }
        p.constraints.push_back({u.used, Relation::less_equal, most, {}, LimitKind::fanout});
    }
    add_template_limits(c, path, tmpl, p, uneven);
    add_best_effort(path, tmpl, f, p);
    return p;
}

}  // namespace

TileShapeProblem tile_shape_problem(const ShapeContext& c, const arch::Path& path,
                                    const Template& tmpl, const model::TemplateFormulas& f,
                                    const TabulateContext& table) {
    return shape_problem(c, path, tmpl, f, table, 0);
}

TileShapeProblem problem_of_bounds(const ShapeContext& c, const arch::Path& path,
                                   const Template& tmpl, const model::TemplateFormulas& f,
                                   const TabulateContext& table) {
    workload::RankVariableMask uneven = 0;
    for (std::size_t v = 0; v < path.einsum.rank_variables.size(); ++v) {
        const bool prologues = !path.einsum.rank_variables[v].prologues.empty();
        uneven |= workload::RankVariableMask{prologues} << v;
    }
    TileShapeProblem p = shape_problem(c, path, tmpl, f, table, uneven);
    for (std::size_t s = 0; s < p.symbols.size(); ++s) {
        if ((uneven >> tmpl.symbols[s].rank_variable & 1) != 0) {
            p.symbols[s].choice = TileChoice::every_integer;  // an average divides nothing
        }
    }
    p.best_effort.clear();
    p.objectives = costs(c, f);
    return p;
}

std::optional<std::vector<double>> perfect_levels(const TileShapeProblem& problem,
                                                  TileShapeExplorer& explorer,
                                                  const TileShapeOptions& options) {
    if (problem.best_effort.empty() ||
        std::ranges::none_of(problem.symbols, [](const TileShapeSymbol& s) {
            return s.choice == TileChoice::partial_outermost ||
                   s.choice == TileChoice::one_per_trip_count;
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

std::vector<CapacityNeed> least_needs(const workload::Workload& workload, const arch::Path& path,
                                      const model::TemplateFormulas& f) {
    std::vector<model::Interval> box;
    for (int i = 0; i < model::kMaxSymbols; ++i) {
        box.push_back({1.0, 2147483647.0});
    }
    std::vector<CapacityNeed> out;
    for (const MemoryUse& u : memory_uses(workload, path, f)) {
        const arch::PathLevel& level = path.levels[static_cast<std::size_t>(u.level)];
        const double least = u.alone.bounds(box).lo;
        if (least > arch::most_bits(level.size_bits)) {
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
            return t.output == output && t.persistent == persistent;
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

bool matches_tile_shapes(const ShapeContext& c) {
    return c.mapspace->partial_tiles();
}

TabulateContext table_context(const ShapeContext& c, const arch::Path& path) {
    if (!c.problem->convention().check_physical) {
        refuse_persistent_copy(path.einsum);
    }
    TabulateContext out;
    out.path = &path;
    out.n_objectives = c.n_objectives();
    out.n_busy = c.n_busy();
    out.n_tracked = static_cast<int>(c.tracked.size());
    out.match_tile_shapes = matches_tile_shapes(c);
    out.taken_bits.assign(c.tracked.size(), 0.0);
    const std::vector<std::string>& names = c.problem->architecture->level_names();
    for (const arch::PathLevel& level : path.levels) {
        const auto name = std::find(names.begin(), names.end(), level.name);
        out.component_of_level.push_back(static_cast<int>(name - names.begin()));
        const auto tracked =
            std::find_if(c.tracked.begin(), c.tracked.end(),
                         [&](const TrackedMemory& m) { return m.name == level.name; });
        out.tracked_of_level.push_back(
            tracked == c.tracked.end() ? -1 : static_cast<int>(tracked - c.tracked.begin()));
        if (tracked != c.tracked.end()) {
            out.taken_bits[static_cast<std::size_t>(out.tracked_of_level.back())] =
                std::max(0.0, tracked->size_bits - level.size_bits);
        }
    }
    return out;
}

}  // namespace tessera::mapspace
