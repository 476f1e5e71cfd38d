// Floors of partial tiles, where the least cost of a template can take longer than there is time.
// What its formulas promise is raised in steps, as far as a number of rows reaches; a floor is the
// least promise of a class. Only templates that hold the bound down are raised any further.
#include <algorithm>
#include <cmath>
#include <limits>

#include "explore.hpp"
#include "shapes.hpp"

namespace tessera::ffm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// By which factors a template's promise is raised, in turn.
constexpr double rises[] = {1.02, 1.05, 1.1, 1.2, 1.4, 1.8, 2.6, infinity};
/// How far the floors that hold the bound down are raised before the bound is looked at again, and
/// how far above the least cost of the whole their mappings may be.
constexpr double rise = 1.05, near_bound = 1.02;
/// Costs of known classes that are lower by less than this share are not looked for.
constexpr double worth_finding = 0.001;
/// Joint costs come out of products that are compared with a slack.
constexpr double joint_rounding = 1e-9;

}  // namespace

/// The least cost of a template, if it is below the level; else nothing, if it is not given up.
std::optional<double> Exploration::find_below(std::size_t e, std::size_t i,
                                              mapspace::TileShapeProblem& problem,
                                              const model::Formula& cost, double level,
                                              double most_rows, Workshop& tools) {
    problem.objectives = {cost};
    problem.incumbent = {};
    if (std::isfinite(level)) {
        problem.incumbent.quantities = {cost};
        problem.incumbent.points = {level};
    }
    run(e, i, problem, tools, false, 0, most_rows);
    const mapspace::TileShapeResult& r = tools.result;
    if (r.rows == 0 || r.given_up) {
        return std::nullopt;
    }
    return *std::min_element(r.objectives[0].begin(), r.objectives[0].end());
}

/// Which step is given up must not depend on what other threads find.
Exploration::Floor Exploration::raise_promise(std::size_t e, std::size_t i,
                                              mapspace::TileShapeProblem& problem,
                                              const model::Formula& cost,
                                              std::atomic<double>& found, double before,
                                              double& promised, Workshop& tools) {
    const double start = promised;
    for (const double factor : rises) {
        if (before * (1 - rounding) <= promised) {
            return Floor::known;
        }
        const double level = std::min(before, start > 0 ? start * factor : infinity);
        const std::optional<double> value =
            find_below(e, i, problem, cost, level, most_floor_rows_, tools);
        if (tools.result.given_up) {
            return Floor::open;
        }
        promised = value.value_or(level) * (1 - rounding);
        if (value) {
            lower(found, *value);
            return Floor::known;
        }
    }
    return std::isfinite(before) ? Floor::known : Floor::none;
}

/// The least joint cost of a template, if it is below the level; else nothing, if it is not given
/// up. With x and y in parts of the units, (x + a)(y + b) >= P shows that x + y >= 2 sqrt(P) - a -
/// b; hardly anything is lost where x + a and y + b are equal, as they are at the class's floors.
std::optional<double> Exploration::find_joint_below(mapspace::TileShapeProblem& problem,
                                                    const std::vector<model::Formula>& cost,
                                                    std::size_t e, std::size_t i, double level,
                                                    double most_rows, Workshop& tools) {
    const std::array<double, 2> offsets = joint_offsets(e, i);
    problem.objectives = cost;
    problem.incumbent = {};
    problem.incumbent.quantities = cost;
    problem.incumbent.offsets = {offsets[0], offsets[1]};
    const double half = (level + joint_.of(offsets)) / 2;
    problem.incumbent.best_product = half * half * joint_.unit[0] * joint_.unit[1];
    run(e, i, problem, tools, false, 0, most_rows);
    const mapspace::TileShapeResult& r = tools.result;
    std::optional<double> least;
    for (std::size_t row = 0; row < r.rows && !r.given_up; ++row) {
        const double own = joint_.of({r.objectives[0][row], r.objectives[1][row]});
        least = own < level ? std::min(own, least.value_or(own)) : least;
    }
    return least;
}

std::array<double, 2> Exploration::joint_offsets(std::size_t e, std::size_t i) const {
    std::array<double, 2> out{};
    for (std::size_t q = 0; q < 2; ++q) {
        out[q] = std::max(0.0, joint_.unit[q] - spaces_[e].classes[class_of(e, i)].least[q]);
    }
    return out;
}

/// What the formulas promise of the joint cost.
void Exploration::promise_joint() {
    promised_joint_.resize(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        promised_joint_[e].assign(spaces_[e].templates->size(), 0.0);
    }
    if (!joint_.used() || !c_.switches.tiles.convex) {
        return;
    }
    for_each_template(token(), [&](std::size_t e, std::size_t i, Workshop& tools) {
        const TemplateEntry& t = (*spaces_[e].templates)[i];
        const TemplateClass& own = spaces_[e].classes[class_of(e, i)];
        if (t.alone || !std::isfinite(own.least[0] + own.least[1])) {
            return;
        }
        const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *t.path, t.tmpl);
        const std::vector<model::Formula> cost = costs(c_, f);
        const mapspace::TileShapeProblem problem = problem_of(e, i, f, tools);
        const std::array<double, 2> offsets = joint_offsets(e, i);
        const double product = tools.explorer.convex_bound(problem, cost, offsets, infinity);
        promised_joint_[e][i] = 2 * std::sqrt(product / (joint_.unit[0] * joint_.unit[1])) -
                                joint_.of(offsets) - joint_rounding;
    });
}

void Exploration::start_raising(const std::vector<KnownFloors>& known,
                                const std::vector<double>& costs) {
    caps_ = known;
    for (KnownFloors& of_einsum : caps_) {
        for (auto& [choices, least] : of_einsum) {
            least = {least[0] * (1 - worth_finding), least[1] * (1 - worth_finding)};
        }
    }
    in_vain_.resize(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        in_vain_[e].resize(spaces_[e].templates->size());
    }
    if (costs.size() == 2 && c_.options->metrics.size() == 1 && c_.switches.joint_costs) {
        joint_.unit = {costs[0], costs[1]};
    }
    promise_joint();
    restore_raised();
    floors_from_promises();
    relax();
}

/// What an earlier part of the run has shown. Joint costs are counted in the costs of the mapping
/// that was known then: what was shown of them holds for the same one.
void Exploration::restore_raised() {
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        SavedFloors& known = progress_[e];
        const bool same_unit = known.joint_unit == joint_.unit;
        known.joint_unit = joint_.unit;
        for (std::size_t i = 0; i < known.raised.size(); ++i) {
            std::array<double, 6>& raised = known.raised[i];
            in_vain_[e][i] = {raised[3], raised[4], same_unit ? raised[5] : 0.0};
            if (same_unit) {
                promised_joint_[e][i] = std::max(promised_joint_[e][i], raised[2]);
            } else {
                raised[2] = raised[5] = 0;
            }
        }
    }
}

/// What is known by now of the costs of a template, for a run that goes on from there.
void Exploration::note_promises(std::size_t e, std::size_t i) {
    if (promised_by_template_.empty() || !c_.options->mapspace.partial_tiles()) {
        return;
    }
    const std::lock_guard lock(progress_lock_);
    SavedFloors& progress = progress_[e];
    progress.raised.resize(progress.done.size());
    std::array<double, 6>& raised = progress.raised[i];
    const std::array<double, 2>& promised = promised_by_template_[e][i];
    raised[0] = promised[0];
    raised[1] = promised[1];
    if (!promised_joint_.empty()) {
        raised[2] = promised_joint_[e][i];
        std::ranges::copy(in_vain_[e][i], raised.begin() + 3);
    }
}

void Exploration::raise_floors(bool joint_costs, double most_rows) {
    for (;;) {
        const auto raises = promises_to_raise(joint_costs, most_rows);
        std::vector<Job> jobs;
        for (const auto& [which, levels] : raises) {
            jobs.push_back({which.first, which.second});
        }
        if (jobs.empty() || stopped()) {
            return;
        }
        clear_results();
        for_each_job(jobs, token(), [&](std::size_t e, std::size_t i, Workshop& tools) {
            raise(e, i, raises.at({e, i}), most_rows, tools);
            note_promises(e, i);
            if (save_ && c_.recorder->checkpoint_due()) {
                save_();
            }
        });
        floors_from_promises();
        relax();
    }
}

void Exploration::raise(std::size_t e, std::size_t i, const Raise& levels, double most_rows,
                        Workshop& tools) {
    const TemplateEntry& t = (*spaces_[e].templates)[i];
    const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *t.path, t.tmpl);
    mapspace::TileShapeProblem problem = floor_problem(e, i, f, tools);
    const std::vector<model::Formula> cost = costs(c_, f);
    for (std::size_t q = 0; q < levels.size(); ++q) {
        if (!(levels[q] > 0)) {
            continue;
        }
        const bool joint = q == 2;
        const std::optional<double> value =
            joint ? find_joint_below(problem, cost, e, i, levels[q], most_rows, tools)
                  : find_below(e, i, problem, cost[q], levels[q], most_rows, tools);
        if (tools.result.given_up) {
            in_vain_[e][i][q] = most_rows;
            continue;
        }
        double& promised = joint ? promised_joint_[e][i] : promised_by_template_[e][i][q];
        promised = std::max(
            promised, value.value_or(levels[q]) * (1 - rounding) - (joint ? joint_rounding : 0.0));
        // Exact, or without any legal row: there is nothing to raise.
        in_vain_[e][i][q] = value || std::isinf(levels[q]) ? infinity : in_vain_[e][i][q];
    }
}

/// Whether mappings with this class are among those that the bound allows.
bool Exploration::holds_bound(std::size_t e, std::size_t k, const mapspace::ChoiceTable& rest,
                              const mapspace::ChoiceTable* joint, double bound) const {
    const TemplateClass& own = spaces_[e].classes[k];
    const auto it = rest.rows.find(own.choices);
    double together = 0;
    if (joint != nullptr) {
        const auto other = joint->rows.find(own.choices);
        together = other == joint->rows.end() ? infinity : own.joint + other->second.front()[0];
    }
    return it != rest.rows.end() && std::isfinite(together) &&
           std::any_of(it->second.begin(), it->second.end(), [&](const mapspace::CostPoint& p) {
               const mapspace::CostPoint sum{own.least[0] + p[0], own.least[1] + p[1]};
               return (c_.n_objectives() == 2 ? joint_.least_product(sum, together) : sum[0]) <=
                      bound * near_bound;
           });
}

std::map<std::pair<std::size_t, std::size_t>, Exploration::Raise> Exploration::promises_to_raise(
    bool joint_costs, double most_rows) const {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    std::map<std::pair<std::size_t, std::size_t>, Raise> out;
    const double least = least_value();
    for (std::size_t e = 0; e < spaces_.size() && relaxed_->valid(); ++e) {
        const std::size_t first = same(e);
        const mapspace::ChoiceTable rest = relaxed_->rest(e);
        const auto joint = relaxed_joint_ ? std::optional(relaxed_joint_->rest(e)) : std::nullopt;
        for (std::size_t k = 0; k < spaces_[e].classes.size(); ++k) {
            if (!holds_bound(e, k, rest, joint ? &*joint : nullptr, least)) {
                continue;
            }
            const TemplateClass& own = spaces_[first].classes[k];
            for (const std::uint32_t i : own.templates) {
                for (std::size_t q = joint_costs ? 2 : 0; q < (joint_costs ? 3 : n); ++q) {
                    const bool both = q == 2;
                    if ((*spaces_[first].templates)[i].alone ||
                        in_vain_[first][i][q] >= most_rows) {
                        continue;
                    }
                    const double most = both ? infinity : cap(first, k, q);
                    const double floor = both ? own.joint : own.least[q];
                    const double level = std::min(most, floor > 0 ? floor * rise : most);
                    const double promised =
                        both ? promised_joint_[first][i] : promised_by_template_[first][i][q];
                    // What a proof would come to has to be more.
                    const double slack = both ? joint_rounding : 0.0;
                    if (promised < level * (1 - 2 * rounding) - 2 * slack) {
                        out[{first, i}][q] = level;
                    }
                }
            }
        }
    }
    return out;
}

/// The floor of a class: the least promise of its templates that are `open`, and at most
/// `most(first Einsum, class, objective)`.
template <class Most, class Open>
void Exploration::floors_from(const Most& most, const Open& open) {
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
                    if (open(first, i) && !(*space.templates)[i].alone) {
                        own.least[q] = std::min(own.least[q], promised_by_template_[first][i][q]);
                    }
                }
                space.least[q] = std::min(space.least[q], own.least[q]);
            }
        }
    }
}

/// Floors that hold though some templates were not searched: these cost what they promise.
void Exploration::lower_unfinished_floors() {
    floors_from([&](std::size_t e, std::size_t k, std::size_t q) { return found_[e][k][q].load(); },
                [&](std::size_t e, std::uint32_t i) { return progress_[e].done[i] == 0; });
}

/// What is not raised above a cap; known classes have one.
double Exploration::cap(std::size_t e, std::size_t k, std::size_t q) const {
    const auto it = caps_[e].find(spaces_[e].classes[k].choices);
    return it == caps_[e].end() ? infinity : it->second[q];
}

void Exploration::floors_from_promises() {
    floors_from([&](std::size_t e, std::size_t k, std::size_t q) { return cap(e, k, q); },
                [](std::size_t, std::uint32_t) { return true; });
    for (std::size_t e = 0; e < spaces_.size() && joint_.used(); ++e) {
        const std::size_t first = same(e);
        for (std::size_t k = 0; k < spaces_[e].classes.size(); ++k) {
            double promised = infinity;
            for (const std::uint32_t i : spaces_[first].classes[k].templates) {
                if (!(*spaces_[e].templates)[i].alone) {
                    promised = std::min(promised, promised_joint_[first][i]);
                }
            }
            TemplateClass& own = spaces_[e].classes[k];
            own.joint = std::max(joint_.of(own.least), promised);
        }
    }
}

}  // namespace tessera::ffm
