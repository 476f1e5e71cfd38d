// One template, ready for searching. Map:
//   add_fused_loops, add_order   the order in which tile shapes are chosen
//   add_limits      capacity, fan-out, loop bounds, best-effort use
//   add_costs       energy, latency, what it reserves in finite memories
//   add_patterns    which fused loops may run once (space_patterns.cpp)
#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <tuple>

#include "mapspace/shape_problem.hpp"
#include "mapspace/template_shapes.hpp"
#include "search/space_data.hpp"
#include "tessera/base/error.hpp"
#include "tessera/model/formula_pool.hpp"

namespace tessera::search {

namespace {

using mapping::NodeKind;
using mapspace::Relation;
using model::Formula;
constexpr auto by_kind = model::CompiledFormulas::Order::by_kind;

void add_extents(TemplateData& t) {
    t.extents = t.path->einsum.bounds();
    for (const mapping::PmappingNode& n : t.tmpl.nodes) {
        if (n.base > 0) {
            t.extents[n.rank_variable] = n.base;
        }
    }
}

void add_fused_loops(TemplateData& t) {
    std::map<int, int> last;  // rank variable -> fused loop
    t.fused_of_symbol.assign(t.symbols.size(), -1);
    t.fused_of_loop.push_back(0);
    for (std::size_t i = 0; i < t.tmpl.nodes.size(); ++i) {
        const mapping::PmappingNode& n = t.tmpl.nodes[i];
        if (!n.is_loop()) {
            continue;
        }
        if (static_cast<int>(i) < t.tmpl.n_fused_nodes) {
            FusedLoop loop;
            loop.symbol = n.symbol;
            loop.bound = t.extents[n.rank_variable];
            loop.runs = n.base > 0 || (i > 0 && t.tmpl.nodes[i - 1].line_buffer);
            if (n.symbol < 0 && n.tile != 1) {
                throw Bug("a template's loop has the fixed tile shape " + std::to_string(n.tile));
            }
            const auto [at, fresh] = last.try_emplace(n.rank_variable, t.fused.size());
            if (!fresh) {
                loop.outer = at->second;
                t.fused[loop.outer].inner = static_cast<int>(t.fused.size());
                at->second = static_cast<int>(t.fused.size());
            }
            if (loop.symbol >= 0) {
                t.fused_of_symbol[loop.symbol] = static_cast<int>(t.fused.size());
            }
            t.fused.push_back(loop);
        }
        t.fused_of_loop.push_back(static_cast<int>(t.fused.size()));
    }
}

void add_places(TemplateData& t) {
    t.places.clear();
    for (const mapping::TileSymbol& symbol : t.tmpl.symbols) {
        const mapping::PmappingNode& own = t.tmpl.nodes[symbol.node];
        LoopPlace place;
        if (own.kind == NodeKind::spatial) {
            place = {own.level, own.dim};
        } else {
            for (int i = 0; i < symbol.node; ++i) {
                place.level = std::max<int>(place.level, t.tmpl.nodes[i].level);
            }
        }
        t.places.push_back(place);
    }
}

/// Fused symbols from the outside in; then those of lower limits, which few tile shapes meet, limit
/// after limit and variable after variable; then the others; both from the inside out.
void add_order(TemplateData& t) {
    std::vector<int> group(t.symbols.size(), static_cast<int>(t.limits.size()));
    for (std::size_t i = t.limits.size(); i-- > 0;) {
        const Limit& limit = t.limits[i];
        if (limit.relation != Relation::less_equal && limit.relation != Relation::less) {
            for (const int s : limit.symbols) {
                group[s] = static_cast<int>(i);
            }
        }
    }
    std::vector<char> fused(t.symbols.size(), 0);
    for (const FusedLoop& loop : t.fused) {
        if (loop.symbol >= 0) {
            fused[loop.symbol] = 1;
            t.order.push_back(loop.symbol);
        }
    }
    const auto begin = static_cast<std::ptrdiff_t>(t.order.size());
    for (std::size_t s = 0; s < t.symbols.size(); ++s) {
        if (!fused[s]) {
            t.order.push_back(static_cast<int>(s));
        }
    }
    const auto place = [&](int s) {
        const int node = t.tmpl.symbols[s].node;
        const bool last = group[s] == static_cast<int>(t.limits.size());
        return std::tuple(group[s], last ? 0 : t.tmpl.nodes[node].rank_variable, -node);
    };
    std::sort(t.order.begin() + begin, t.order.end(),
              [&](int a, int b) { return place(a) < place(b); });
}

/// One product of tile shapes over another. All that limits use of fan-outs and loop bounds are
/// products of trip counts; with partial tiles they are none of tile shapes.
bool is_quotient(const Formula& f) {
    const model::FormulaPool& pool = model::FormulaPool::current();
    if (f.is_constant() || pool.is_max(f) || pool.terms(f).size() != 1) {
        return false;
    }
    const model::Monomial& m = pool.monomial(pool.terms(f)[0].monomial);
    if (!pool.atom_powers(m).empty()) {
        return false;
    }
    for (const int s : f.depends_on()) {
        if (std::abs(m.exponents.get(s)) != 1) {
            return false;
        }
    }
    return true;
}

/// A limit and its formula, side by side until they are compiled.
struct Limits {
    std::vector<Formula> formulas;
    std::vector<Limit> limits;

    void add(const Formula& f, Relation relation, double limit, Verdict verdict) {
        formulas.push_back(f);
        Limit& added = limits.emplace_back();
        added.relation = relation;
        added.limit = limit;
        added.symbols = f.depends_on();
        added.verdict = verdict;
        added.trips = verdict != Verdict::capacity && is_quotient(f);
        if (added.trips) {
            const model::FormulaPool& pool = model::FormulaPool::current();
            const model::Term& term = pool.terms(f)[0];
            added.factor = term.coefficient;
            for (const int s : added.symbols) {
                const bool over = pool.monomial(term.monomial).exponents.get(s) > 0;
                (over ? added.over : added.under).push_back(s);
            }
        }
    }
};

void add_capacities(const model::Problem& problem, const TemplateData& t,
                    const model::TemplateFormulas& f, Limits& out) {
    for (const mapspace::MemoryUse& use : mapspace::memory_uses(*problem.workload, *t.path, f)) {
        const double size = t.path->levels[use.level].size_bits;
        if (std::isfinite(size)) {
            out.add(use.alone, Relation::less_equal, arch::most_bits(size), Verdict::capacity);
        }
    }
}

const arch::PathDim& dimension(const TemplateData& t, int level, int dim) {
    return t.path->levels[level].spatial[dim];
}

/// The limits so far as the tile-shape explorer reads them.
mapspace::TileShapeProblem limited_shapes(const TemplateData& t, const Limits& limits) {
    mapspace::TileShapeProblem p;
    p.symbols = t.symbols;
    for (std::size_t i = 0; i < limits.limits.size(); ++i) {
        p.constraints.push_back(
            {limits.formulas[i], limits.limits[i].relation, limits.limits[i].limit});
    }
    p.loop_limits = t.loop_limits;
    return p;
}

bool any_tile_shapes(const TemplateData& t, const Limits& limits,
                     mapspace::TileShapeExplorer& explorer) {
    mapspace::TileShapeProblem p = limited_shapes(t, limits);
    p.objectives = {Formula(0.0)};
    mapspace::TileShapeOptions options;
    options.first_rows = true;
    mapspace::TileShapeResult result;
    explorer.explore(p, options, result);
    return result.rows > 0;
}

/// Best-effort uses: the least that the mapspace still asks for. False: no tile shapes are legal.
bool add_best_effort(const TemplateData& t, const model::TemplateFormulas& f,
                     mapspace::TileShapeExplorer& explorer, Limits& limits) {
    mapspace::TileShapeProblem p = limited_shapes(t, limits);
    mapspace::add_best_effort(*t.path, t.tmpl, f, p);
    if (p.best_effort.empty()) {
        return true;
    }
    std::vector<double> levels =
        mapspace::perfect_levels(p, explorer, {}).value_or(std::vector<double>());
    if (levels.empty()) {
        levels = explorer.best_effort_levels(p, {});
    }
    for (std::size_t k = 0; k < levels.size(); ++k) {
        limits.add(p.best_effort[k].formula, Relation::greater_equal, levels[k],
                   Verdict::constraint);
    }
    return !levels.empty();
}

/// Whether the limits hold that no tile shape changes: choosing tile shapes looks at the others.
bool constant_limits_hold(const TemplateData& t, const std::vector<Formula>& formulas) {
    for (std::size_t i = 0; i < t.limits.size(); ++i) {
        if (formulas[i].is_constant() && !t.limits[i].holds(formulas[i].constant_value())) {
            return false;
        }
    }
    return true;
}

/// Conditions of one template. False: no tile shapes are legal.
bool add_limits(const model::Problem& problem, TemplateData& t, const model::TemplateFormulas& f,
                mapspace::TileShapeExplorer& explorer, std::atomic<bool>& some_fit) {
    Limits out;
    add_capacities(problem, t, f, out);
    for (const model::FanoutFormula& u : f.fanouts) {
        const arch::PathDim& dim = dimension(t, u.level, u.dim);
        out.add(u.used, Relation::less_equal,
                arch::most_used(dim, problem.convention().check_physical), Verdict::fanout);
    }
    for (const mapspace::TemplateConstraint& k : t.tmpl.constraints) {
        if (k.kind == mapspace::TemplateConstraint::Kind::loop_bound) {
            Formula trips(1.0);
            for (const int node : k.loops) {
                trips *= mapspace::trip_formula(*t.path, t.tmpl, node);
            }
            out.add(trips, k.op, k.value, Verdict::constraint);
        }
    }
    for (const mapspace::TileShapeConstraint& k : mapspace::line_buffer_limits(*t.path, t.tmpl)) {
        out.add(k.formula, k.relation, k.limit, Verdict::constraint);
    }
    if (!add_best_effort(t, f, explorer, out)) {
        return false;
    }
    if (!some_fit.load(std::memory_order_relaxed) && any_tile_shapes(t, out, explorer)) {
        some_fit.store(true, std::memory_order_relaxed);
    }
    std::vector<model::Interval> box;
    for (const mapspace::TileShapeSymbol& s : t.symbols) {
        box.push_back({1.0, static_cast<double>(s.bound)});
    }
    for (std::size_t i = 0; i < out.limits.size(); ++i) {
        Limit& limit = out.limits[i];
        for (const int s : limit.symbols) {
            const model::Monotone way = out.formulas[i].monotone_in(s, box);
            if (way == model::Monotone::increasing || way == model::Monotone::constant) {
                limit.grows_in |= model::SymbolSet::of(s);
            } else if (way == model::Monotone::decreasing) {
                limit.falls_in |= model::SymbolSet::of(s);
            }
        }
        limit.formula.compile(model::FormulaPool::current(), {&out.formulas[i], 1}, by_kind);
        t.limited |= limit.symbols;
    }
    t.check.compile(model::FormulaPool::current(), out.formulas, by_kind);
    t.limits = std::move(out.limits);
    return constant_limits_hold(t, out.formulas);
}

/// Indices into Data::memories by level of the path, -1: infinite for every Einsum.
std::vector<int> memories_of(const OpenSpace::Data& space, const arch::Path& path) {
    const std::vector<std::string>& names = space.problem.architecture->level_names();
    std::vector<int> out;
    for (const arch::PathLevel& level : path.levels) {
        const auto name = std::ranges::find(names, level.name) - names.begin();
        const auto memory =
            std::ranges::find(space.memories, static_cast<int>(name), &Memory::component);
        out.push_back(memory == space.memories.end()
                          ? -1
                          : static_cast<int>(memory - space.memories.begin()));
    }
    return out;
}

void add_costs(const OpenSpace::Data& space, TemplateData& t, const model::TemplateFormulas& f) {
    std::vector<Formula> outputs{f.dynamic_energy_j + f.leak_energy_j, f.latency_s};
    const std::vector<int> memories = memories_of(space, *t.path);
    t.taken_bits.assign(space.memories.size(), 0.0);
    for (std::size_t l = 0; l < memories.size(); ++l) {
        if (memories[l] >= 0) {
            t.taken_bits[memories[l]] =
                space.memories[memories[l]].size_bits - t.path->levels[l].size_bits;
        }
    }
    for (const model::OccupancyFormula& o : f.occupancies) {
        const int m = memories[o.level];
        if (m < 0) {
            continue;
        }
        const workload::LocalTensor& tensor = t.path->einsum.tensors[o.tensor];
        const int buffer = o.backing && tensor.fusable ? tensor.tensor : -1;
        if (o.shared) {  // of a copy, by whichever of its tensors others see
            const auto one = std::ranges::find(t.holdings, m, &Holding::memory);
            one->tensor = one->tensor < 0 ? buffer : one->tensor;
            continue;
        }
        t.holdings.push_back({m, o.loops_above, buffer});
        outputs.push_back(o.bits);
    }
    t.cost.compile(model::FormulaPool::current(), outputs, by_kind);
}

}  // namespace

void compile_template(const OpenSpace::Data& space, const model::CostModel& model, TemplateData& t,
                      std::vector<mapspace::GroupStructure>& structures,
                      mapspace::TileShapeExplorer& explorer, model::FormulaPool& pool,
                      std::atomic<bool>& some_fit) {
    pool.clear();
    const model::FormulaScope scope(pool);
    t.symbols = mapspace::tile_shape_symbols(*t.path, t.tmpl, space.mapspace.partial_inner_tiles);
    t.partial_tiles.clear();
    for (const mapspace::TileShapeSymbol& s : t.symbols) {
        t.partial_tiles.push_back(s.choice == mapspace::TileChoice::partial_outermost
                                      ? mapspace::partial_tiles(s.bound)
                                      : std::vector<double>{});
    }
    t.loop_limits = mapspace::loop_limits(*t.path, t.tmpl, space.mapspace);
    add_extents(t);
    add_fused_loops(t);
    add_places(t);
    pool.keep_sums(true);  // so that a footprint with a halo is seen to grow
    const model::TemplateFormulas f = model.formulate(space.problem, *t.path, t.tmpl);
    if (!add_limits(space.problem, t, f, explorer, some_fit)) {
        return;  // without patterns: nothing to draw
    }
    add_order(t);
    add_costs(space, t, f);
    add_patterns(space, t, f, structures);
}

}  // namespace tessera::search
