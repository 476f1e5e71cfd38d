// First mappings from a few rows of every class, and the round of all class bounds.
#include "explore.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::ffm {
namespace {

using model::Formula;

/// How far above its class bounds a first mapping's pmappings may be, tried in turn; and how many
/// partial rows of a template are kept on the way to them.
constexpr std::size_t simple_beam = 1024;
constexpr double simple_excess[] = {0.05, 0.5, 4.0, std::numeric_limits<double>::infinity()};

bool has_fused_loops(const mapspace::Template& tmpl) {
    return std::any_of(tmpl.nodes.begin(), tmpl.nodes.begin() + tmpl.n_fused_nodes,
                       [](const mapping::PmappingNode& n) { return n.is_loop(); });
}

/// By distinct Einsum and template.
KeptRows::Symbols symbols_of(const std::vector<EinsumSpace>& spaces) {
    KeptRows::Symbols out(spaces.size());
    for (std::size_t e = 0; e < spaces.size(); ++e) {
        for (std::size_t i = 0; spaces[e].same == e && i < spaces[e].templates->size(); ++i) {
            out[e].push_back((*spaces[e].templates)[i].tmpl.symbols.size());
        }
    }
    return out;
}

}  // namespace

Exploration::Exploration(const ExploreContext& context, std::vector<EinsumSpace>& spaces)
    : TemplateExplorer(context, spaces),
      kept_(symbols_of(spaces), static_cast<std::size_t>(context.n_objectives())) {
    make_classes();
}

Exploration::~Exploration() = default;

bool Exploration::class_bounds(const std::function<void()>& save, double most_rows) {
    most_class_bound_rows_ = most_rows;
    class_bounds_before_ = known_class_bounds();
    std::atomic<bool> open = false;
    for_each_template(token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
        if (progress_[e].done[i] != 0) {
            return;
        }
        const bool known = least_of(e, i, scratch);
        note_root_bounds(e, i);
        if (known) {
            note_class_bound(e, i);
        } else {
            open = true;
        }
        if (c_.recorder->checkpoint_due()) {
            save();
        }
    });
    collect_class_bounds();
    if ((stopped() || open) && !root_bound_by_template_.empty()) {
        lower_unfinished_class_bounds();
    }
    if (stopped()) {
        if (!root_bound_by_template_.empty()) {
            relax();
        }
        return false;
    }
    const base::StopScope scope(token());
    try {
        relax();
    } catch (const base::Stopped&) {
        return false;
    }
    return true;
}

bool Exploration::nothing_shared() const {
    return std::all_of(spaces_.begin(), spaces_.end(), [](const EinsumSpace& s) {
        return s.shared.empty() && s.classes.size() == 1;
    });
}

void Exploration::note_costs(const std::vector<std::vector<double>>& of_einsums) {
    for (std::size_t e = 0; e < of_einsums.size(); ++e) {
        for (std::size_t q = 0; explored(e) && q < of_einsums[e].size(); ++q) {
            lower(found_[e][0][q], of_einsums[e][q]);
        }
    }
}

void Exploration::first(std::chrono::steady_clock::time_point until) {
    std::vector<std::vector<char>> done(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        done[e].assign(spaces_[e].classes.size(), 0);
    }
    // One job per Einsum, so that the first template of a class that has rows is always the same.
    for_each_template({c_.options->stop, until},
                      [&](std::size_t e, std::size_t i, Scratch& scratch) {
                          for (std::size_t t = 0; i == 0 && t < spaces_[e].templates->size(); ++t) {
                              char& found = done[e][class_of(e, t)];
                              if (!found && !(*spaces_[e].templates)[t].unmatched &&
                                  !has_fused_loops((*spaces_[e].templates)[t].tmpl)) {
                                  scratch.pool.clear();
                                  rows_of(e, t, {}, scratch, {.first_rows = true});
                                  found = results_[e][t].groups.empty() ? 0 : 1;
                              }
                          }
                      });
    share_groups();
}

void Exploration::simple() {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    std::vector<std::vector<Result>> kept(spaces_.size());
    std::vector<std::vector<char>> done(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        done[e].assign(spaces_[e].classes.size(), 0);
        for (std::size_t k = 0; k < done[e].size(); ++k) {
            done[e][k] = std::isfinite(spaces_[e].classes[k].least[0]) ? 0 : 1;
        }
        kept[e].resize(explored(e) ? spaces_[e].templates->size() : 0);
    }
    for (const double excess : simple_excess) {
        for_each_template(token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
            const TemplateClass& own = spaces_[e].classes[class_of(e, i)];
            const bool all = std::isinf(excess);
            if (done[e][class_of(e, i)] || (*spaces_[e].templates)[i].unmatched ||
                has_fused_loops((*spaces_[e].templates)[i].tmpl) ||
                (all && std::any_of(own.templates.begin(), own.templates.end(), [&](std::size_t t) {
                     return has_fused_loops((*spaces_[e].templates)[t].tmpl);
                 }))) {
                return;
            }
            mapspace::IncumbentBound bound;
            if (!all && n == 2) {
                bound.best_product = own.least[0] * own.least[1] * (1 + excess);
            } else if (!all) {
                bound.points = {own.least[0] * (1 + excess)};
            }
            rows_of(e, i, bound, scratch, {.beam = simple_beam});
        });
        for (std::size_t e = 0; e < spaces_.size(); ++e) {
            for (std::size_t i = 0; i < results_[e].size(); ++i) {
                if (!results_[e][i].groups.empty()) {
                    done[e][class_of(e, i)] = 1;
                    kept[e][i].groups = std::move(results_[e][i].groups);
                }
                kept[e][i].evaluated += results_[e][i].evaluated;
            }
        }
    }
    results_ = std::move(kept);
    share_groups();
}

bool Exploration::rows_of(std::size_t e, std::size_t index, const mapspace::IncumbentBound& bound,
                          Scratch& scratch, const Effort& effort) {
    TemplateEntry& t = (*spaces_[e].templates)[index];
    const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *t.path, t.tmpl);
    const std::vector<Formula> cost = mapspace::costs(c_, f);
    mapspace::TileShapeProblem problem = problem_of(e, index, f, scratch);
    problem.incumbent = bound;
    problem.incumbent.quantities = cost;
    if (!allow(e, index, problem)) {
        return false;
    }
    run({e, index, problem, scratch}, effort);
    tabulate_rows(e, index, f, scratch);
    return true;
}

}  // namespace tessera::ffm
