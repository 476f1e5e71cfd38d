#include "bound_tightening.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::ffm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// How far the class bounds that hold the bound down are tightened before the bound is looked at
/// again.
constexpr double rise = 1.05;
/// Scalarised costs come out of products that are compared with a slack.
constexpr double scalarised_rounding = 1e-9;
constexpr std::size_t jointly = 2;  ///< among levels, after the objectives

}  // namespace

BoundTightening::BoundTightening(TemplateExplorer& explorer, ClassBounds& bounds,
                                 const Start& start, std::function<void()> save)
    : x_(explorer),
      bounds_(bounds),
      c_(explorer.context()),
      spaces_(explorer.spaces()),
      save_(std::move(save)),
      caps_(start.classes) {
    for (KnownClassBounds& of_einsum : caps_) {
        for (auto& [choices, least] : of_einsum) {
            least = {least[0] * (1 - worth_tightening), least[1] * (1 - worth_tightening)};
        }
    }
    in_vain_.resize(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        in_vain_[e].resize(spaces_[e].templates->size());
    }
    if (start.costs.size() == 2 && c_.options->metrics.size() == 1 &&
        c_.switches.scalarised_bounds) {
        scalarised_.unit = {start.costs[0], start.costs[1]};
    }
    find_scalarised_root_bounds();
    restore();
    set_class_bounds();
}

/// The least scalarised cost of a template, if it is below the level; else nothing, if it is not
/// given up. With x and y in parts of the units, (x + a)(y + b) >= P shows that x + y >= 2 sqrt(P)
/// - a - b; hardly anything is lost where x + a and y + b are equal, as they are at the class's
/// bound.
std::optional<double> BoundTightening::find_scalarised_below(
    const Asked& asked, const std::vector<model::Formula>& cost, double level,
    const Effort& effort) {
    const std::array<double, 2> completions = scalarised_completions(asked.e, asked.i);
    mapspace::TileShapeProblem& problem = asked.problem;
    problem.objectives = cost;
    problem.incumbent = {};
    problem.incumbent.quantities = cost;
    problem.incumbent.completions = {completions[0], completions[1]};
    const double half = (level + scalarised_.of(completions)) / 2;
    problem.incumbent.best_product = half * half * scalarised_.unit[0] * scalarised_.unit[1];
    x_.run(asked, effort);
    const mapspace::TileShapeResult& r = asked.scratch.result;
    std::optional<double> least;
    for (std::size_t row = 0; row < r.rows && !r.given_up; ++row) {
        const double own = scalarised_.of({r.objectives[0][row], r.objectives[1][row]});
        least = own < level ? std::min(own, least.value_or(own)) : least;
    }
    return least;
}

std::array<double, 2> BoundTightening::scalarised_completions(std::size_t e, std::size_t i) const {
    std::array<double, 2> out{};
    const TemplateClass& own = spaces_[e].classes[x_.templates(e)[i].of_class];
    for (std::size_t q = 0; q < 2; ++q) {
        out[q] = std::max(0.0, scalarised_.unit[q] - own.least[q]);
    }
    return out;
}

/// What the root relaxation of the formulas says of the scalarised cost.
void BoundTightening::find_scalarised_root_bounds() {
    root_bound_scalarised_.resize(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        root_bound_scalarised_[e].assign(spaces_[e].templates->size(), 0.0);
    }
    if (!scalarised_.used() || !c_.switches.tiles.convex) {
        return;
    }
    x_.for_each_template(x_.token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
        const TemplateEntry& t = x_.templates(e)[i];
        const TemplateClass& own = spaces_[e].classes[t.of_class];
        if (t.unmatched || !std::isfinite(own.least[0] + own.least[1])) {
            return;
        }
        const model::TemplateFormulas f = x_.formulas(t);
        const std::vector<model::Formula> cost = mapspace::costs(c_, f);
        const mapspace::TileShapeProblem problem = x_.problem_of(e, i, f, scratch);
        const std::array<double, 2> completions = scalarised_completions(e, i);
        const double product = scratch.explorer.convex_bound(problem, cost, completions, infinity);
        root_bound_scalarised_[e][i] =
            2 * std::sqrt(product / (scalarised_.unit[0] * scalarised_.unit[1])) -
            scalarised_.of(completions) - scalarised_rounding;
    });
}

/// What an earlier part of the run has shown. Scalarised costs are counted in the costs of the
/// mapping that was known then: what was shown of them holds for the same one.
void BoundTightening::restore() {
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        SavedClassBounds& known = bounds_.saved(e);
        const bool same_unit = known.scalarised_unit == scalarised_.unit;
        known.scalarised_unit = scalarised_.unit;
        for (std::size_t i = 0; i < known.tightened.size(); ++i) {
            std::array<double, 6>& tightened = known.tightened[i];
            in_vain_[e][i] = {tightened[3], tightened[4], same_unit ? tightened[5] : 0.0};
            if (same_unit) {
                root_bound_scalarised_[e][i] = std::max(root_bound_scalarised_[e][i], tightened[2]);
            } else {
                tightened[2] = tightened[5] = 0;
            }
        }
    }
}

/// What is known by now of the costs of a template, for a run that goes on from there.
void BoundTightening::note(std::size_t e, std::size_t i) {
    const std::array<double, 3>& rows = in_vain_[e][i];
    const std::array<double, 4> known{root_bound_scalarised_[e][i], rows[0], rows[1], rows[2]};
    bounds_.note_root_bounds(e, i, &known);
}

void BoundTightening::tighten(bool scalarised, double most_rows) {
    for (;;) {
        const std::map<Which, Levels> levels = to_tighten(scalarised, most_rows);
        std::vector<TemplateExplorer::Job> jobs;
        for (const auto& [which, of_template] : levels) {
            jobs.push_back({which.first, which.second});
        }
        if (jobs.empty() || x_.stopped()) {
            return;
        }
        x_.clear_results();
        x_.for_each_job(jobs, x_.token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
            tighten_template({e, i}, levels.at({e, i}), most_rows, scratch);
            note(e, i);
            if (c_.recorder->checkpoint_due()) {
                save_();
            }
        });
        set_class_bounds();
    }
}

void BoundTightening::tighten_template(const Which& which, const Levels& levels, double most_rows,
                                       Scratch& scratch) {
    const auto [e, i] = which;
    const model::TemplateFormulas f = x_.formulas(x_.templates(e)[i]);
    mapspace::TileShapeProblem problem = least_cost_problem(x_, e, i, f, scratch);
    const std::vector<model::Formula> cost = mapspace::costs(c_, f);
    const Asked asked{e, i, problem, scratch};
    const Effort effort{.most_rows = most_rows};
    for (std::size_t q = 0; q < levels.size(); ++q) {
        if (!(levels[q] > 0)) {
            continue;
        }
        const std::optional<double> value =
            q == jointly ? find_scalarised_below(asked, cost, levels[q], effort)
                         : x_.least_below(asked, cost[q], levels[q], effort);
        if (scratch.result.given_up) {
            in_vain_[e][i][q] = most_rows;
            continue;
        }
        double& root_bound =
            q == jointly ? root_bound_scalarised_[e][i] : bounds_.root_bound(e, i)[q];
        root_bound = std::max(root_bound, value.value_or(levels[q]) * (1 - rounding) -
                                              (q == jointly ? scalarised_rounding : 0.0));
        // Exact, or without any legal row: there is nothing to tighten.
        in_vain_[e][i][q] = value || std::isinf(levels[q]) ? infinity : in_vain_[e][i][q];
    }
}

/// What to tighten a root bound of class `k` to; 0: it is that good.
double BoundTightening::level_of(const Which& which, std::size_t k, std::size_t q) const {
    const auto [e, i] = which;
    const TemplateClass& own = spaces_[e].classes[k];
    const bool both = q == jointly;
    const double most = both ? infinity : cap(e, k, q);
    const double class_bound = both ? own.scalarised : own.least[q];
    const double level = std::min(most, class_bound > 0 ? class_bound * rise : most);
    const double root_bound = both ? root_bound_scalarised_[e][i] : bounds_.root_bound(e, i)[q];
    // What a proof would come to has to be more.
    const double slack = both ? scalarised_rounding : 0.0;
    return root_bound < level * (1 - 2 * rounding) - 2 * slack ? level : 0;
}

std::map<BoundTightening::Which, BoundTightening::Levels> BoundTightening::to_tighten(
    bool scalarised, double most_rows) const {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    const std::size_t from = scalarised ? jointly : 0, to = scalarised ? jointly + 1 : n;
    std::map<Which, Levels> out;
    const ClassRelaxation& relaxation = *bounds_.relaxation();
    const double least = relaxation.least_value();
    for (std::size_t e = 0; e < spaces_.size() && relaxation.valid(); ++e) {
        const std::size_t first = spaces_[e].same;
        const ClassRelaxation::BoundingClasses bounding(relaxation, e);
        for (std::size_t k = 0; k < spaces_[e].classes.size(); ++k) {
            if (!bounding.has(k, least)) {
                continue;
            }
            for (const std::uint32_t i : spaces_[first].classes[k].templates) {
                for (std::size_t q = from; q < to && !x_.templates(first)[i].unmatched; ++q) {
                    const double level =
                        in_vain_[first][i][q] < most_rows ? level_of({first, i}, k, q) : 0;
                    if (level > 0) {
                        out[{first, i}][q] = level;
                    }
                }
            }
        }
    }
    return out;
}

/// What is not tightened above a cap; known classes have one.
double BoundTightening::cap(std::size_t e, std::size_t k, std::size_t q) const {
    const auto it = caps_[e].find(spaces_[e].classes[k].choices);
    return it == caps_[e].end() ? infinity : it->second[q];
}

void BoundTightening::set_class_bounds() {
    bounds_.set_from_root_bounds(
        [&](std::size_t e, std::size_t k, std::size_t q) { return cap(e, k, q); },
        [](std::size_t, std::size_t) { return true; });
    for (std::size_t e = 0; e < spaces_.size() && scalarised_.used(); ++e) {
        const std::size_t first = spaces_[e].same;
        for (std::size_t k = 0; k < spaces_[e].classes.size(); ++k) {
            double root_bound = infinity;
            for (const std::uint32_t i : spaces_[first].classes[k].templates) {
                if (!x_.templates(first)[i].unmatched) {
                    root_bound = std::min(root_bound, root_bound_scalarised_[first][i]);
                }
            }
            TemplateClass& own = spaces_[e].classes[k];
            own.scalarised = std::max(scalarised_.of(own.least), root_bound);
        }
    }
    bounds_.relax(scalarised_);
}

}  // namespace tessera::ffm
