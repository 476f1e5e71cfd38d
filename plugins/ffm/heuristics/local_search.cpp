#include "local_search.hpp"

#include <algorithm>

#include "mapspace/tile_shapes_local_search.hpp"

namespace tessera::ffm {
namespace {

/// Templates per Einsum that one pass looks at, partial rows kept, and rows of one local search.
/// Neighbouring templates are alike: spread ones are taken.
constexpr std::size_t templates_tried = 2;
constexpr std::size_t beam_rows = 128;
constexpr double local_search_rows = 5000;

/// 0, n/2, n/4, 3n/4, ...: every index once.
std::vector<std::size_t> spread(std::size_t n) {
    std::vector<std::size_t> out;
    std::vector<char> seen(n, 0);
    std::size_t parts = 1;
    while (out.size() < n) {
        for (std::size_t i = 0; i < parts; ++i) {
            const std::size_t at = i * n / parts;
            if (!seen[at]) {
                seen[at] = 1;
                out.push_back(at);
            }
        }
        parts *= 2;
    }
    return out;
}

}  // namespace

void LocalSearch::run(const std::vector<double>& total) {
    const auto n = static_cast<std::size_t>(x_.context().n_objectives());
    local_optimum_.resize(x_.spaces().size());
    x_.for_each_template(x_.token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
        if (i != 0) {
            return;  // one job per Einsum
        }
        LocalOptimum& best = local_optimum_[e];
        std::vector<double> completions;
        std::size_t tried = best.tried;
        if (!total.empty() && !best.cost.empty()) {
            for (std::size_t q = 0; q < n; ++q) {
                completions.push_back(std::max(0.0, total[q] - best.cost[q]));
            }
            const std::size_t t = best.index;
            best = search_template(e, t, best.shapes, completions, scratch);
        }
        const std::vector<std::size_t> order = spread(x_.templates(e).size());
        for (std::size_t found = 0; tried < order.size() && found < templates_tried; ++tried) {
            if (x_.stopped() && !best.cost.empty()) {
                break;
            }
            const std::size_t t = order[tried];
            const std::size_t last = best.index;
            LocalOptimum one = search_template(e, t, {}, completions, scratch);
            found += one.cost.empty() ? 0 : 1;
            const bool better = !one.cost.empty() &&
                                (best.cost.empty() ||
                                 product(one.cost, completions) < product(best.cost, completions));
            if (better) {
                if (!best.cost.empty()) {
                    x_.result(e, last).groups.clear();
                }
                best = std::move(one);
            } else {
                x_.result(e, t).groups.clear();
            }
        }
        best.tried = tried;
    });
    x_.share_groups();
}

/// Its result as a group of one row. Without costs if there is no legal row.
LocalSearch::LocalOptimum LocalSearch::search_template(std::size_t e, std::size_t i,
                                                       const TileShapes& start,
                                                       const std::vector<double>& completions,
                                                       Scratch& scratch) {
    const TemplateEntry& t = x_.templates(e)[i];
    scratch.pool.clear();
    const model::TemplateFormulas f = x_.formulas(t);
    mapspace::TileShapeProblem problem = x_.problem_of(e, i, f, scratch);
    const std::vector<model::Formula> cost = mapspace::costs(x_.context(), f);
    problem.incumbent.quantities = cost;
    problem.incumbent.completions = completions;
    mapspace::TileShapeResult& r = scratch.result;
    LocalOptimum out;
    out.index = i;
    out.shapes = start;
    if (start.empty()) {
        x_.run({e, i, problem, scratch}, {.beam = beam_rows});
        if (r.rows == 0) {
            x_.run({e, i, problem, scratch}, {.first_rows = true});
        }
        double least = 0;
        for (std::size_t row = 0; row < r.rows; ++row) {
            std::vector<double> own;
            for (std::size_t q = 0; q < cost.size(); ++q) {
                own.push_back(r.objectives[q][row]);
            }
            if (row == 0 || product(own, completions) < least) {
                least = product(own, completions);
                out.shapes.clear();
                for (const auto& column : r.shapes) {
                    out.shapes.push_back(column[row]);
                }
            }
        }
        if (r.rows == 0) {
            return out;
        }
    }
    mapspace::TileShapeLocalSearch search(problem, {cost, completions}, out.shapes);
    search.run(local_search_rows);
    out.shapes = search.shapes();
    x_.result(e, i).evaluated += search.rows();
    x_.count_rows(scratch, search.rows());
    x_.keep_shapes(e, i, f, problem, {out.shapes}, scratch);
    for (std::size_t q = 0; q < cost.size(); ++q) {
        out.cost.push_back(r.objectives[q][0]);
    }
    return out;
}

std::vector<std::vector<double>> LocalSearch::costs() const {
    std::vector<std::vector<double>> out;
    for (const LocalOptimum& best : local_optimum_) {
        out.push_back(best.cost);
    }
    return out;
}

}  // namespace tessera::ffm
