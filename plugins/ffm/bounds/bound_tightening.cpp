// Class bounds of partial tiles, where the least cost of a template can take longer than there is
// time. What the root relaxation of its formulas says is tightened in steps, as far as a number of
// rows reaches; a class bound is the least root relaxation of a class. Only templates that hold the
// bound down are tightened any further.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../explore.hpp"
#include "../heuristics/shapes.hpp"

namespace tessera::ffm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// By which factors a template's root relaxation is tightened, in turn.
constexpr double rises[] = {1.02, 1.05, 1.1, 1.2, 1.4, 1.8, 2.6, infinity};
/// How far the class bounds that hold the bound down are tightened before the bound is looked at
/// again, and how far above the least cost of the whole their mappings may be.
constexpr double rise = 1.05, near_bound = 1.02;
/// Costs of known classes that are lower by less than this share are not looked for.
constexpr double worth_finding = 0.001;
/// Scalarised costs come out of products that are compared with a slack.
constexpr double scalarised_rounding = 1e-9;

}  // namespace

/// The least cost of a template, if it is below the level; else nothing, if it is not given up.
std::optional<double> Exploration::find_below(const Asked& asked, const model::Formula& cost,
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

/// Which step is given up must not depend on what other threads find.
Exploration::ClassBound Exploration::tighten_root_bound(const Asked& asked,
                                                        const model::Formula& cost,
                                                        std::atomic<double>& found, double before,
                                                        double& root_bound) {
    const double start = root_bound;
    for (const double factor : rises) {
        if (before * (1 - rounding) <= root_bound) {
            return ClassBound::known;
        }
        const double level = std::min(before, start > 0 ? start * factor : infinity);
        const std::optional<double> value =
            find_below(asked, cost, level, {.most_rows = most_class_bound_rows_});
        if (asked.scratch.result.given_up) {
            return ClassBound::open;
        }
        root_bound = value.value_or(level) * (1 - rounding);
        if (value) {
            lower(found, *value);
            return ClassBound::known;
        }
    }
    return std::isfinite(before) ? ClassBound::known : ClassBound::none;
}

/// The least scalarised cost of a template, if it is below the level; else nothing, if it is not
/// given up. With x and y in parts of the units, (x + a)(y + b) >= P shows that x + y >= 2 sqrt(P)
/// - a - b; hardly anything is lost where x + a and y + b are equal, as they are at the class's
/// bound.
std::optional<double> Exploration::find_scalarised_below(const Asked& asked,
                                                         const std::vector<model::Formula>& cost,
                                                         double level, const Effort& effort) {
    const std::array<double, 2> completions = scalarised_completions(asked.e, asked.i);
    mapspace::TileShapeProblem& problem = asked.problem;
    problem.objectives = cost;
    problem.incumbent = {};
    problem.incumbent.quantities = cost;
    problem.incumbent.completions = {completions[0], completions[1]};
    const double half = (level + scalarised_.of(completions)) / 2;
    problem.incumbent.best_product = half * half * scalarised_.unit[0] * scalarised_.unit[1];
    run(asked, effort);
    const mapspace::TileShapeResult& r = asked.scratch.result;
    std::optional<double> least;
    for (std::size_t row = 0; row < r.rows && !r.given_up; ++row) {
        const double own = scalarised_.of({r.objectives[0][row], r.objectives[1][row]});
        least = own < level ? std::min(own, least.value_or(own)) : least;
    }
    return least;
}

std::array<double, 2> Exploration::scalarised_completions(std::size_t e, std::size_t i) const {
    std::array<double, 2> out{};
    for (std::size_t q = 0; q < 2; ++q) {
        out[q] = std::max(0.0, scalarised_.unit[q] - spaces_[e].classes[class_of(e, i)].least[q]);
    }
    return out;
}

/// What the root relaxation of the formulas says of the scalarised cost.
void Exploration::root_bound_scalarised() {
    root_bound_scalarised_.resize(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        root_bound_scalarised_[e].assign(spaces_[e].templates->size(), 0.0);
    }
    if (!scalarised_.used() || !c_.switches.tiles.convex) {
        return;
    }
    for_each_template(token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
        const TemplateEntry& t = (*spaces_[e].templates)[i];
        const TemplateClass& own = spaces_[e].classes[class_of(e, i)];
        if (t.unmatched || !std::isfinite(own.least[0] + own.least[1])) {
            return;
        }
        const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *t.path, t.tmpl);
        const std::vector<model::Formula> cost = mapspace::costs(c_, f);
        const mapspace::TileShapeProblem problem = problem_of(e, i, f, scratch);
        const std::array<double, 2> completions = scalarised_completions(e, i);
        const double product = scratch.explorer.convex_bound(problem, cost, completions, infinity);
        root_bound_scalarised_[e][i] =
            2 * std::sqrt(product / (scalarised_.unit[0] * scalarised_.unit[1])) -
            scalarised_.of(completions) - scalarised_rounding;
    });
}

void Exploration::start_tightening(const std::vector<KnownClassBounds>& known,
                                   const std::vector<double>& costs) {
    caps_ = known;
    for (KnownClassBounds& of_einsum : caps_) {
        for (auto& [choices, least] : of_einsum) {
            least = {least[0] * (1 - worth_finding), least[1] * (1 - worth_finding)};
        }
    }
    in_vain_.resize(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        in_vain_[e].resize(spaces_[e].templates->size());
    }
    if (costs.size() == 2 && c_.options->metrics.size() == 1 && c_.switches.scalarised_bounds) {
        scalarised_.unit = {costs[0], costs[1]};
    }
    root_bound_scalarised();
    restore_tightened();
    class_bounds_from_root_bounds();
    relax();
}

/// What an earlier part of the run has shown. Scalarised costs are counted in the costs of the
/// mapping that was known then: what was shown of them holds for the same one.
void Exploration::restore_tightened() {
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        SavedClassBounds& known = progress_[e];
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
void Exploration::note_root_bounds(std::size_t e, std::size_t i) {
    if (root_bound_by_template_.empty() || !c_.options->mapspace.partial_tiles()) {
        return;
    }
    const std::lock_guard lock(progress_lock_);
    SavedClassBounds& progress = progress_[e];
    progress.tightened.resize(progress.done.size());
    std::array<double, 6>& tightened = progress.tightened[i];
    const std::array<double, 2>& root_bound = root_bound_by_template_[e][i];
    tightened[0] = root_bound[0];
    tightened[1] = root_bound[1];
    if (!root_bound_scalarised_.empty()) {
        tightened[2] = root_bound_scalarised_[e][i];
        std::ranges::copy(in_vain_[e][i], tightened.begin() + 3);
    }
}

void Exploration::tighten_class_bounds(bool scalarised_bounds, double most_rows) {
    for (;;) {
        const auto tightens = root_bounds_to_tighten(scalarised_bounds, most_rows);
        std::vector<Job> jobs;
        for (const auto& [which, levels] : tightens) {
            jobs.push_back({which.first, which.second});
        }
        if (jobs.empty() || stopped()) {
            return;
        }
        clear_results();
        for_each_job(jobs, token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
            tighten(e, i, tightens.at({e, i}), most_rows, scratch);
            note_root_bounds(e, i);
            if (save_ && c_.recorder->checkpoint_due()) {
                save_();
            }
        });
        class_bounds_from_root_bounds();
        relax();
    }
}

void Exploration::tighten(std::size_t e, std::size_t i, const Tightening& levels, double most_rows,
                          Scratch& scratch) {
    const TemplateEntry& t = (*spaces_[e].templates)[i];
    const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *t.path, t.tmpl);
    mapspace::TileShapeProblem problem = class_bound_problem(e, i, f, scratch);
    const std::vector<model::Formula> cost = mapspace::costs(c_, f);
    const Asked asked{e, i, problem, scratch};
    const Effort effort{.most_rows = most_rows};
    for (std::size_t q = 0; q < levels.size(); ++q) {
        if (!(levels[q] > 0)) {
            continue;
        }
        const bool scalarised = q == 2;
        const std::optional<double> value =
            scalarised ? find_scalarised_below(asked, cost, levels[q], effort)
                       : find_below(asked, cost[q], levels[q], effort);
        if (scratch.result.given_up) {
            in_vain_[e][i][q] = most_rows;
            continue;
        }
        double& root_bound =
            scalarised ? root_bound_scalarised_[e][i] : root_bound_by_template_[e][i][q];
        root_bound = std::max(root_bound, value.value_or(levels[q]) * (1 - rounding) -
                                              (scalarised ? scalarised_rounding : 0.0));
        // Exact, or without any legal row: there is nothing to tighten.
        in_vain_[e][i][q] = value || std::isinf(levels[q]) ? infinity : in_vain_[e][i][q];
    }
}

/// Whether mappings with this class are among those that the bound allows.
bool Exploration::holds_bound(std::size_t e, std::size_t k, const mapspace::ChoiceTable& rest,
                              const mapspace::ChoiceTable* scalarised, double bound) const {
    const TemplateClass& own = spaces_[e].classes[k];
    const auto it = rest.rows.find(own.choices);
    double together = 0;
    if (scalarised != nullptr) {
        const auto other = scalarised->rows.find(own.choices);
        together =
            other == scalarised->rows.end() ? infinity : own.scalarised + other->second.front()[0];
    }
    return it != rest.rows.end() && std::isfinite(together) &&
           std::any_of(it->second.begin(), it->second.end(), [&](const mapspace::CostPoint& p) {
               const mapspace::CostPoint sum{own.least[0] + p[0], own.least[1] + p[1]};
               return (c_.n_objectives() == 2 ? scalarised_.least_product(sum, together)
                                              : sum[0]) <= bound * near_bound;
           });
}

std::map<std::pair<std::size_t, std::size_t>, Exploration::Tightening>
Exploration::root_bounds_to_tighten(bool scalarised_bounds, double most_rows) const {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    std::map<std::pair<std::size_t, std::size_t>, Tightening> out;
    const double least = least_value();
    for (std::size_t e = 0; e < spaces_.size() && relaxed_->valid(); ++e) {
        const std::size_t first = same(e);
        const mapspace::ChoiceTable rest = relaxed_->rest(e);
        const auto scalarised =
            relaxed_scalarised_ ? std::optional(relaxed_scalarised_->rest(e)) : std::nullopt;
        for (std::size_t k = 0; k < spaces_[e].classes.size(); ++k) {
            if (!holds_bound(e, k, rest, scalarised ? &*scalarised : nullptr, least)) {
                continue;
            }
            const TemplateClass& own = spaces_[first].classes[k];
            for (const std::uint32_t i : own.templates) {
                for (std::size_t q = scalarised_bounds ? 2 : 0; q < (scalarised_bounds ? 3 : n);
                     ++q) {
                    const bool both = q == 2;
                    if ((*spaces_[first].templates)[i].unmatched ||
                        in_vain_[first][i][q] >= most_rows) {
                        continue;
                    }
                    const double most = both ? infinity : cap(first, k, q);
                    const double class_bound = both ? own.scalarised : own.least[q];
                    const double level =
                        std::min(most, class_bound > 0 ? class_bound * rise : most);
                    const double root_bound = both ? root_bound_scalarised_[first][i]
                                                   : root_bound_by_template_[first][i][q];
                    // What a proof would come to has to be more.
                    const double slack = both ? scalarised_rounding : 0.0;
                    if (root_bound < level * (1 - 2 * rounding) - 2 * slack) {
                        out[{first, i}][q] = level;
                    }
                }
            }
        }
    }
    return out;
}

/// The class bound: the least root relaxation of its templates that are `open`, and at most
/// `most(first Einsum, class, objective)`.
template <class Most, class Open>
void Exploration::class_bounds_from(const Most& most, const Open& open) {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        const std::size_t first = same(e);
        EinsumSpace& space = spaces_[e];
        space.least.assign(n, infinity);
        for (std::size_t k = 0; k < space.classes.size(); ++k) {
            TemplateClass& own = space.classes[k];
            own.least = {};
            for (std::size_t q = 0; q < n; ++q) {
                own.least[q] = most(first, k, q);
                for (const std::uint32_t i : spaces_[first].classes[k].templates) {
                    if (open(first, i) && !(*space.templates)[i].unmatched) {
                        own.least[q] = std::min(own.least[q], root_bound_by_template_[first][i][q]);
                    }
                }
                space.least[q] = std::min(space.least[q], own.least[q]);
            }
        }
    }
}

/// Class bounds that hold though some templates were not searched: these cost their root
/// relaxation.
void Exploration::lower_unfinished_class_bounds() {
    class_bounds_from(
        [&](std::size_t e, std::size_t k, std::size_t q) { return found_[e][k][q].load(); },
        [&](std::size_t e, std::uint32_t i) { return progress_[e].done[i] == 0; });
}

/// What is not tightened above a cap; known classes have one.
double Exploration::cap(std::size_t e, std::size_t k, std::size_t q) const {
    const auto it = caps_[e].find(spaces_[e].classes[k].choices);
    return it == caps_[e].end() ? infinity : it->second[q];
}

void Exploration::class_bounds_from_root_bounds() {
    class_bounds_from([&](std::size_t e, std::size_t k, std::size_t q) { return cap(e, k, q); },
                      [](std::size_t, std::uint32_t) { return true; });
    for (std::size_t e = 0; e < spaces_.size() && scalarised_.used(); ++e) {
        const std::size_t first = same(e);
        for (std::size_t k = 0; k < spaces_[e].classes.size(); ++k) {
            double root_bound = infinity;
            for (const std::uint32_t i : spaces_[first].classes[k].templates) {
                if (!(*spaces_[e].templates)[i].unmatched) {
                    root_bound = std::min(root_bound, root_bound_scalarised_[first][i]);
                }
            }
            TemplateClass& own = spaces_[e].classes[k];
            own.scalarised = std::max(scalarised_.of(own.least), root_bound);
        }
    }
}

}  // namespace tessera::ffm
