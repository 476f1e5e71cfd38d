// First mappings of networks whose Einsums share nothing: a beam through the tile shapes of a few
// templates per Einsum, then a local search. Fast and without proof; it also starts the floors.
#include <algorithm>

#include "explore.hpp"
#include "mapspace/tile_shapes_descent.hpp"
#include "shapes.hpp"

namespace tessera::ffm {
namespace {

/// Templates per Einsum that one pass looks at, partial rows kept, and rows of one local search.
/// Neighbouring templates are alike: spread ones are taken.
constexpr std::size_t templates_tried = 2;
constexpr std::size_t beam_rows = 128;
constexpr double descent_rows = 5000;

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

double product(const std::vector<double>& cost, const std::vector<double>& offsets) {
    double out = 1;
    for (std::size_t q = 0; q < cost.size(); ++q) {
        out *= cost[q] + (offsets.empty() ? 0.0 : offsets[q]);
    }
    return out;
}

}  // namespace

bool Exploration::nothing_shared() const {
    return std::all_of(spaces_.begin(), spaces_.end(), [](const EinsumSpace& s) {
        return s.shared.empty() && s.classes.size() == 1;
    });
}

void Exploration::descend(const std::vector<double>& total) {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    descended_.resize(spaces_.size());
    for_each_template(token(), [&](std::size_t e, std::size_t i, Workshop& tools) {
        if (i != 0) {
            return;  // one job per Einsum
        }
        Descended& best = descended_[e];
        std::vector<double> offsets;
        std::size_t tried = best.tried;
        if (!total.empty() && !best.cost.empty()) {
            for (std::size_t q = 0; q < n; ++q) {
                offsets.push_back(std::max(0.0, total[q] - best.cost[q]));
            }
            const std::size_t t = best.index;
            best = descend_template(e, t, best.shapes, offsets, tools);
        }
        const std::vector<std::size_t> order = spread(spaces_[e].templates->size());
        for (std::size_t found = 0; tried < order.size() && found < templates_tried; ++tried) {
            if (stopped() && !best.cost.empty()) {
                break;
            }
            const std::size_t t = order[tried];
            const std::size_t last = best.index;
            Descended one = descend_template(e, t, {}, offsets, tools);
            found += one.cost.empty() ? 0 : 1;
            const bool better =
                !one.cost.empty() &&
                (best.cost.empty() || product(one.cost, offsets) < product(best.cost, offsets));
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
        for (std::size_t q = 0; explored(e) && q < descended_[e].cost.size(); ++q) {
            std::atomic<double>& least = found_[e][0][q];
            least = std::min(least.load(), descended_[e].cost[q]);
        }
    }
    share_groups();
}

/// A search in one template, from `start` or from what a beam finds; its result as a group of one
/// row. Without costs if there is no legal row.
Exploration::Descended Exploration::descend_template(std::size_t e, std::size_t i,
                                                     const std::vector<std::int32_t>& start,
                                                     const std::vector<double>& offsets,
                                                     Workshop& tools) {
    const TemplateEntry& t = (*spaces_[e].templates)[i];
    tools.pool.clear();
    const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *t.path, t.tmpl);
    mapspace::TileShapeProblem problem = problem_of(e, i, f, tools);
    const std::vector<model::Formula> cost = costs(c_, f);
    problem.incumbent.quantities = cost;
    problem.incumbent.offsets = offsets;
    mapspace::TileShapeResult& r = tools.result;
    Descended out;
    out.index = i;
    out.shapes = start;
    if (start.empty()) {
        run(e, i, problem, tools, false, beam_rows);
        if (r.rows == 0) {
            run(e, i, problem, tools, true);
        }
        double least = 0;
        for (std::size_t row = 0; row < r.rows; ++row) {
            std::vector<double> own;
            for (std::size_t q = 0; q < cost.size(); ++q) {
                own.push_back(r.objectives[q][row]);
            }
            if (row == 0 || product(own, offsets) < least) {
                least = product(own, offsets);
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
    mapspace::TileShapeDescent search(problem, {cost, offsets}, out.shapes);
    search.run(descent_rows);
    out.shapes = search.shapes();
    tools.worker->generated(static_cast<std::uint64_t>(search.rows()));
    tools.worker->evaluated(static_cast<std::uint64_t>(search.rows()));
    results_[e][i].evaluated += search.rows();
    evaluated_ += static_cast<std::uint64_t>(search.rows());
    keep_row(e, i, f, problem, out.shapes, tools);
    for (std::size_t q = 0; q < cost.size(); ++q) {
        out.cost.push_back(r.objectives[q][0]);
    }
    return out;
}

/// The row as a group of its own.
void Exploration::keep_row(std::size_t e, std::size_t i, const model::TemplateFormulas& f,
                           const mapspace::TileShapeProblem& problem, const TileShapes& shapes,
                           Workshop& tools) {
    const std::vector<double> values(shapes.begin(), shapes.end());
    mapspace::TileShapeResult& r = tools.result;
    r.rows = 1;
    r.shapes.resize(values.size());
    r.objectives.resize(problem.objectives.size());
    for (std::size_t s = 0; s < values.size(); ++s) {
        r.shapes[s].assign(1, shapes[s]);
    }
    for (std::size_t q = 0; q < problem.objectives.size(); ++q) {
        r.objectives[q].assign(1, problem.objectives[q].value(values));
    }
    tabulate_rows(e, i, f, tools);
}

}  // namespace tessera::ffm
