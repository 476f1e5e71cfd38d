#include "class_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "mapspace/template_shapes.hpp"
#include "tessera/base/error.hpp"

namespace tessera::ffm {
namespace {

using model::Formula;

constexpr double infinity = std::numeric_limits<double>::infinity();
/// How far above a formula's bound its minimum is looked for, in turn.
constexpr double class_bound_excess[] = {1e-9, 0.25, infinity};
/// A search at the bound that takes more rows than this gives way to a beam of so many partial
/// rows.
constexpr double rows_before_beam = 50000;
/// Of one template, after which a pause may be due.
constexpr double rows_before_pause = 2e5, more_rows_after_pause = 4;
constexpr std::size_t class_bound_beam = 128;
/// Templates of which the convex bound, a third of a millisecond each, is asked for.
constexpr std::size_t most_convex_bounds = 8000;
/// By which factors a template's root bound is tightened, in turn.
constexpr double rises[] = {1.02, 1.05, 1.1, 1.2, 1.4, 1.8, 2.6, infinity};

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

void lower(std::atomic<double>& to, double value) {
    double now = to.load();
    while (value < now && !to.compare_exchange_weak(now, value)) {
    }
}

}  // namespace

mapspace::TileShapeProblem least_cost_problem(const TemplateExplorer& explorer, std::size_t e,
                                              std::size_t i, const model::TemplateFormulas& f,
                                              TemplateExplorer::Scratch& scratch) {
    mapspace::TileShapeProblem problem = explorer.problem_of(e, i, f, scratch);
    for (mapspace::TileShapeSymbol& s : problem.symbols) {
        s.fused = false;
    }
    return problem;
}

ClassBounds::ClassBounds(TemplateExplorer& explorer)
    : x_(explorer), c_(explorer.context()), spaces_(explorer.spaces()) {
    make_classes();
}

void ClassBounds::make_classes() {
    least_.resize(spaces_.size());
    needs_.resize(spaces_.size());
    found_.resize(spaces_.size());
    progress_.resize(spaces_.size());
    limited_.resize(spaces_.size());
    most_.resize(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        EinsumSpace& space = spaces_[e];
        space.shared = shared_tensors(space.paths.front()->einsum);
        if (!x_.explored(e)) {
            // The same classes; the order of the shared tensors may differ.
            for (const TemplateClass& c : spaces_[space.same].classes) {
                const TemplateEntry& t = (*space.templates)[c.templates.front()];
                space.classes.push_back(
                    {choices_of(t, space.shared, x_.table(e, t)), {}, {infinity, infinity}});
            }
            continue;
        }
        std::map<mapspace::TensorChoices, std::size_t> known;
        for (std::size_t i = 0; i < space.templates->size(); ++i) {
            TemplateEntry& t = (*space.templates)[i];
            const mapspace::TensorChoices key = choices_of(t, space.shared, x_.table(e, t));
            const auto [it, fresh] = known.try_emplace(key, space.classes.size());
            if (fresh) {
                space.classes.push_back({key, {}, {infinity, infinity}});
            }
            space.classes[it->second].templates.push_back(static_cast<std::uint32_t>(i));
            t.of_class = static_cast<std::uint32_t>(it->second);
        }
        least_[e].assign(space.templates->size(), {0.0, 0.0});
        needs_[e].resize(space.templates->size());
        progress_[e].einsum = e;
        progress_[e].done.assign(space.templates->size(), 0);
        limited_[e].assign(space.templates->size(), 0);
        most_[e].assign(space.classes.size(), {infinity, infinity});
        found_[e] = std::vector<std::array<std::atomic<double>, 2>>(space.classes.size());
        for (auto& f : found_[e]) {
            f[0] = f[1] = infinity;
        }
    }
}

/// Whether a beam finds a row at the root relaxation. Worth trying where a search for rows there
/// takes long: many partial rows come to nothing more, and one of them is enough.
bool ClassBounds::reaches_root_bound(const Asked& asked, const Formula& cost, double level,
                                     std::atomic<double>& found) {
    const std::optional<double> any =
        x_.least_below(asked, cost, level, {.beam = class_bound_beam});
    if (any) {
        lower(found, *any);
    }
    return any.has_value();
}

ClassBounds::Least ClassBounds::least_of_cost(const Asked& asked, const Formula& cost,
                                              std::atomic<double>& found, double most,
                                              double root_bound, double most_rows) {
    for (const double excess : class_bound_excess) {
        const double known = std::min(found.load(), most);
        if (known * (1 - rounding) <= root_bound) {
            return Least::known;
        }
        // With a finite one known, that is the level.
        const double level = std::isinf(excess) || !(root_bound > 0) || std::isfinite(known)
                                 ? infinity
                                 : root_bound * (1 + excess);
        const double below = std::min(known, level);
        const bool at_root_bound = excess == class_bound_excess[0] && below == level;
        std::optional<double> value = x_.least_below(
            asked, cost, below, {.most_rows = at_root_bound ? rows_before_beam : most_rows});
        if (asked.scratch.result.given_up && at_root_bound) {
            if (reaches_root_bound(asked, cost, below, found)) {
                return Least::known;
            }
            value = x_.least_below(asked, cost, below, {.most_rows = most_rows});
        }
        if (asked.scratch.result.given_up) {
            return Least::open;
        }
        if (value) {
            lower(found, *value);
            return Least::known;
        }
        if (known <= level) {
            return std::isfinite(known) ? Least::known : Least::none;
        }
    }
    return Least::none;
}

/// Where exact least costs of all templates take long: what the convex bound says.
ClassBounds::Least ClassBounds::least_of_relaxation(const Asked& asked, const Formula& cost,
                                                    double found, double& root_bound) const {
    if (convex_ && !(found * (1 - rounding) <= root_bound)) {
        root_bound = std::max(root_bound, asked.scratch.explorer.convex_bound(
                                              asked.problem, {&cost, 1}, {}, found, true));
    }
    return found * (1 - rounding) <= root_bound ? Least::known : Least::open;
}

/// Which step is given up must not depend on what other threads find.
ClassBounds::Least ClassBounds::tighten_root_bound(const Asked& asked, const Formula& cost,
                                                   std::atomic<double>& found,
                                                   const Tightening& limits, double& root_bound) {
    const double start = root_bound;
    for (const double factor : rises) {
        if (limits.before * (1 - rounding) <= root_bound) {
            return Least::known;
        }
        const double level = std::min(limits.before, start > 0 ? start * factor : infinity);
        const std::optional<double> value =
            x_.least_below(asked, cost, level, {.most_rows = limits.most_rows});
        if (asked.scratch.result.given_up) {
            return Least::open;
        }
        root_bound = value.value_or(level) * (1 - rounding);
        if (value) {
            lower(found, *value);
            return Least::known;
        }
    }
    return std::isfinite(limits.before) ? Least::known : Least::none;
}

bool ClassBounds::find_root_bounds() {
    std::vector<std::vector<std::array<double, 2>>> of_template(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        of_template[e].resize(spaces_[e].templates->size());
    }
    x_.for_each_template(x_.token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
        const model::TemplateFormulas f = x_.formulas(x_.templates(e)[i]);
        const mapspace::TileShapeProblem problem = x_.problem_of(e, i, f, scratch);
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
    if (x_.stopped()) {
        return false;
    }
    root_bound_of_einsum_.resize(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        std::array<double, 2> least{infinity, infinity};
        for (const std::array<double, 2>& one : of_template[spaces_[e].same]) {
            least = {std::min(least[0], one[0]), std::min(least[1], one[1])};
        }
        root_bound_of_einsum_[e] = least;
    }
    root_bounds_ = std::move(of_template);
    return true;
}

/// False if the search was given up.
bool ClassBounds::least_of(std::size_t e, std::size_t i, const RowsOfFind& most, Scratch& scratch) {
    const TemplateEntry& t = x_.templates(e)[i];
    TemplateExplorer::Result& out = x_.result(e, i);
    if (t.unmatched) {
        out.space = scratch.explorer.space(mapspace::tile_shape_symbols(*t.path, t.tmpl));
        return true;
    }
    const model::TemplateFormulas f = x_.formulas(t);
    mapspace::TileShapeProblem problem = least_cost_problem(x_, e, i, f, scratch);
    const std::vector<Formula> cost = mapspace::costs(c_, f);
    out.space = scratch.explorer.space(problem.symbols);
    const Asked asked{e, i, problem, scratch};
    bool complete = true;
    for (std::size_t k = 0; k < cost.size(); ++k) {
        if (k == known_objective_) {
            continue;
        }
        std::atomic<double>& found = found_[e][t.of_class][k];
        double& least = least_[e][i][k];
        const double of_use = most_[e][t.of_class][k];
        Least known = Least::known;
        if (in_turns_) {
            const double before = before_[e].at(spaces_[e].classes[t.of_class].choices)[k];
            double& root_bound = root_bounds_[e][i][k];
            known = tighten_root_bound(asked, cost[k], found, {before, most.all}, root_bound);
            least = root_bound;
        } else {
            least = root_bounds_.empty() ? scratch.explorer.lower_bound(problem, cost[k])
                                         : root_bounds_[e][i][k];
            const double before = out.evaluated;
            known = rows_ >= most.all
                        ? Least::open
                        : least_of_cost(asked, cost[k], found, of_use, least, most.each);
            if (known == Least::open) {
                known = least_of_relaxation(asked, cost[k], std::min(found.load(), of_use), least);
            }
            limited_[e][i] |= found > of_use ? 1 : 0;
            rows_ += out.evaluated - before;
        }
        complete = complete && known != Least::open;
        if (known == Least::open && in_turns_) {
            return false;
        }
        if (known == Least::none) {
            needs_[e][i] = mapspace::least_needs(*c_.problem->workload, *t.path, f);
            return true;
        }
    }
    return complete;
}

void ClassBounds::note_evaluated(std::size_t e, std::size_t i) {
    const std::lock_guard lock(progress_lock_);
    progress_[e].evaluated += x_.result(e, i).evaluated;
}

void ClassBounds::note(std::size_t e, std::size_t i) {
    note_evaluated(e, i);
    const std::lock_guard lock(progress_lock_);
    SavedClassBounds& progress = progress_[e];
    const std::string& size = x_.result(e, i).space;
    progress.counted = progress.counted && !size.empty();
    progress.size = add_decimal(progress.size, size);
    progress.done[i] = 1;
}

std::vector<SavedClassBounds> ClassBounds::progress() const {
    const std::lock_guard lock(progress_lock_);
    std::vector<SavedClassBounds> out;
    for (std::size_t e = 0; e < progress_.size(); ++e) {
        // An Einsum without any legal row yet is begun again: what its memories lack is not saved.
        const bool any = std::any_of(found_[e].begin(), found_[e].end(),
                                     [](const auto& f) { return std::isfinite(f[0].load()); });
        if (x_.explored(e) && any) {
            out.push_back(progress_[e]);
            for (const auto& f : found_[e]) {
                out.back().least.push_back({f[0].load(), f[1].load()});
            }
        }
    }
    return out;
}

void ClassBounds::restore(const std::vector<SavedClassBounds>& known) {
    for (const SavedClassBounds& k : known) {
        if (k.einsum >= progress_.size() || !x_.explored(k.einsum) ||
            k.done.size() != progress_[k.einsum].done.size() ||
            k.least.size() != found_[k.einsum].size() ||
            (!k.tightened.empty() && k.tightened.size() != k.done.size())) {
            throw UserError("the saved state of mapper 'ffm' belongs to another problem");
        }
        progress_[k.einsum] = k;
        for (std::size_t i = 0; i < k.tightened.size() && !root_bounds_.empty(); ++i) {
            std::array<double, 2>& root_bound = root_bounds_[k.einsum][i];
            root_bound = {std::max(root_bound[0], k.tightened[i][0]),
                          std::max(root_bound[1], k.tightened[i][1])};
        }
        x_.add_evaluated(static_cast<std::uint64_t>(k.evaluated));
        progress_[k.einsum].least.clear();
        for (std::size_t i = 0; i < k.least.size(); ++i) {
            for (std::size_t q = 0; q < 2; ++q) {
                std::atomic<double>& found = found_[k.einsum][i][q];
                found = std::min(found.load(), k.least[i][q]);
            }
        }
    }
}

std::vector<KnownClassBounds> ClassBounds::known() const {
    std::vector<KnownClassBounds> out(spaces_.size());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        for (std::size_t k = 0; x_.explored(e) && k < spaces_[e].classes.size(); ++k) {
            out[e][spaces_[e].classes[k].choices] = {found_[e][k][0].load(),
                                                     found_[e][k][1].load()};
        }
    }
    return out;
}

void ClassBounds::start_from(const std::vector<KnownClassBounds>& known, double worth_finding) {
    for (std::size_t e = 0; e < spaces_.size() && e < known.size(); ++e) {
        for (std::size_t k = 0; x_.explored(e) && k < spaces_[e].classes.size(); ++k) {
            const auto it = known[e].find(spaces_[e].classes[k].choices);
            for (std::size_t q = 0; it != known[e].end() && q < 2; ++q) {
                std::atomic<double>& found = found_[e][k][q];
                found = std::min(found.load(), it->second[q] * (1 - worth_finding));
            }
        }
    }
}

/// Size of the space, least costs, and what the memories lack where no template has a legal row.
void ClassBounds::collect() {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        EinsumSpace& space = spaces_[e];
        if (!x_.explored(e)) {
            const EinsumSpace& equal = spaces_[space.same];
            space.least = equal.least;
            space.needs = equal.needs;
            space.size = equal.size;
            for (std::size_t k = 0; k < space.classes.size(); ++k) {
                space.classes[k].least = equal.classes[k].least;
            }
            continue;
        }
        std::vector<double> least(n, infinity);
        for (std::size_t k = 0; k < space.classes.size(); ++k) {
            for (std::size_t q = 0; q < n; ++q) {
                space.classes[k].least[q] = least_of_class(e, k, q);
                least[q] = std::min(least[q], space.classes[k].least[q]);
            }
            if (n == 1) {
                space.classes[k].least[1] = 0;
            } else if (!std::isfinite(space.classes[k].least[1])) {
                space.classes[k].least[0] = infinity;
            }
        }
        const SavedClassBounds& progress = progress_[e];
        const std::uint64_t before = space.evaluated_in_class_bounds;
        space.evaluated_in_class_bounds = static_cast<std::uint64_t>(progress.evaluated);
        space.evaluated += space.evaluated_in_class_bounds - before;
        const bool counted = progress.counted && std::ranges::count(progress.done, 0) == 0;
        space.size = counted ? progress.size : "";
        if (std::isfinite(least[0])) {
            space.least = least;
        } else if (space.least.empty()) {
            collect_needs(e);
        }
    }
}

/// If every template lacks something.
void ClassBounds::collect_needs(std::size_t e) {
    std::map<std::string, mapspace::CapacityNeed> needs;
    for (std::size_t i = 0; i < x_.templates(e).size(); ++i) {
        for (const mapspace::CapacityNeed& need : needs_[e][i]) {
            const auto [it, fresh] = needs.try_emplace(need.memory, need);
            if (!fresh && need.needed_bits < it->second.needed_bits) {
                it->second = need;
            }
        }
        if (needs_[e][i].empty() && !x_.templates(e)[i].unmatched) {
            return;
        }
    }
    spaces_[e].needs.clear();
    for (const auto& [name, need] : needs) {
        spaces_[e].needs.push_back(need);
    }
}

void ClassBounds::note_root_bounds(std::size_t e, std::size_t i,
                                   const std::array<double, 4>* jointly) {
    if (root_bounds_.empty() || !c_.options->mapspace.partial_tiles()) {
        return;
    }
    const std::lock_guard lock(progress_lock_);
    SavedClassBounds& progress = progress_[e];
    progress.tightened.resize(progress.done.size());
    std::array<double, 6>& tightened = progress.tightened[i];
    std::ranges::copy(root_bounds_[e][i], tightened.begin());
    if (jointly != nullptr) {
        std::ranges::copy(*jointly, tightened.begin() + 2);
    }
}

void ClassBounds::set_from_root_bounds(
    const std::function<double(std::size_t, std::size_t, std::size_t)>& most,
    const std::function<bool(std::size_t, std::size_t)>& open) {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    for (EinsumSpace& space : spaces_) {
        const std::size_t first = space.same;
        space.least.assign(n, infinity);
        for (std::size_t k = 0; k < space.classes.size(); ++k) {
            TemplateClass& own = space.classes[k];
            own.least = {};
            for (std::size_t q = 0; q < n; ++q) {
                own.least[q] = most(first, k, q);
                for (const std::uint32_t i : spaces_[first].classes[k].templates) {
                    if (open(first, i) && !(*space.templates)[i].unmatched) {
                        own.least[q] = std::min(own.least[q], root_bounds_[first][i][q]);
                    }
                }
                space.least[q] = std::min(space.least[q], own.least[q]);
            }
        }
    }
}

void ClassBounds::lower_unfinished() {
    set_from_root_bounds(
        [&](std::size_t e, std::size_t k, std::size_t q) { return least_of_class(e, k, q); },
        [&](std::size_t e, std::size_t i) {
            return progress_[e].done[i] == 0 && limited_[e][i] == 0;
        });
}

bool ClassBounds::find(const std::function<void()>& save, double most_rows, bool in_turns,
                       const std::function<bool(double)>& pause) {
    before_ = known();
    in_turns_ = in_turns;
    std::size_t templates = 0;
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        templates += x_.explored(e) ? x_.templates(e).size() : 0;
    }
    convex_ = c_.switches.tiles.convex && templates <= most_convex_bounds;
    std::atomic<bool> paused = false;
    std::atomic<std::size_t> begun = 0;
    // Once one thread has left a template for the next call, all do.
    const auto pauses = [&] {
        if (!paused && pause &&
            pause(static_cast<double>(begun) / static_cast<double>(templates))) {
            paused = true;
        }
        return paused.load();
    };
    if (!paused_) {
        given_up_ = false;
        visited_.assign(spaces_.size(), {});
        for (std::size_t e = 0; e < spaces_.size(); ++e) {
            visited_[e].assign(progress_[e].done.size(), 0);
        }
    }
    const bool limited = looks_below_;
    const auto order = open_ ? order_of_templates() : nullptr;
    x_.for_each_template(x_.token(), order, [&](std::size_t e, std::size_t i, Scratch& scratch) {
        const bool of_use = !limited || !x_.templates(e)[i].unmatched;
        if (progress_[e].done[i] != 0 || visited_[e][i] != 0 || !of_use) {
            ++begun;
            return;
        }
        if (pauses()) {
            return;
        }
        double each = pause ? rows_before_pause : most_rows;
        bool known = least_of(e, i, {most_rows, each}, scratch);
        while (!known && each < most_rows && rows_ < most_rows) {
            if (pauses()) {
                note_evaluated(e, i);
                return;
            }
            each *= more_rows_after_pause;
            known = least_of(e, i, {most_rows, each}, scratch);
        }
        ++begun;
        visited_[e][i] = 1;
        note_root_bounds(e, i);
        if (known && limited_[e][i] != 0) {
            note_evaluated(e, i);
        } else if (known) {
            note(e, i);
        } else {
            given_up_ = true;
            note_evaluated(e, i);
        }
        if (c_.recorder->checkpoint_due()) {
            save();
        }
    });
    paused_ = paused && !x_.stopped();
    if (paused_) {
        return false;
    }
    if (!x_.stopped() && begun != templates) {
        throw Bug("class bounds without all templates");
    }
    collect();
    return finish_find(given_up_);
}

bool ClassBounds::finish_find(bool open) {
    open_ = open;
    if (open && root_bounds_.empty()) {
        root_bounds_ = least_;
    }
    if ((x_.stopped() || open) && !root_bounds_.empty()) {
        lower_unfinished();
    }
    if (x_.stopped()) {
        if (!root_bounds_.empty()) {
            relax({});
        }
        return false;
    }
    const base::StopScope scope(x_.token());
    try {
        relax({});
    } catch (const base::Stopped&) {
        return false;
    }
    return true;
}

void ClassBounds::take_known(const ClassBounds& single,
                             const std::vector<std::vector<double>>& least, std::size_t objective) {
    known_objective_ = objective;
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        for (std::size_t k = 0; k < found_[e].size(); ++k) {
            found_[e][k][objective] = least[e][k];
        }
        for (std::size_t i = 0; i < least_[e].size(); ++i) {
            least_[e][i][objective] = single.least_[e][i][0];
        }
    }
}

bool ClassBounds::find_from_root_bounds() {
    if (!find_root_bounds()) {
        return false;
    }
    const std::size_t other = 1 - known_objective_.value();
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        for (std::size_t i = 0; i < least_[e].size(); ++i) {
            const TemplateEntry& t = x_.templates(e)[i];
            least_[e][i][other] = root_bounds_[e][i][other];
            if (!t.unmatched) {
                lower(found_[e][t.of_class][other], root_bounds_[e][i][other]);
            }
        }
    }
    collect();
    root_bounds_.clear();  // of the known objective they say less than what is known
    return finish_find(false);
}

void ClassBounds::relax(const mapspace::ScalarisedBound& scalarised) {
    relaxation_.emplace(c_, spaces_, scalarised);
}

bool ClassBounds::nothing_shared() const {
    return std::ranges::all_of(
        spaces_, [](const EinsumSpace& s) { return s.shared.empty() && s.classes.size() == 1; });
}

void ClassBounds::note_costs(const std::vector<std::vector<double>>& of_einsums) {
    for (std::size_t e = 0; e < of_einsums.size(); ++e) {
        for (std::size_t q = 0; x_.explored(e) && q < of_einsums[e].size(); ++q) {
            lower(found_[e][0][q], of_einsums[e][q]);
        }
    }
}

mapspace::CostFront ClassBounds::bound() const {
    if (relaxation_) {
        return relaxation_->bound();
    }
    mapspace::CostPoint sum{};
    for (const std::array<double, 2>& least : root_bound_of_einsum_) {
        for (std::size_t q = 0; q < static_cast<std::size_t>(c_.n_objectives()); ++q) {
            sum[q] += least[q];
        }
    }
    return {sum};
}

double ClassBounds::least_value() const {
    if (relaxation_) {
        return relaxation_->least_value();
    }
    const mapspace::CostPoint sum = bound().front();
    return c_.n_objectives() == 2 ? sum[0] * sum[1] : sum[0];
}

}  // namespace tessera::ffm
