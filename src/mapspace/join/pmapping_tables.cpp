#include "mapspace/pmapping_tables.hpp"

#include <algorithm>
#include <atomic>

#include "tessera/base/error.hpp"
#include "tessera/base/parallel.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/model/formula_pool.hpp"

namespace tessera::mapspace {
namespace {

/// What one thread works with.
struct Tools {
    model::FormulaPool pool;
    TileShapeExplorer explorer;
    TileShapeResult result;
    TemplateRows rows;
};

/// What one template leaves.
struct OfTemplate {
    std::vector<PmappingGroup> groups;
    std::vector<std::int32_t> tiles;
    double evaluated = 0;
};

void explore(const ShapeContext& c, const model::CostModel& model, const TemplateOnPath& t,
             std::uint32_t index, Tools& tools, OfTemplate& out) {
    tools.pool.clear();
    const model::FormulaScope formulas(tools.pool);
    const TabulateContext table = table_context(c, *t.path);
    const model::TemplateFormulas f = model.formulate(*c.problem, *t.path, *t.tmpl);
    TileShapeProblem problem = tile_shape_problem(c, *t.path, *t.tmpl, f, table);
    const TileShapeOptions options;
    if (const auto levels = perfect_levels(problem, tools.explorer, options)) {
        fix_levels(*levels, problem);
    }
    tools.explorer.explore(problem, options, tools.result);
    const std::size_t n = t.tmpl->symbols.size();
    take_rows(tools.result, n, static_cast<std::size_t>(c.n_objectives()), 
              static_cast<std::size_t>(c.n_busy()), tools.rows);
    out.groups = tabulate(table, *t.tmpl, f, tools.rows, index);
    keep_tiles(tools.rows, n, out.groups, out.tiles);
    out.evaluated = tools.result.statistics.enumerated;
}

std::uint64_t rows_of(const std::vector<PmappingGroup>& groups) {
    std::uint64_t rows = 0;
    for (const PmappingGroup& group : groups) {
        rows += group.rows();
    }
    return rows;
}

EinsumTable gather(const EinsumTemplates& einsum, std::vector<OfTemplate>&& templates) {
    EinsumTable out;
    std::vector<PmappingGroup> all;
    for (OfTemplate& t : templates) {
        base::poll_stop();
        globalise_tensors(t.groups, einsum.paths.front()->einsum);
        out.evaluated += t.evaluated;
        const double each = t.evaluated / static_cast<double>(rows_of(t.groups));
        for (PmappingGroup& group : t.groups) {
            auto& by_trips = out.evaluated_for[group.structure];
            for (std::size_t r = 0; r < group.rows(); ++r) {
                const std::int64_t* const trips = group.trips_of(r);
                by_trips[{trips, trips + group.n_loops()}] += each;
            }
            all.push_back(std::move(group));
        }
        out.tiles.push_back(std::move(t.tiles));
    }
    out.groups = merge_groups(std::move(all));
    return out;
}

}  // namespace

std::vector<EinsumTable> pmapping_tables(const ShapeContext& c, const model::CostModel& model,
                                         const std::vector<EinsumTemplates>& einsums,
                                         const TableOptions& options) {
    struct Job {
        std::size_t einsum = 0, tmpl = 0;
    };
    std::vector<Job> jobs;
    std::vector<std::vector<OfTemplate>> found(einsums.size());
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        found[e].resize(einsums[e].templates.size());
        for (std::size_t t = 0; t < found[e].size(); ++t) {
            jobs.push_back({e, t});
        }
    }
    std::vector<Tools> tools(static_cast<std::size_t>(std::max(options.threads, 1)));
    std::atomic<std::uint64_t> rows = 0;
    base::parallel_for(jobs.size(), options.threads, [&](std::size_t i, int thread) {
        const auto [e, t] = jobs[i];
        explore(c, model, einsums[e].templates[t], static_cast<std::uint32_t>(t),
                tools[static_cast<std::size_t>(thread)], found[e][t]);
        rows += rows_of(found[e][t].groups);
        if (options.most_rows > 0 && rows > options.most_rows) {
            throw LimitReached("the pmapping tables have more than " +
                               std::to_string(options.most_rows) + " rows");
        }
    });
    std::vector<EinsumTable> out;
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        out.push_back(gather(einsums[e], std::move(found[e])));
    }
    return out;
}

}  // namespace tessera::mapspace
