#include "explorer.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "base/leave.hpp"
#include "bounds/shared_tiles.hpp"
#include "mapspace/tile_shapes_candidates.hpp"
#include "tessera/base/parallel.hpp"

namespace tessera::ffm {
namespace {

using telemetry::Reason;

/// Size of the table in which any legal rows are looked for.
constexpr std::size_t few_rows = 128;

Reason reason_of(mapspace::LimitKind kind) {
    constexpr Reason reasons[] = {Reason::capacity, Reason::fanout, Reason::constraint,
                                  Reason::best_effort};
    return reasons[static_cast<std::size_t>(kind)];
}

/// Says what a thread works on while it does.
class Busy {
public:
    Busy(telemetry::Worker& worker, std::size_t einsum, std::size_t item) : worker_(worker) {
        worker_.state(telemetry::WorkerState::running);
        worker_.doing(static_cast<int>(einsum), static_cast<int>(item));
    }
    ~Busy() {
        worker_.doing(-1, -1);
        worker_.state(telemetry::WorkerState::idle);
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

private:
    telemetry::Worker& worker_;
};

}  // namespace

/// Sums, decimal.
std::string add_decimal(const std::string& a, const std::string& b) {
    using Int = boost::multiprecision::cpp_int;
    return (Int(a.empty() ? "0" : a) + Int(b.empty() ? "0" : b)).str();
}

TemplateExplorer::TemplateExplorer(const ExploreContext& context, std::vector<EinsumSpace>& spaces)
    : c_(context), spaces_(spaces), results_(spaces.size()) {
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        tables_.emplace_back();
        for (std::size_t p = 0; explored(e) && p < spaces[e].paths.size(); ++p) {
            tables_[e].push_back(table_context(c_, *spaces[e].paths[p]));
        }
    }
}

void TemplateExplorer::clear_results() {
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        results_[e].clear();
        results_[e].resize(explored(e) ? spaces_[e].templates->size() : 0);
    }
}

void TemplateExplorer::for_each_template(
    const base::StopToken& token, const std::function<double(std::size_t, std::size_t)>& order,
    const Work& work) {
    clear_results();
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
    if (order) {
        std::ranges::stable_sort(jobs, {}, [&](const Job& j) { return order(j.space, j.index); });
    }
    for (std::size_t e = 0; e < results_.size(); ++e) {  // those shared with another are done
        c_.recorder->einsum(e).templates_done =
            results_[e].empty() ? spaces_[e].templates->size() : 0;
    }
    for_each_job(jobs, token, work);
}

void TemplateExplorer::for_each_job(const std::vector<Job>& jobs, const base::StopToken& token,
                                    const Work& work) {
    telemetry::Phase& phase = c_.recorder->extend_phase(jobs.size());
    const base::StopScope scope(token);
    base::LeftOnStop<std::vector<Scratch>> all_tools(static_cast<std::size_t>(c_.options->threads));
    std::vector<Scratch>& scratch = *all_tools;
    for (std::size_t thread = 0; thread < scratch.size(); ++thread) {
        scratch[thread].worker = &c_.recorder->worker(thread, "ffm");
    }
    try {
        base::parallel_for(jobs.size(), c_.options->threads, [&](std::size_t j, int thread) {
            const auto [e, i] = jobs[j];
            Scratch& own = scratch[static_cast<std::size_t>(thread)];
            const Busy busy(*own.worker, e, i);
            own.pool.clear();
            const model::FormulaScope formulas(own.pool);
            work(e, i, own);
            phase.advance();
            ++c_.recorder->einsum(e).templates_done;
        });
    } catch (const base::Stopped&) {  // the templates that were being explored are left out
    }
}

void TemplateExplorer::count_rows(const Scratch& scratch, double rows) const {
    const auto n = static_cast<std::uint64_t>(rows);
    scratch.worker->generated(n);
    scratch.worker->evaluated(n);
    evaluated_ += n;
}

/// Tells the worker what became of the rows of an exploration.
void TemplateExplorer::count(const mapspace::TileShapeProblem& problem, Scratch& scratch) const {
    const mapspace::TileShapeStatistics& s = scratch.result.statistics;
    const auto rows = [](double n) { return static_cast<std::uint64_t>(n); };
    telemetry::Worker& worker = *scratch.worker;
    count_rows(scratch, s.enumerated);
    worker.generated(rows(s.dropped_as_not_allowed));  // before they are enumerated
    for (std::size_t c = 0; c < s.dropped_by_constraint.size(); ++c) {
        worker.rejected(reason_of(problem.constraints[c].kind), rows(s.dropped_by_constraint[c]));
    }
    worker.rejected(Reason::loop_limit, rows(s.dropped_by_loop_limit));
    worker.rejected(Reason::best_effort, rows(s.dropped_by_best_effort));
    worker.rejected(Reason::incompatible, rows(s.dropped_as_not_allowed));
    worker.rejected(Reason::bound, rows(s.dropped_by_incumbent));
    worker.rejected(Reason::dominated, rows(s.dropped_by_pareto));
}

void TemplateExplorer::run(const Asked& asked, const Effort& effort) {
    const auto& [e, i, problem, scratch] = asked;
    mapspace::TileShapeOptions how = c_.switches.tiles;
    how.beam = effort.beam;
    how.most_enumerated = effort.most_rows;
    how.convex_first = bound_first_;
    if (effort.first_rows) {
        how.first_rows = true;
        how.max_rows = few_rows;
        how.prune_min_rows = few_rows / 8;
    }
    scratch.explorer.explore(problem, how, scratch.result);
    results_[e][i].evaluated += scratch.result.statistics.enumerated;
    count(problem, scratch);
    TemplateEntry& t = (*spaces_[e].templates)[i];
    if (!problem.best_effort.empty() && scratch.result.levels && !t.levels) {
        t.levels = scratch.result.levels;
        mapspace::fix_levels(*t.levels, problem);
    }
}

void TemplateExplorer::limit_cost(std::size_t e, const TemplateEntry& t,
                                  const model::TemplateFormulas& f,
                                  mapspace::TileShapeProblem& problem) const {
    if (cost_limits_.of == nullptr) {
        return;
    }
    const double most = cost_limits_.most[spaces_[e].same][t.of_class];
    problem.constraints.push_back({cost_limits_.of(f), mapspace::Relation::less_equal, most});
}

/// The tile shapes of a template. What best-effort conditions ask for is decided among all of them:
/// neither what a mapping may cost nor what joins has a part in it.
mapspace::TileShapeProblem TemplateExplorer::problem_of(std::size_t e, std::size_t i,
                                                        const model::TemplateFormulas& f,
                                                        Scratch& scratch,
                                                        const SharedTiles* shared_tiles) const {
    TemplateEntry& t = (*spaces_[e].templates)[i];
    mapspace::TileShapeProblem problem =
        mapspace::tile_shape_problem(c_, *t.path, t.tmpl, f, table(e, t));
    if (!problem.best_effort.empty() && !t.levels) {
        t.levels = mapspace::perfect_levels(problem, scratch.explorer, c_.switches.tiles);
        if (t.levels ? t.levels->empty() : cost_limits_.of != nullptr) {
            t.levels = scratch.explorer.best_effort_levels(problem, c_.switches.tiles);
        }
    }
    if (!problem.best_effort.empty() && t.levels) {
        mapspace::fix_levels(*t.levels, problem);
    }
    if (shared_tiles != nullptr) {
        shared_tiles->limit(e, t, table(e, t), problem.symbols);
    }
    limit_cost(e, t, f, problem);
    return problem;
}

std::optional<double> TemplateExplorer::least_below(const Asked& asked, const model::Formula& cost,
                                                    double level, const Effort& effort) {
    mapspace::TileShapeProblem& problem = asked.problem;
    problem.objectives = {cost};
    problem.incumbent = {};
    if (std::isfinite(level)) {
        problem.incumbent.quantities = {cost};
        problem.incumbent.points = {level};
    }
    run(asked, effort);
    const mapspace::TileShapeResult& r = asked.scratch.result;
    if (r.rows == 0 || r.given_up) {
        return std::nullopt;
    }
    return *std::min_element(r.objectives[0].begin(), r.objectives[0].end());
}

/// Restricts the fused tile shapes to those that meet explored Einsums. False: none does.
bool TemplateExplorer::allow(std::size_t e, const TemplateEntry& t,
                             const CompatibleShapes& compatible,
                             mapspace::TileShapeProblem& problem) const {
    for (std::size_t k = 0; k < compatible.size(); ++k) {
        if (!compatible[k]) {
            continue;
        }
        auto shapes = mapspace::allowed_shapes(table(e, t), t.tmpl, problem.symbols,
                                               static_cast<int>(k), *compatible[k]);
        if (shapes && shapes->symbols.empty()) {
            return false;
        }
        if (shapes) {
            problem.allowed.push_back(std::move(*shapes));
        }
    }
    return true;
}

/// Fused loops have one trip or one for each point. Tile shapes that may be partial stay free.
void TemplateExplorer::allow_extremes(mapspace::TileShapeProblem& problem) {
    for (std::size_t s = 0; s < problem.symbols.size(); ++s) {
        const mapspace::TileShapeSymbol& symbol = problem.symbols[s];
        if (symbol.fused && symbol.choice == mapspace::TileChoice::divisors) {
            const mapspace::DivisorTable table(symbol.bound);
            std::vector<std::uint8_t> allowed(table.divisors().size(), 0);
            allowed.front() = allowed.back() = 1;
            problem.allowed.push_back({{static_cast<int>(s)},
                                       {{table.divisors().begin(), table.divisors().end()}},
                                       std::move(allowed)});
        }
    }
}

bool TemplateExplorer::find_rows(std::size_t e, std::size_t i, const RowsAsked& asked,
                                 Scratch& scratch) {
    const TemplateEntry& t = templates(e)[i];
    const model::TemplateFormulas f = formulas(t);
    mapspace::TileShapeProblem problem = problem_of(e, i, f, scratch, asked.shared_tiles);
    problem.incumbent = asked.bound;
    problem.incumbent.quantities = mapspace::costs(c_, f);
    if (asked.compatible != nullptr && !allow(e, t, *asked.compatible, problem)) {
        return false;
    }
    // What can be reached of best-effort conditions is decided among all tile shapes.
    if (asked.extreme_fused_tiles && problem.best_effort.empty()) {
        allow_extremes(problem);
    }
    run({e, i, problem, scratch}, asked.effort);
    tabulate_rows(e, i, f, scratch);
    return true;
}

/// The explorer's rows as groups.
void TemplateExplorer::tabulate_rows(std::size_t e, std::size_t index,
                                     const model::TemplateFormulas& f, Scratch& scratch) {
    mapspace::take_rows(scratch.result, (*spaces_[e].templates)[index].tmpl.symbols.size(),
                        static_cast<std::size_t>(c_.n_objectives()),
                        static_cast<std::size_t>(c_.n_busy()), scratch.rows);
    group_rows(e, index, f, scratch);
}

/// Scratch::rows as groups.
void TemplateExplorer::group_rows(std::size_t e, std::size_t index,
                                  const model::TemplateFormulas& f, Scratch& scratch) {
    TemplateEntry& t = (*spaces_[e].templates)[index];
    std::vector<mapspace::PmappingGroup>& groups = results_[e][index].groups;
    groups =
        mapspace::tabulate(table(e, t), t.tmpl, f, scratch.rows, static_cast<std::uint32_t>(index));
    scratch.in_groups.assign(scratch.rows.rows, 0);
    for (const mapspace::PmappingGroup& g : groups) {
        for (const std::uint32_t row : g.source_row) {
            scratch.in_groups[row] = 1;
        }
    }
    mapspace::keep_tiles(scratch.rows, t.tmpl.symbols.size(), groups, t.tiles);
}

void TemplateExplorer::keep_shapes(std::size_t e, std::size_t i, const model::TemplateFormulas& f,
                                   const mapspace::TileShapeProblem& problem,
                                   const std::set<TileShapes>& rows, Scratch& scratch) {
    mapspace::TileShapeResult& r = scratch.result;
    r.rows = rows.size();
    r.shapes.assign(problem.symbols.size(), {});
    r.objectives.assign(problem.objectives.size(), {});
    for (const TileShapes& row : rows) {
        const std::vector<double> values(row.begin(), row.end());
        for (std::size_t s = 0; s < row.size(); ++s) {
            r.shapes[s].push_back(row[s]);
        }
        for (std::size_t q = 0; q < r.objectives.size(); ++q) {
            r.objectives[q].push_back(problem.objectives[q].value(values));
        }
    }
    tabulate_rows(e, i, f, scratch);
}

/// Groups of a distinct Einsum, copied to those that equal it.
void TemplateExplorer::gather(std::size_t e) {
    std::vector<mapspace::PmappingGroup> all;
    for (Result& r : results_[e]) {
        spaces_[e].evaluated += static_cast<std::uint64_t>(r.evaluated);
        for (mapspace::PmappingGroup& g : r.groups) {
            all.push_back(std::move(g));
        }
    }
    results_[e].clear();
    std::vector<mapspace::PmappingGroup> groups = mapspace::merge_groups(std::move(all));
    for (std::size_t copy = spaces_.size(); copy-- > e;) {
        if (spaces_[copy].same != e) {
            continue;
        }
        EinsumSpace& space = spaces_[copy];
        space.groups = copy == e ? std::move(groups) : groups;
        mapspace::globalise_tensors(space.groups, space.paths.front()->einsum);
        std::uint64_t rows = 0;
        for (const mapspace::PmappingGroup& group : space.groups) {
            rows += group.rows();
        }
        c_.recorder->einsum(static_cast<std::size_t>(space.einsum)).pareto = rows;
    }
}

void TemplateExplorer::share_groups() {
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        if (explored(e)) {
            gather(e);
        }
    }
}

}  // namespace tessera::ffm
