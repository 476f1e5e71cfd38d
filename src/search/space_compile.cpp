// One template, ready for searching. Map:
//   add_chains      symbols, fused loops, the order in which tile shapes are chosen
//   add_limits      capacity, fan-out, loop bounds, best-effort use
//   add_holdings    what it reserves in finite memories
//   add_patterns    which fused loops may run once, and what the join sees of each case
#include <algorithm>
#include <cmath>
#include <map>

#include "search/space_data.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapspace/tabulate.hpp"
#include "tessera/model/formula_pool.hpp"

namespace tessera::search {

namespace {

using mapping::NodeKind;
using mapspace::Relation;
using mapspace::TileChoice;
using model::Formula;

bool is_loop(const mapping::PmappingNode& n) {
    return n.kind == NodeKind::temporal || n.kind == NodeKind::spatial;
}

void add_symbols(TemplateData& t) {
    // Below an imperfect loop the enclosing tile need not divide the bound.
    std::vector<char> imperfect(t.path->einsum.rank_variables.size(), 0);
    for (const mapspace::TileSymbol& s : t.tmpl.symbols) {
        imperfect[s.rank_variable] |= s.imperfect ? 1 : 0;
    }
    for (const mapspace::TileSymbol& s : t.tmpl.symbols) {
        mapspace::TileShapeSymbol out;
        out.bound = t.path->einsum.rank_variables[s.rank_variable].bound;
        out.outer = s.outer;
        out.inner = s.inner;
        out.spatial = s.spatial;
        out.choice = s.imperfect                       ? TileChoice::one_per_trip_count
                     : imperfect[s.rank_variable] != 0 ? TileChoice::divisors_of_outer
                                                       : TileChoice::divisors;
        t.symbols.push_back(out);
    }
}

void add_fused_loops(TemplateData& t) {
    std::map<int, int> last;  // rank variable -> fused loop
    t.fused_of_loop.push_back(0);
    for (std::size_t i = 0; i < t.tmpl.nodes.size(); ++i) {
        const mapping::PmappingNode& n = t.tmpl.nodes[i];
        if (!is_loop(n)) {
            continue;
        }
        if (static_cast<int>(i) < t.tmpl.n_fused_nodes) {
            FusedLoop loop;
            loop.symbol = n.symbol;
            loop.bound = t.path->einsum.rank_variables[n.rank_variable].bound;
            if (n.symbol < 0 && n.tile != 1) {
                throw Bug("a template's loop has the fixed tile shape " + std::to_string(n.tile));
            }
            const auto [at, fresh] = last.try_emplace(n.rank_variable, t.fused.size());
            if (!fresh) {
                loop.outer = at->second;
                t.fused[loop.outer].inner = static_cast<int>(t.fused.size());
                at->second = static_cast<int>(t.fused.size());
            }
            t.fused.push_back(loop);
        }
        t.fused_of_loop.push_back(static_cast<int>(t.fused.size()));
    }
    if (t.fused.size() > 32) {
        throw Bug("a template has more than 32 fused loops");
    }
}

void add_order(TemplateData& t) {
    std::vector<char> fused(t.symbols.size(), 0);
    for (const FusedLoop& loop : t.fused) {
        if (loop.symbol >= 0) {
            fused[loop.symbol] = 1;
            t.order.push_back(loop.symbol);
        }
    }
    std::vector<int> others;
    for (std::size_t s = 0; s < t.symbols.size(); ++s) {
        if (!fused[s]) {
            others.push_back(static_cast<int>(s));
        }
    }
    std::stable_sort(others.begin(), others.end(),
                     [&](int a, int b) { return t.tmpl.symbols[a].node > t.tmpl.symbols[b].node; });
    t.order.insert(t.order.end(), others.begin(), others.end());
}

/// At most `limit` of the selected symbols may stand for loops that run more than once.
template <class Take>
void add_loop_limit(TemplateData& t, int limit, Take take) {
    if (limit == mapspace::MapSpaceOptions::unlimited) {
        return;
    }
    mapspace::LoopLimit out;
    out.limit = limit;
    for (std::size_t i = 0; i < t.symbols.size(); ++i) {
        if (take(t.tmpl.symbols[i])) {
            out.loops.push_back({t.symbols[i].outer, static_cast<int>(i), t.symbols[i].bound});
        }
    }
    if (static_cast<int>(out.loops.size()) > limit) {
        t.loop_limits.push_back(std::move(out));
    }
}

void add_loop_limits(TemplateData& t, const mapspace::MapSpaceOptions& o) {
    using mapspace::TileSymbol;
    add_loop_limit(t, o.max_fused_loops, [](const TileSymbol& s) { return s.fused; });
    for (int v = 0; v < static_cast<int>(t.path->einsum.rank_variables.size()); ++v) {
        add_loop_limit(t, o.max_fused_loops_per_rank_variable,
                       [v](const TileSymbol& s) { return s.fused && s.rank_variable == v; });
    }
    for (int l = 0; l < static_cast<int>(t.path->levels.size()); ++l) {
        for (int d = 0; d < static_cast<int>(t.path->levels[l].spatial.size()); ++d) {
            add_loop_limit(t, o.max_loops_per_spatial_dimension, [&](const TileSymbol& s) {
                const mapping::PmappingNode& n = t.tmpl.nodes[s.node];
                return s.spatial && n.level == l && n.dim == d;
            });
        }
    }
}

Formula tile_formula(const mapping::PmappingNode& n) {
    return n.symbol >= 0 ? Formula::symbol(n.symbol) : Formula(static_cast<double>(n.tile));
}

Formula trip_formula(const TemplateData& t, int node) {
    const mapping::PmappingNode& n = t.tmpl.nodes[node];
    Formula outer(static_cast<double>(t.path->einsum.rank_variables[n.rank_variable].bound));
    for (int i = 0; i < node; ++i) {
        const mapping::PmappingNode& m = t.tmpl.nodes[i];
        if (is_loop(m) && m.rank_variable == n.rank_variable) {
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

/// A limit and its formula, side by side until they are compiled.
struct Limits {
    std::vector<Formula> formulas;
    std::vector<Limit> limits;

    void add(const Formula& f, Relation relation, double limit, Verdict verdict) {
        formulas.push_back(f);
        limits.push_back({relation, limit, f.depends_on(), false, verdict});
    }
};

void add_capacities(const TemplateData& t, const model::TemplateFormulas& f, Limits& out) {
    std::map<int, Formula> sums;
    for (const model::OccupancyFormula& o : f.occupancies) {
        if (!o.shared && std::isfinite(t.path->levels[o.level].size_bits)) {
            sums.try_emplace(o.level, 0.0).first->second += o.bits;
        }
    }
    for (const auto& [level, bits] : sums) {
        out.add(bits, Relation::less_equal, t.path->levels[level].size_bits, Verdict::capacity);
    }
}

const arch::PathDim& dimension(const TemplateData& t, int level, int dim) {
    return t.path->levels[level].spatial[dim];
}

/// Best-effort uses: the least that the mapspace still asks for. False: no tile shapes are legal.
bool add_best_effort(const TemplateData& t, const model::TemplateFormulas& f,
                     mapspace::TileShapeExplorer& explorer, Limits& limits) {
    mapspace::TileShapeProblem p;
    for (const mapspace::TemplateConstraint& k : t.tmpl.constraints) {
        for (const model::FanoutFormula& u : f.fanouts) {
            if (k.kind == mapspace::TemplateConstraint::Kind::min_usage && u.level == k.level &&
                u.dim == k.dim) {
                const arch::PathDim& dim = dimension(t, u.level, u.dim);
                p.best_effort.push_back(
                    {u.used, k.value * static_cast<double>(dim.fanout) / dim.usage_scale});
                p.objectives.push_back(u.used);
            }
        }
    }
    if (p.objectives.empty()) {
        return true;
    }
    p.symbols = t.symbols;
    for (std::size_t i = 0; i < limits.limits.size(); ++i) {
        p.constraints.push_back(
            {limits.formulas[i], limits.limits[i].relation, limits.limits[i].limit});
    }
    p.loop_limits = t.loop_limits;
    mapspace::TileShapeResult result;
    explorer.explore(p, {}, result);
    for (std::size_t k = 0; k < p.objectives.size() && result.rows > 0; ++k) {
        const auto& used = result.objectives[k];
        limits.add(p.objectives[k], Relation::greater_equal,
                   std::min(p.best_effort[k].minimum, *std::min_element(used.begin(), used.end())),
                   Verdict::constraint);
    }
    return result.rows > 0;
}

/// Conditions of one template. False: no tile shapes are legal.
bool add_limits(TemplateData& t, const model::TemplateFormulas& f,
                mapspace::TileShapeExplorer& explorer) {
    Limits out;
    add_capacities(t, f, out);
    for (const model::FanoutFormula& u : f.fanouts) {
        const arch::PathDim& dim = dimension(t, u.level, u.dim);
        out.add(u.used, Relation::less_equal, static_cast<double>(dim.fanout) / dim.usage_scale,
                Verdict::fanout);
    }
    for (const mapspace::TemplateConstraint& k : t.tmpl.constraints) {
        if (k.kind == mapspace::TemplateConstraint::Kind::loop_bound) {
            Formula trips(1.0);
            for (const int node : k.loops) {
                trips *= trip_formula(t, node);
            }
            out.add(trips, relation_of(k.op), k.value, Verdict::constraint);
        }
    }
    if (!add_best_effort(t, f, explorer, out)) {
        return false;
    }
    std::vector<model::Interval> box;
    for (const mapspace::TileShapeSymbol& s : t.symbols) {
        box.push_back({1.0, static_cast<double>(s.bound)});
    }
    for (std::size_t i = 0; i < out.limits.size(); ++i) {
        Limit& limit = out.limits[i];
        limit.growing = limit.relation == Relation::less_equal || limit.relation == Relation::less;
        for (std::size_t s = 0; s < t.symbols.size() && limit.growing; ++s) {
            if (limit.symbols >> s & 1u) {
                const model::Monotone way = out.formulas[i].monotone_in(static_cast<int>(s), box);
                limit.growing =
                    way == model::Monotone::increasing || way == model::Monotone::constant;
            }
        }
        t.limited |= limit.symbols;
    }
    t.check.compile(model::FormulaPool::current(), out.formulas);
    t.limits = std::move(out.limits);
    return true;
}

void add_costs(const OpenSpace::Data& space, TemplateData& t, const model::TemplateFormulas& f) {
    std::vector<Formula> outputs{f.dynamic_energy_j + f.leak_energy_j, f.latency_s};
    const std::vector<std::string>& names = space.problem.architecture->component_names();
    for (const model::OccupancyFormula& o : f.occupancies) {
        const arch::PathLevel& level = t.path->levels[o.level];
        if (o.shared || !std::isfinite(level.size_bits)) {
            continue;
        }
        const auto name = std::find(names.begin(), names.end(), level.name);
        const auto memory = std::find_if(
            space.memories.begin(), space.memories.end(),
            [&](const Memory& m) { return m.component == static_cast<int>(name - names.begin()); });
        const workload::LocalTensor& tensor = t.path->einsum.tensors[o.tensor];
        t.holdings.push_back({static_cast<int>(memory - space.memories.begin()), o.loops_above,
                              o.backing && tensor.fusable ? tensor.tensor : -1});
        outputs.push_back(o.bits);
    }
    t.cost.compile(model::FormulaPool::current(), outputs);
}

/// Tile shapes that stand for every way in which fused loops can run once or more often.
class Patterns {
public:
    explicit Patterns(const TemplateData& t) : t_(t), values_(t.symbols.size(), 1.0) {}

    mapspace::TemplateRows rows;
    std::vector<std::uint32_t> loops;

    void collect(std::size_t k, std::uint32_t running) {
        if (k == t_.fused.size()) {
            finish(running);
            return;
        }
        const FusedLoop& loop = t_.fused[k];
        const double outer =
            loop.outer >= 0 ? value(t_.fused[loop.outer]) : static_cast<double>(loop.bound);
        if (loop.symbol < 0) {
            collect(k + 1, running | (outer > 1 ? 1u << k : 0u));
            return;
        }
        choose(k, running, loop.symbol, outer);
        if (outer > 1) {
            const double next = inside(loop.symbol, outer);
            choose(k, running | 1u << k, loop.symbol, next);
            if (next > 1) {
                choose(k, running | 1u << k, loop.symbol, 1.0);
            }
        }
    }

private:
    double value(const FusedLoop& loop) const {
        return loop.symbol >= 0 ? values_[loop.symbol] : 1.0;
    }
    /// The largest tile shape below `outer`: leaves most room for loops further in.
    double inside(int symbol, double outer) const {
        if (t_.symbols[symbol].choice == TileChoice::one_per_trip_count) {
            return std::ceil(outer / 2);
        }
        for (std::int64_t p = 2;; ++p) {
            if (static_cast<std::int64_t>(outer) % p == 0) {
                return outer / static_cast<double>(p);
            }
            if (static_cast<double>(p) * static_cast<double>(p) > outer) {
                return 1.0;
            }
        }
    }
    void choose(std::size_t k, std::uint32_t running, int symbol, double value) {
        values_[symbol] = value;
        collect(k + 1, running);
    }
    void finish(std::uint32_t running) {
        if (std::find(loops.begin(), loops.end(), running) != loops.end() || !limits_met()) {
            return;
        }
        loops.push_back(running);
        for (std::size_t s = 0; s < values_.size(); ++s) {
            rows.tiles.push_back(static_cast<std::int64_t>(values_[s]));
        }
        rows.objectives.push_back(0.0);
        ++rows.rows;
    }
    bool limits_met() const {
        for (const mapspace::LoopLimit& limit : t_.loop_limits) {
            int running = 0;
            for (const mapspace::LoopLimit::Loop& loop : limit.loops) {
                const bool fused = t_.tmpl.symbols[loop.own].fused;
                const double outer =
                    loop.outer >= 0 ? values_[loop.outer] : static_cast<double>(loop.bound);
                running += fused && outer > values_[loop.own] ? 1 : 0;
            }
            if (running > limit.limit) {
                return false;
            }
        }
        return true;
    }

    const TemplateData& t_;
    std::vector<double> values_;
};

void add_patterns(const OpenSpace::Data& space, TemplateData& t, const model::TemplateFormulas& f,
                  std::vector<mapspace::GroupStructure>& structures) {
    mapspace::TabulateContext context;
    context.path = t.path;
    const std::vector<std::string>& names = space.problem.architecture->component_names();
    for (const arch::PathLevel& level : t.path->levels) {
        context.component_of_level.push_back(
            static_cast<int>(std::find(names.begin(), names.end(), level.name) - names.begin()));
        context.tracked_of_level.push_back(-1);
    }
    Patterns patterns(t);
    patterns.collect(0, 0);
    std::vector<mapspace::PmappingGroup> groups =
        mapspace::tabulate(context, t.tmpl, f, patterns.rows, 0);
    mapspace::globalise_tensors(groups, t.path->einsum);
    for (mapspace::PmappingGroup& group : groups) {
        t.patterns.push_back(
            {patterns.loops[group.source_row.front()], static_cast<int>(structures.size())});
        structures.push_back(std::move(group.structure));
    }
    std::sort(t.patterns.begin(), t.patterns.end(),
              [](const Pattern& a, const Pattern& b) { return a.loops < b.loops; });
}

}  // namespace

void compile_template(const OpenSpace::Data& space, const model::CostModel& model, TemplateData& t,
                      std::vector<mapspace::GroupStructure>& structures,
                      mapspace::TileShapeExplorer& explorer, model::FormulaPool& pool) {
    pool.clear();
    const model::FormulaScope scope(pool);
    add_symbols(t);
    add_fused_loops(t);
    add_order(t);
    add_loop_limits(t, space.mapspace);
    const model::TemplateFormulas f = model.formulate(space.problem, *t.path, t.tmpl);
    if (!add_limits(t, f, explorer)) {
        return;  // without patterns: nothing to draw
    }
    add_costs(space, t, f);
    add_patterns(space, t, f, structures);
}

double fused_trips(const TemplateData& t, std::size_t fused, const double* values) {
    const FusedLoop& loop = t.fused[fused];
    const int outer_symbol = loop.outer >= 0 ? t.fused[loop.outer].symbol : -1;
    const double outer = loop.outer < 0      ? static_cast<double>(loop.bound)
                         : outer_symbol >= 0 ? values[outer_symbol]
                                             : 1.0;
    return std::ceil(outer / (loop.symbol >= 0 ? values[loop.symbol] : 1.0));
}

std::uint32_t running_loops(const TemplateData& t, const double* values) {
    std::uint32_t running = 0;
    for (std::size_t k = 0; k < t.fused.size(); ++k) {
        running |= fused_trips(t, k, values) > 1 ? 1u << k : 0u;
    }
    return running;
}

void trips_of(const TemplateData& t, std::uint32_t running, const double* values,
              std::vector<std::int64_t>& out) {
    out.clear();
    for (std::size_t k = 0; k < t.fused.size(); ++k) {
        if (running >> k & 1u) {
            out.push_back(static_cast<std::int64_t>(fused_trips(t, k, values)));
        }
    }
}

bool meets_loop_limits(const TemplateData& t, const double* values) {
    for (const mapspace::LoopLimit& limit : t.loop_limits) {
        int running = 0;
        for (const mapspace::LoopLimit::Loop& loop : limit.loops) {
            const double outer =
                loop.outer >= 0 ? values[loop.outer] : static_cast<double>(loop.bound);
            running += outer > values[loop.own] ? 1 : 0;
        }
        if (running > limit.limit) {
            return false;
        }
    }
    return true;
}

bool nests(const TemplateData& t, const double* values) {
    for (std::size_t i = 0; i < t.symbols.size(); ++i) {
        const mapspace::TileShapeSymbol& s = t.symbols[i];
        const double outer = s.outer >= 0 ? values[s.outer] : static_cast<double>(s.bound);
        const double own = values[i];
        if (!(own >= 1) || own > outer) {
            return false;
        }
        const auto divides = [](double a, double b) {
            return static_cast<std::int64_t>(b) % static_cast<std::int64_t>(a) == 0;
        };
        switch (s.choice) {
            case TileChoice::divisors:
                if (!divides(own, static_cast<double>(s.bound)) || !divides(own, outer)) {
                    return false;
                }
                break;
            case TileChoice::divisors_of_outer:
                if (!divides(own, outer)) {
                    return false;
                }
                break;
            case TileChoice::one_per_trip_count: {
                const double inner = s.inner >= 0 ? values[s.inner] : 1.0;
                const bool multiple =
                    s.inner >= 0 && t.symbols[s.inner].choice != TileChoice::one_per_trip_count;
                const double smaller = own - (multiple ? inner : 1.0);
                if (smaller >= inner && std::ceil(outer / smaller) == std::ceil(outer / own)) {
                    return false;
                }
                break;
            }
            default:
                break;
        }
    }
    return true;
}

}  // namespace tessera::search
