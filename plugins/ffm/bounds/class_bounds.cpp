// Least costs of classes of templates, and what they say about whole mappings.
//   class        templates that back the shared tensors in the same memories
//   class bound  per class and objective: branch and bound over the tile shapes of its templates,
//                one objective at a time, first for values close to their root relaxations
//   relaxation   every shared tensor lies in one memory for all its users: RelaxedJoin over classes
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "../explore.hpp"
#include "../heuristics/shapes.hpp"
#include "mapspace/template_shapes.hpp"

namespace tessera::ffm {
namespace {

using model::Formula;

constexpr double infinity = std::numeric_limits<double>::infinity();
/// How far above a formula's bound its minimum is looked for, in turn.
constexpr double class_bound_excess[] = {1e-9, 0.25, infinity};
/// A search at the bound that takes more rows than this gives way to a beam of so many partial
/// rows.
constexpr double rows_before_beam = 50000;
constexpr std::size_t class_bound_beam = 128;
constexpr std::size_t max_choices = 20000;

/// Local indices of the tensors that other Einsums may access.
std::vector<int> shared_tensors(const workload::EinsumView& e) {
    std::vector<int> out;
    for (std::size_t t = 0; t < e.tensors.size(); ++t) {
        if (e.tensors[t].fusable) {
            out.push_back(static_cast<int>(t));
        }
    }
    std::sort(out.begin(), out.end(), [&](int a, int b) {
        return e.tensors[static_cast<std::size_t>(a)].tensor <
               e.tensors[static_cast<std::size_t>(b)].tensor;
    });
    return out;
}

/// The memory that backs each of the tensors.
mapspace::TensorChoices choices_of(const TemplateEntry& t, const std::vector<int>& tensors,
                                   const mapspace::TabulateContext& table) {
    mapspace::TensorChoices out(tensors.size(), -1);
    for (const mapping::PmappingNode& n : t.tmpl.nodes) {
        for (std::size_t i = 0; n.backing && i < tensors.size(); ++i) {
            if (n.tensor == tensors[i]) {
                out[i] = choice_of(table.component_of_level[static_cast<std::size_t>(n.level)],
                                   n.persistent);
            }
        }
    }
    return out;
}

}  // namespace

void Exploration::make_classes() {
    class_of_.resize(spaces_.size());
    least_.resize(spaces_.size());
    found_.resize(spaces_.size());
    progress_.resize(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        EinsumSpace& space = spaces_[e];
        space.shared = shared_tensors(space.paths.front()->einsum);
        if (!explored(e)) {
            // The same classes; the order of the shared tensors may differ.
            for (const TemplateClass& c : spaces_[same(e)].classes) {
                const TemplateEntry& t = (*space.templates)[c.templates.front()];
                space.classes.push_back(
                    {choices_of(t, space.shared, table(e, t)), {}, {infinity, infinity}});
            }
            continue;
        }
        std::map<mapspace::TensorChoices, std::size_t> known;
        for (std::size_t i = 0; i < space.templates->size(); ++i) {
            const TemplateEntry& t = (*space.templates)[i];
            const mapspace::TensorChoices key = choices_of(t, space.shared, table(e, t));
            const auto [it, fresh] = known.try_emplace(key, space.classes.size());
            if (fresh) {
                space.classes.push_back({key, {}, {infinity, infinity}});
            }
            space.classes[it->second].templates.push_back(static_cast<std::uint32_t>(i));
            class_of_[e].push_back(static_cast<std::uint32_t>(it->second));
        }
        least_[e].assign(space.templates->size(), {0.0, 0.0});
        progress_[e].einsum = e;
        progress_[e].done.assign(space.templates->size(), 0);
        found_[e] = std::vector<std::array<std::atomic<double>, 2>>(space.classes.size());
        for (auto& f : found_[e]) {
            f[0] = f[1] = infinity;
        }
    }
}

/// Whether a beam finds a row at the root relaxation. Worth trying where a search for rows there
/// takes long: many partial rows come to nothing more, and one of them is enough.
bool Exploration::reaches_root_bound(const Asked& asked, const Formula& cost, double level,
                                     std::atomic<double>& found) {
    const std::optional<double> any = find_below(asked, cost, level, {.beam = class_bound_beam});
    if (any) {
        lower(found, *any);
    }
    return any.has_value();
}

/// Minima do not depend on the order in which threads find them, so bounding by them is
/// deterministic.
Exploration::ClassBound Exploration::least_of_cost(const Asked& asked, const Formula& cost,
                                                   std::atomic<double>& found, double root_bound) {
    for (const double excess : class_bound_excess) {
        const double known = found.load();
        if (known * (1 - rounding) <= root_bound) {
            return ClassBound::known;
        }
        // With a finite one known, that is the level.
        const double level = std::isinf(excess) || !(root_bound > 0) || std::isfinite(known)
                                 ? infinity
                                 : root_bound * (1 + excess);
        const double below = std::min(known, level);
        const bool at_root_bound = excess == class_bound_excess[0] && below == level;
        std::optional<double> value = find_below(
            asked, cost, below, {.most_rows = at_root_bound ? rows_before_beam : infinity});
        if (asked.scratch.result.given_up) {
            if (reaches_root_bound(asked, cost, below, found)) {
                return ClassBound::known;
            }
            value = find_below(asked, cost, below, {});
        }
        if (value) {
            lower(found, *value);
            return ClassBound::known;
        }
        if (known <= level) {
            return std::isfinite(known) ? ClassBound::known : ClassBound::none;
        }
    }
    return ClassBound::none;
}

bool Exploration::root_bounds() {
    std::vector<std::vector<std::array<double, 2>>> of_template(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        of_template[e].resize(spaces_[e].templates->size());
    }
    for_each_template(token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
        const TemplateEntry& t = (*spaces_[e].templates)[i];
        const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *t.path, t.tmpl);
        const mapspace::TileShapeProblem problem = problem_of(e, i, f, scratch);
        const std::vector<Formula> cost = mapspace::costs(c_, f);
        for (std::size_t q = 0; q < cost.size(); ++q) {
            of_template[e][i][q] = std::max(0.0, scratch.explorer.lower_bound(problem, cost[q]));
            const double convex =
                c_.switches.tiles.convex && c_.options->mapspace.partial_tiles()
                    ? scratch.explorer.convex_bound(problem, {&cost[q], 1}, {}, infinity)
                    : 0.0;
            of_template[e][i][q] = std::max(of_template[e][i][q], convex);
        }
    });
    if (stopped()) {
        return false;
    }
    root_bound_.resize(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        std::array<double, 2> least{infinity, infinity};
        for (const std::array<double, 2>& one : of_template[same(e)]) {
            least = {std::min(least[0], one[0]), std::min(least[1], one[1])};
        }
        root_bound_[e] = least;
    }
    root_bound_by_template_ = std::move(of_template);
    return true;
}

/// Of least costs alone: no fused tile shape has to be kept separate.
mapspace::TileShapeProblem Exploration::class_bound_problem(std::size_t e, std::size_t i,
                                                            const model::TemplateFormulas& f,
                                                            Scratch& scratch) const {
    mapspace::TileShapeProblem problem = problem_of(e, i, f, scratch);
    for (mapspace::TileShapeSymbol& s : problem.symbols) {
        s.fused = false;
    }
    return problem;
}

/// False if the search was given up.
bool Exploration::least_of(std::size_t e, std::size_t i, Scratch& scratch) {
    const TemplateEntry& t = (*spaces_[e].templates)[i];
    Result& out = results_[e][i];
    if (t.unmatched) {
        out.space = scratch.explorer.space(mapspace::tile_shape_symbols(*t.path, t.tmpl));
        return true;
    }
    const model::TemplateFormulas f = c_.model->formulate(*c_.problem, *t.path, t.tmpl);
    mapspace::TileShapeProblem problem = class_bound_problem(e, i, f, scratch);
    const std::vector<Formula> cost = mapspace::costs(c_, f);
    out.space = scratch.explorer.space(problem.symbols);
    const Asked asked{e, i, problem, scratch};
    for (std::size_t k = 0; k < cost.size(); ++k) {
        const std::size_t c = class_of(e, i);
        std::atomic<double>& found = found_[e][c][k];
        double& least = least_[e][i][k];
        ClassBound class_bound = ClassBound::known;
        if (std::isfinite(most_class_bound_rows_)) {
            const double before = class_bounds_before_[e].at(spaces_[e].classes[c].choices)[k];
            double& root_bound = root_bound_by_template_[e][i][k];
            class_bound = tighten_root_bound(asked, cost[k], found, before, root_bound);
            least = root_bound;
        } else {
            least = root_bound_by_template_.empty() ? scratch.explorer.lower_bound(problem, cost[k])
                                                    : root_bound_by_template_[e][i][k];
            class_bound = least_of_cost(asked, cost[k], found, least);
        }
        if (class_bound == ClassBound::open) {
            return false;
        }
        if (class_bound == ClassBound::none) {
            out.needs = mapspace::least_needs(*t.path, f);
            return true;
        }
    }
    return true;
}

void Exploration::note_class_bound(std::size_t e, std::size_t i) {
    const std::lock_guard lock(progress_lock_);
    SavedClassBounds& progress = progress_[e];
    const std::string& size = results_[e][i].space;
    progress.counted = progress.counted && !size.empty();
    progress.size = add_decimal(progress.size, size);
    progress.evaluated += results_[e][i].evaluated;
    progress.done[i] = 1;
}

std::vector<SavedClassBounds> Exploration::progress() const {
    const std::lock_guard lock(progress_lock_);
    std::vector<SavedClassBounds> out;
    for (std::size_t e = 0; e < progress_.size(); ++e) {
        // An Einsum without any legal row yet is begun again: what its memories lack is not saved.
        const bool any = std::any_of(found_[e].begin(), found_[e].end(),
                                     [](const auto& f) { return std::isfinite(f[0].load()); });
        if (explored(e) && any) {
            out.push_back(progress_[e]);
            for (const auto& f : found_[e]) {
                out.back().least.push_back({f[0].load(), f[1].load()});
            }
        }
    }
    return out;
}

void Exploration::restore(const std::vector<SavedClassBounds>& known) {
    for (const SavedClassBounds& k : known) {
        if (k.einsum >= progress_.size() || !explored(k.einsum) ||
            k.done.size() != progress_[k.einsum].done.size() ||
            k.least.size() != found_[k.einsum].size()) {
            throw UserError("the saved state of mapper 'ffm' belongs to another problem");
        }
        if (!k.tightened.empty() && k.tightened.size() != k.done.size()) {
            throw UserError("the saved state of mapper 'ffm' belongs to another problem");
        }
        progress_[k.einsum] = k;
        for (std::size_t i = 0; i < k.tightened.size() && !root_bound_by_template_.empty(); ++i) {
            std::array<double, 2>& root_bound = root_bound_by_template_[k.einsum][i];
            root_bound = {std::max(root_bound[0], k.tightened[i][0]),
                          std::max(root_bound[1], k.tightened[i][1])};
        }
        evaluated_ += static_cast<std::uint64_t>(k.evaluated);
        progress_[k.einsum].least.clear();
        for (std::size_t i = 0; i < k.least.size(); ++i) {
            for (std::size_t q = 0; q < 2; ++q) {
                std::atomic<double>& found = found_[k.einsum][i][q];
                found = std::min(found.load(), k.least[i][q]);
            }
        }
    }
}

std::vector<KnownClassBounds> Exploration::known_class_bounds() const {
    std::vector<KnownClassBounds> out(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        for (std::size_t k = 0; explored(e) && k < spaces_[e].classes.size(); ++k) {
            out[e][spaces_[e].classes[k].choices] = {found_[e][k][0].load(),
                                                     found_[e][k][1].load()};
        }
    }
    return out;
}

void Exploration::start_from(const std::vector<KnownClassBounds>& known, double worth_finding) {
    for (std::size_t e = 0; e < spaces_.size() && e < known.size(); ++e) {
        for (std::size_t k = 0; explored(e) && k < spaces_[e].classes.size(); ++k) {
            const auto it = known[e].find(spaces_[e].classes[k].choices);
            for (std::size_t q = 0; it != known[e].end() && q < 2; ++q) {
                std::atomic<double>& found = found_[e][k][q];
                found = std::min(found.load(), it->second[q] * (1 - worth_finding));
            }
        }
    }
}

/// Size of the space, least costs, and what the memories lack where no template has a legal row.
void Exploration::collect_class_bounds() {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        EinsumSpace& space = spaces_[e];
        if (!explored(e)) {
            const EinsumSpace& symmetry = spaces_[same(e)];
            space.least = symmetry.least;
            space.needs = symmetry.needs;
            space.size = symmetry.size;
            for (std::size_t k = 0; k < space.classes.size(); ++k) {
                space.classes[k].least = symmetry.classes[k].least;
            }
            continue;
        }
        std::vector<double> least(n, infinity);
        for (std::size_t k = 0; k < space.classes.size(); ++k) {
            for (std::size_t q = 0; q < n; ++q) {
                space.classes[k].least[q] = found_[e][k][q].load();
                least[q] = std::min(least[q], space.classes[k].least[q]);
            }
            if (n == 1) {
                space.classes[k].least[1] = 0;
            }
        }
        if (std::isfinite(least[0])) {
            space.least = least;
        }
        std::map<std::string, mapspace::CapacityNeed> needs;
        std::size_t starved = 0;
        for (std::size_t i = 0; i < results_[e].size(); ++i) {
            const Result& r = results_[e][i];
            for (const mapspace::CapacityNeed& need : r.needs) {
                const auto [it, fresh] = needs.try_emplace(need.memory, need);
                if (!fresh && need.needed_bits < it->second.needed_bits) {
                    it->second = need;
                }
            }
            starved += r.needs.empty() && !(*space.templates)[i].unmatched ? 0 : 1;
        }
        space.evaluated_in_class_bounds = static_cast<std::uint64_t>(progress_[e].evaluated);
        space.evaluated += space.evaluated_in_class_bounds;
        const std::vector<char>& done = progress_[e].done;
        const bool counted =
            progress_[e].counted && std::find(done.begin(), done.end(), 0) == done.end();
        space.size = counted ? progress_[e].size : "";
        if (space.least.empty() && starved == results_[e].size()) {
            for (const auto& [name, need] : needs) {
                space.needs.push_back(need);
            }
        }
    }
}

void Exploration::relax() {
    std::vector<mapspace::ChoiceTable> einsums, scalarised;
    for (const EinsumSpace& space : spaces_) {
        mapspace::ChoiceTable table, together;
        for (const int t : space.shared) {
            table.tensors.push_back(
                space.paths.front()->einsum.tensors[static_cast<std::size_t>(t)].tensor);
        }
        together.tensors = table.tensors;
        for (const TemplateClass& c : space.classes) {
            if (std::isfinite(c.least[0])) {
                table.add(c.choices, c.least);
                together.add(c.choices, {c.scalarised, 0.0});
            }
        }
        einsums.push_back(std::move(table));
        scalarised.push_back(std::move(together));
    }
    const std::size_t n = c_.problem->workload->tensors.size();
    relaxed_.emplace(std::move(einsums), n, max_choices);
    relaxed_scalarised_.reset();
    if (scalarised_.used()) {
        relaxed_scalarised_.emplace(std::move(scalarised), n, max_choices);
        if (!relaxed_scalarised_->valid()) {
            relaxed_scalarised_.reset();
        }
    }
}

double Exploration::least_value() const {
    double least = infinity;
    const bool scalarised =
        relaxed_scalarised_ && c_.switches.class_bounds && !relaxed_scalarised_->total().empty();
    for (const mapspace::CostPoint& p : bound()) {
        const double value =
            scalarised ? scalarised_.least_product(p, relaxed_scalarised_->total().front()[0])
                       : p[0] * p[1];
        least = std::min(least, c_.n_objectives() == 2 ? value : p[0]);
    }
    return least;
}

mapspace::CostFront Exploration::bound() const {
    if (relaxed_ && relaxed_->valid() && c_.switches.class_bounds) {
        return relaxed_->total();
    }
    std::array<double, 2> sum{};
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(c_.n_objectives()); ++k) {
            // Without the relaxation the class bounds were not finished.
            sum[k] += relaxed_              ? spaces_[e].least[k]
                      : root_bound_.empty() ? 0.0
                                            : root_bound_[e][k];
        }
    }
    return {sum};
}

/// Costs of all other Einsums by class: for equal Einsums those of each of them.
void Exploration::find_completions() {
    if (!completions_.empty()) {
        return;
    }
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    const std::array<double, 2> all = [&] {
        std::array<double, 2> sum{};
        for (const EinsumSpace& s : spaces_) {
            for (std::size_t k = 0; k < n; ++k) {
                sum[k] += s.least[k];
            }
        }
        return sum;
    }();
    completions_.resize(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        const std::size_t first = same(e);
        completions_[first].resize(spaces_[first].classes.size());
        const bool use = relaxed_->valid() && c_.switches.class_bounds;
        const auto rest = use ? std::optional(relaxed_->rest(e)) : std::nullopt;
        const auto scalarised =
            use && relaxed_scalarised_ ? std::optional(relaxed_scalarised_->rest(e)) : std::nullopt;
        for (std::size_t k = 0; k < spaces_[e].classes.size(); ++k) {
            mapspace::CostFront front;
            if (!rest) {
                front.push_back({std::max(0.0, all[0] - spaces_[e].least[0]),
                                 n == 2 ? std::max(0.0, all[1] - spaces_[e].least[1]) : 0.0});
            } else if (const auto it = rest->rows.find(spaces_[e].classes[k].choices);
                       it != rest->rows.end()) {
                front = it->second;
                if (scalarised) {
                    front = scalarised_.cut(front, scalarised->rows.at(it->first).front()[0]);
                }
            }
            for (const std::array<double, 2>& p : front) {
                completions_[first][k].insert(completions_[first][k].end(), p.begin(),
                                              p.begin() + static_cast<std::ptrdiff_t>(n));
            }
        }
    }
}

}  // namespace tessera::ffm
