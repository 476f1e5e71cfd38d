// First mappings of networks whose Einsums share nothing: a beam through the tile shapes of a few
// templates per Einsum, then a local search. Fast and without proof; it also starts the class
// bounds.
#include <algorithm>

#include "../explore.hpp"
#include "mapspace/tile_shapes_local_search.hpp"
#include "shapes.hpp"

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

double product(const std::vector<double>& cost, const std::vector<double>& completions) {
    double out = 1;
    for (std::size_t q = 0; q < cost.size(); ++q) {
        out *= cost[q] + (completions.empty() ? 0.0 : completions[q]);
    }
    return out;
}

}  // namespace

bool Exploration::nothing_shared() const {
    return std::all_of(spaces_.begin(), spaces_.end(), [](const EinsumSpace& s) {
        return s.shared.empty() && s.classes.size() == 1;
    });
}

void Exploration::local_search(const std::vector<double>& total) {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    local_optimum_.resize(spaces_.size());
    for_each_template(token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
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
            best = local_search_template(e, t, best.shapes, completions, scratch);
        }
        const std::vector<std::size_t> order = spread(spaces_[e].templates->size());
        for (std::size_t found = 0; tried < order.size() && found < templates_tried; ++tried) {
            if (stopped() && !best.cost.empty()) {
                break;
            }
            const std::size_t t = order[tried];
            const std::size_t last = best.index;
            LocalOptimum one = local_search_template(e, t, {}, completions, scratch);
            found += one.cost.empty() ? 0 : 1;
            const bool better = !one.cost.empty() &&
                                (best.cost.empty() ||
                                 product(one.cost, completions) < product(best.cost, completions));
            if (better) {
                if (!best.cost.empty()) {
                    results_[e][last].groups.clear();
                }
                best = std::move(one);
            } else {
                results_[e][t].groups.clear();
            }
        }
        best.tried = tried;
    });
    // A legal pmapping's costs: no least cost is above them.
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        for (std::size_t q = 0; explored(e) && q < local_optimum_[e].cost.size(); ++q) {
            std::atomic<double>& least = found_[e][0][q];
            least = std::min(least.load(), local_optimum_[e].cost[q]);
        }
    }
    share_groups();
}

/// A search in one template, from `start` or from what a beam finds; its result as a group of one
/// row. Without costs if there is no legal row.
Exploration::LocalOptimum Exploration::local_search_template(std::size_t e, std::size_t i,
                                                             const std::vector<std::int32_t>& start,
                                                             const std::vector<double>& completions,
                                                             Scratch& scratch) {
    const TemplateEntry& t = (*spaces_[e].templates)[i];
    scratch.pool.clear();
    const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *t.path, t.tmpl);
    mapspace::TileShapeProblem problem = problem_of(e, i, f, scratch);
    const std::vector<model::Formula> cost = mapspace::costs(c_, f);
    problem.incumbent.quantities = cost;
    problem.incumbent.completions = completions;
    mapspace::TileShapeResult& r = scratch.result;
    LocalOptimum out;
    out.index = i;
    out.shapes = start;
    if (start.empty()) {
        run({e, i, problem, scratch}, {.beam = beam_rows});
        if (r.rows == 0) {
            run({e, i, problem, scratch}, {.first_rows = true});
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
    scratch.worker->generated(static_cast<std::uint64_t>(search.rows()));
    scratch.worker->evaluated(static_cast<std::uint64_t>(search.rows()));
    results_[e][i].evaluated += search.rows();
    evaluated_ += static_cast<std::uint64_t>(search.rows());
    keep_row(e, i, f, problem, out.shapes, scratch);
    for (std::size_t q = 0; q < cost.size(); ++q) {
        out.cost.push_back(r.objectives[q][0]);
    }
    return out;
}

}  // namespace tessera::ffm
