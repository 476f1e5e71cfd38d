// Tile shapes of all templates, in parallel. Map:
//   tile_shape_problem   a template's formulas as objectives, capacities, fan-outs and loop limits
//   Exploration          one pass over the templates of all distinct Einsums; equal Einsums share
//   results
//     least              floors of the costs: templates without fused loops in full, the others one
//                        objective at a time, bounded by the least found so far
//     rows               the Pareto set; rows that the incumbents beat even with the floors of all
//     other
//                        Einsums added are dropped while tile shapes are enumerated
#include "explore.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <thread>

#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/formula_pool.hpp"

namespace tessera::ffm {
namespace {

using mapspace::Relation;
using mapspace::TileChoice;
using model::Formula;
using telemetry::Reason;

/// What one job leaves behind.
struct JobResult {
    std::vector<mapspace::PmappingGroup> groups;
    double evaluated = 0;
    std::string space;
    std::vector<CapacityNeed> needs;
};

/// Per-thread tools.
struct Workshop {
    model::FormulaPool pool;
    mapspace::TileShapeExplorer explorer;
    mapspace::TileShapeResult result;
    telemetry::Worker* worker = nullptr;
    std::vector<Reason> reasons;  ///< of the problem's constraints
};

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

/// Tells the worker what became of the rows of an exploration.
void count(Workshop& tools) {
    const mapspace::TileShapeStatistics& s = tools.result.statistics;
    const auto rows = [](double n) { return static_cast<std::uint64_t>(n); };
    telemetry::Worker& worker = *tools.worker;
    worker.generated(rows(s.enumerated));
    worker.evaluated(rows(s.enumerated));
    for (std::size_t c = 0; c < s.dropped_by_constraint.size(); ++c) {
        const bool known = c < tools.reasons.size();
        worker.rejected(known ? tools.reasons[c] : Reason::constraint,
                        rows(s.dropped_by_constraint[c]));
    }
    worker.rejected(Reason::loop_limit, rows(s.dropped_by_loop_limit));
    worker.rejected(Reason::best_effort, rows(s.dropped_by_best_effort));
    worker.rejected(Reason::bound, rows(s.dropped_by_incumbent));
    worker.rejected(Reason::dominated, rows(s.dropped_by_pareto));
}

/// Energy and latency, as far as the metric wants them.
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

/// Least bits a template needs of each memory that it overfills even then.
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

/// Everything of an Einsum and its paths that costs depend on, without names: equal text means
/// equal exploration (templates are compared on top).
std::string cost_key(const EinsumSpace& space) {
    std::ostringstream s;
    s.precision(17);
    const workload::EinsumView& e = space.paths.front()->einsum;
    s << e.is_copy_operation << ' ' << e.n_instances;
    for (const workload::LocalRankVariable& v : e.rank_variables) {
        s << " v" << v.bound << ',' << v.simple;
    }
    for (const workload::LocalTensor& t : e.tensors) {
        s << " t" << t.output << t.persistent << t.intermediate << t.fusable << ','
          << t.bits_per_value;
        for (const workload::RankAccess& rank : t.ranks) {
            s << " r" << rank.constant;
            for (const workload::AffineTerm& term : rank.terms) {
                s << '+' << term.coefficient << '*' << term.rank_variable;
            }
        }
    }
    for (const auto& path : space.paths) {
        s << " p" << path->compute().name;
        for (const arch::PathLevel& level : path->levels) {
            s << " l" << level.name << ',' << static_cast<int>(level.kind) << level.enabled
              << level.skip_initial_output_write << static_cast<int>(level.topology) << ','
              << level.size_bits << ',' << level.actions_scale;
            for (const arch::PathAction& a : level.actions) {
                s << " a" << a.energy_j << ',' << a.throughput_per_s << ',' << a.latency_s;
                for (const double v : a.values_per_action) {
                    s << ',' << v;
                }
            }
            for (const double b : level.bits_per_value) {
                s << " b" << b;
            }
            for (const double b : level.actions_per_value) {
                s << " n" << b;
            }
            for (const arch::Direction d : level.direction) {
                s << " d" << static_cast<int>(d);
            }
            for (const arch::PathDim& d : level.spatial) {
                s << " f" << d.fanout << ',' << d.may_reuse << ',' << d.min_usage << ','
                  << d.usage_scale;
            }
            for (const arch::LatencyProgram::Step& step : level.latency.steps) {
                s << " q" << static_cast<int>(step.op) << ',' << step.value << ',' << step.action;
            }
        }
        for (const arch::Leak& leak : path->leaks) {
            s << " k" << leak.leak_power_w << ',' << leak.off;
            for (const arch::Leak::Gate& gate : leak.gates) {
                s << ',' << gate.level << ',' << gate.dim << ',' << gate.fanout;
            }
        }
    }
    return s.str();
}

bool same_templates(const EinsumSpace& a, const EinsumSpace& b) {
    return a.templates.size() == b.templates.size() &&
           std::equal(a.templates.begin(), a.templates.end(), b.templates.begin(),
                      [](const TemplateEntry& x, const TemplateEntry& y) {
                          return x.path_index == y.path_index && x.tmpl == y.tmpl;
                      });
}

/// For every Einsum the first one that it equals (itself if none).
std::vector<std::size_t> representatives(const std::vector<EinsumSpace>& spaces) {
    std::multimap<std::string, std::size_t> seen;
    std::vector<std::size_t> out;
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        const std::string key = cost_key(spaces[e]);
        std::size_t same = e;
        const auto [from, to] = seen.equal_range(key);
        for (auto it = from; it != to; ++it) {
            if (same_templates(spaces[it->second], spaces[e])) {
                same = it->second;
                break;
            }
        }
        if (same == e) {
            seen.emplace(key, e);
        }
        out.push_back(same);
    }
    return out;
}

/// Sums, decimal.
std::string add_decimal(const std::string& a, const std::string& b) {
    using Int = boost::multiprecision::cpp_int;
    return (Int(a.empty() ? "0" : a) + Int(b.empty() ? "0" : b)).str();
}

/// Size of the space, and what the memories lack where no template has a legal row.
void collect_needs(EinsumSpace& space, const std::vector<JobResult>& jobs) {
    std::map<std::string, CapacityNeed> needs;
    std::size_t starved = 0;
    bool counted = true;
    for (const JobResult& job : jobs) {
        counted = counted && !job.space.empty();
        space.size = add_decimal(space.size, job.space);
        for (const CapacityNeed& n : job.needs) {
            const auto [it, fresh] = needs.try_emplace(n.memory, n);
            if (!fresh && n.needed_bits < it->second.needed_bits) {
                it->second = n;
            }
        }
        starved += job.needs.empty() ? 0 : 1;
    }
    if (!counted) {
        space.size.clear();
    }
    if (space.least.empty() && starved == jobs.size()) {
        for (const auto& [name, need] : needs) {
            space.needs.push_back(need);
        }
    }
}

void collect_groups(EinsumSpace& space, std::vector<JobResult>& jobs) {
    std::vector<mapspace::PmappingGroup> all;
    for (JobResult& job : jobs) {
        space.evaluated += static_cast<std::uint64_t>(job.evaluated);
        for (mapspace::PmappingGroup& g : job.groups) {
            all.push_back(std::move(g));
        }
    }
    space.groups = mapspace::merge_groups(std::move(all));
}

// The known mapping's own pmappings must not be dropped for a rounding of its cost.
constexpr double incumbent_slack = 1 + 1e-9;

/// One pass over all templates of all distinct Einsums.
class Exploration {
public:
    Exploration(const ExploreContext& context, std::vector<EinsumSpace>& spaces)
        : c_(context), spaces_(spaces), same_(representatives(spaces)), results_(spaces.size()) {
        for (std::size_t e = 0; e < spaces.size(); ++e) {
            results_[e].resize(same_[e] == e ? spaces[e].templates.size() : 0);
            tables_.emplace_back();
            for (const auto& path : spaces[e].paths) {
                tables_[e].push_back(table_context(c_, *path));
            }
        }
    }

    bool least();
    void rows(const Incumbents& incumbents);

private:
    template <class Work>
    void for_each_template(const Work& work);
    void share_groups();

    bool stopped() const {
        return c_.options->stop != nullptr && c_.options->stop->load();
    }
    void run(mapspace::TileShapeProblem& problem, Workshop& tools) const {
        mapspace::TileShapeOptions how;
        how.stop = c_.options->stop;
        tools.explorer.explore(problem, how, tools.result);
        count(tools);
    }
    void least_of(std::size_t e, TemplateEntry& t, Workshop& tools, JobResult& out);
    void lower(std::size_t e, std::size_t objective, double value);
    void rows_of(std::size_t e, std::uint32_t index, TemplateEntry& t, Workshop& tools,
                 JobResult& out);
    mapspace::IncumbentBound bound(std::size_t e, const std::vector<Formula>& costs) const;
    const mapspace::TabulateContext& table(std::size_t e, const TemplateEntry& t) const {
        return tables_[e][static_cast<std::size_t>(t.path_index)];
    }

    const ExploreContext& c_;
    std::vector<EinsumSpace>& spaces_;
    std::vector<std::size_t> same_;
    std::vector<std::vector<JobResult>> results_;
    std::vector<std::vector<mapspace::TabulateContext>> tables_;
    std::vector<double> total_;  ///< per objective: sum of all Einsums' least
    const Incumbents* incumbents_ = nullptr;
    std::vector<std::array<std::atomic<double>, 2>>
        found_;  ///< least so far, per Einsum and objective
};

template <class Work>
void Exploration::for_each_template(const Work& work) {
    struct Job {
        std::size_t space = 0, index = 0;
    };
    // Round robin: a stopped search should have something of every Einsum.
    std::vector<Job> jobs;
    std::size_t most = 0;
    for (const auto& r : results_) {
        most = std::max(most, r.size());
    }
    for (std::size_t i = 0; i < most; ++i) {
        for (std::size_t e = 0; e < results_.size(); ++e) {
            if (i < results_[e].size()) {
                jobs.push_back({e, i});
            }
        }
    }
    telemetry::Phase& phase = c_.recorder->extend_phase(jobs.size());
    for (std::size_t e = 0; e < results_.size(); ++e) {  // those shared with another are done
        c_.recorder->einsum(e).templates_done =
            results_[e].empty() ? spaces_[e].templates.size() : 0;
    }
    std::atomic<std::size_t> next{0};
    auto loop = [&](int thread) {
        Workshop tools;
        tools.worker = &c_.recorder->worker(static_cast<std::size_t>(thread), "ffm");
        tools.worker->state(telemetry::WorkerState::running);
        for (std::size_t j = next++; j < jobs.size() && !stopped(); j = next++) {
            const auto [e, i] = jobs[j];
            tools.pool.clear();
            const model::FormulaScope scope(tools.pool);
            tools.worker->doing(static_cast<int>(e), static_cast<int>(i));
            work(e, i, tools);
            phase.advance();
            ++c_.recorder->einsum(e).templates_done;
        }
        tools.worker->doing(-1, -1);
        tools.worker->state(telemetry::WorkerState::idle);
    };
    std::vector<std::jthread> pool;
    for (int t = 1; t < c_.options->threads; ++t) {
        pool.emplace_back(loop, t);
    }
    loop(0);
}

bool has_fused_loops(const mapspace::Template& tmpl) {
    return std::any_of(tmpl.nodes.begin(), tmpl.nodes.begin() + tmpl.n_fused_nodes,
                       [](const mapping::PmappingNode& n) {
                           return n.kind == mapping::NodeKind::temporal ||
                                  n.kind == mapping::NodeKind::spatial;
                       });
}

void Exploration::lower(std::size_t e, std::size_t objective, double value) {
    std::atomic<double>& least = found_[e][objective];
    double now = least.load();
    while (value < now && !least.compare_exchange_weak(now, value)) {
    }
}

/// Minima do not depend on the order in which threads find them, so bounding by them is
/// deterministic.
void Exploration::least_of(std::size_t e, TemplateEntry& t, Workshop& tools, JobResult& out) {
    const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *t.path, t.tmpl);
    mapspace::TileShapeProblem problem = tile_shape_problem(c_, t, f, table(e, t), tools.reasons);
    for (mapspace::TileShapeSymbol& s : problem.symbols) {
        s.fused = false;
    }
    const std::vector<Formula> cost = costs(c_, f);
    for (std::size_t k = 0; k < cost.size(); ++k) {
        problem.objectives = {cost[k]};
        problem.incumbent = {};
        if (const double known = found_[e][k].load(); std::isfinite(known)) {
            problem.incumbent.quantities = {cost[k]};
            problem.incumbent.offsets = {0.0};
            problem.incumbent.points = {known};
        }
        run(problem, tools);
        const mapspace::TileShapeResult& r = tools.result;
        out.evaluated += r.statistics.enumerated;
        out.space = r.statistics.exact_space;
        if (r.rows > 0) {
            lower(e, k, *std::min_element(r.objectives[0].begin(), r.objectives[0].end()));
        } else if (problem.incumbent.quantities.empty()) {
            out.needs = least_needs(*t.path, f);
            return;
        }
    }
}

bool Exploration::least() {
    const Incumbents none;
    incumbents_ = &none;
    found_ = std::vector<std::array<std::atomic<double>, 2>>(spaces_.size());
    for (auto& found : found_) {
        found[0] = found[1] = std::numeric_limits<double>::infinity();
    }
    for_each_template([&](std::size_t e, std::size_t i, Workshop& tools) {
        TemplateEntry& t = spaces_[e].templates[i];
        if (!has_fused_loops(t.tmpl)) {
            JobResult& out = results_[e][i];
            rows_of(e, static_cast<std::uint32_t>(i), t, tools, out);
            const std::size_t n = static_cast<std::size_t>(c_.n_objectives());
            for (std::size_t r = 0; r < t.rows.rows * n; ++r) {
                lower(e, r % n, t.rows.objectives[r]);
            }
        }
    });
    for_each_template([&](std::size_t e, std::size_t i, Workshop& tools) {
        if (has_fused_loops(spaces_[e].templates[i].tmpl)) {
            least_of(e, spaces_[e].templates[i], tools, results_[e][i]);
        }
    });
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        if (same_[e] != e) {
            spaces_[e].least = spaces_[same_[e]].least;
            spaces_[e].needs = spaces_[same_[e]].needs;
            spaces_[e].size = spaces_[same_[e]].size;
            continue;
        }
        if (std::isfinite(found_[e][0].load())) {
            for (std::size_t k = 0; k < static_cast<std::size_t>(c_.n_objectives()); ++k) {
                spaces_[e].least.push_back(found_[e][k].load());
            }
        }
        collect_needs(spaces_[e], results_[e]);
    }
    share_groups();
    return !stopped();
}

/// Lower bounds of the whole mapping from this Einsum's costs, against what is known.
mapspace::IncumbentBound Exploration::bound(std::size_t e, const std::vector<Formula>& cost) const {
    mapspace::IncumbentBound out;
    if (incumbents_->points.empty() || spaces_[e].least.empty()) {
        return out;
    }
    out.quantities = cost;
    for (std::size_t k = 0; k < cost.size(); ++k) {
        out.offsets.push_back(std::max(0.0, total_[k] - spaces_[e].least[k]));
    }
    for (const std::vector<double>& p : incumbents_->points) {
        if (incumbents_->product) {
            out.best_product = std::min(out.best_product, p[0] * p[1] * incumbent_slack);
            continue;
        }
        for (const double v : p) {
            out.points.push_back(v * incumbent_slack);
        }
    }
    return out;
}

void Exploration::rows_of(std::size_t e, std::uint32_t index, TemplateEntry& t, Workshop& tools,
                          JobResult& out) {
    const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *t.path, t.tmpl);
    const std::vector<Formula> cost = costs(c_, f);
    mapspace::TileShapeProblem problem = tile_shape_problem(c_, t, f, table(e, t), tools.reasons);
    problem.incumbent = bound(e, cost);
    run(problem, tools);
    const mapspace::TileShapeResult& r = tools.result;
    out.evaluated = r.statistics.enumerated;
    out.space = r.statistics.exact_space;
    if (r.rows == 0) {
        out.needs = least_needs(*t.path, f);
    }
    const std::size_t n = t.tmpl.symbols.size();
    t.rows.rows = r.rows;
    t.rows.tiles.assign(r.rows * n, 0);
    t.rows.objectives.assign(r.rows * cost.size(), 0.0);
    for (std::size_t i = 0; i < r.rows; ++i) {
        for (std::size_t s = 0; s < n; ++s) {
            t.rows.tiles[i * n + s] = r.shapes[s][i];
        }
        for (std::size_t k = 0; k < cost.size(); ++k) {
            t.rows.objectives[i * cost.size() + k] = r.objectives[k][i];
        }
    }
    out.groups = mapspace::tabulate(table(e, t), t.tmpl, f, t.rows, index);
}

void Exploration::rows(const Incumbents& incumbents) {
    incumbents_ = &incumbents;
    total_.assign(static_cast<std::size_t>(c_.n_objectives()), 0.0);
    for (const EinsumSpace& s : spaces_) {
        for (std::size_t k = 0; k < total_.size(); ++k) {
            total_[k] += s.least.empty() ? 0.0 : s.least[k];
        }
    }
    for_each_template([&](std::size_t e, std::size_t i, Workshop& tools) {
        rows_of(e, static_cast<std::uint32_t>(i), spaces_[e].templates[i], tools, results_[e][i]);
    });
    share_groups();
}

/// Groups of every distinct Einsum, copied to those that equal it.
void Exploration::share_groups() {
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        EinsumSpace& space = spaces_[e];
        if (same_[e] == e) {
            collect_groups(space, results_[e]);
            continue;
        }
        const EinsumSpace& twin = spaces_[same_[e]];
        space.groups = twin.groups;
        for (std::size_t i = 0; i < space.templates.size(); ++i) {
            space.templates[i].rows = twin.templates[i].rows;
        }
    }
    for (EinsumSpace& space : spaces_) {
        mapspace::globalise_tensors(space.groups, space.paths.front()->einsum);
        std::uint64_t rows = 0;
        for (const mapspace::PmappingGroup& group : space.groups) {
            rows += group.rows();
        }
        c_.recorder->einsum(static_cast<std::size_t>(space.einsum)).pareto = rows;
    }
}

}  // namespace

bool find_least(const ExploreContext& context, std::vector<EinsumSpace>& spaces) {
    return Exploration(context, spaces).least();
}

void explore(const ExploreContext& context, std::vector<EinsumSpace>& spaces,
             const Incumbents& incumbents) {
    Exploration(context, spaces).rows(incumbents);
}

}  // namespace tessera::ffm
