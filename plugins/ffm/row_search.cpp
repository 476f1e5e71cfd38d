#include "row_search.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/leave.hpp"
#include "bounds/sequential.hpp"
#include "bounds/shared_tiles.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::ffm {
namespace {

// The known mapping's own pmappings must not be dropped for a rounding of its cost.
constexpr double incumbent_slack = 1 + 1e-9;
/// With more distinct Einsums all are explored at once.
constexpr std::size_t max_sequence = 24;

/// Bound of one Einsum's costs with the incumbents' values.
mapspace::IncumbentBound bound_of(const Incumbents& incumbents) {
    mapspace::IncumbentBound out;
    for (const std::vector<double>& p : incumbents.points) {
        if (incumbents.product) {
            out.best_product = std::min(out.best_product, p[0] * p[1] * incumbent_slack);
            continue;
        }
        for (const double v : p) {
            out.points.push_back(v * incumbent_slack);
        }
    }
    return out;
}

/// Whether costs that are at least `cost` are of no use.
bool pruned(const mapspace::IncumbentBound& bound, const double* cost, std::size_t n) {
    double product = 1;
    for (std::size_t k = 0; k < n; ++k) {
        product *= std::max(0.0, cost[k]);
    }
    bool out = n == 2 && product >= bound.best_product;
    for (std::size_t p = 0; p + n <= bound.points.size() && !out; p += n) {
        out = std::equal(cost, cost + n, bound.points.begin() + static_cast<std::ptrdiff_t>(p),
                         [](double mine, double theirs) { return mine >= theirs; });
    }
    return out;
}

/// What a search is bounded by, for one that goes on from it.
std::vector<double> key_of(const Incumbents& incumbents, const RowSearch::Near* near) {
    std::vector<double> out{incumbents.product ? 1.0 : 0.0, near != nullptr ? near->own_excess : 0};
    for (const Incumbents* one : {&incumbents, near != nullptr ? &near->incumbents : nullptr}) {
        out.push_back(one == nullptr ? 0.0 : static_cast<double>(one->points.size()));
        for (std::size_t p = 0; one != nullptr && p < one->points.size(); ++p) {
            out.insert(out.end(), one->points[p].begin(), one->points[p].end());
        }
    }
    return out;
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

RowSearch::RowSearch(TemplateExplorer& explorer, const ClassBounds& bounds)
    : x_(explorer),
      bounds_(bounds),
      c_(explorer.context()),
      spaces_(explorer.spaces()),
      kept_(symbols_of(spaces_), static_cast<std::size_t>(c_.n_objectives())) {}

void RowSearch::find_completions() {
    if (completions_.empty()) {
        completions_ = bounds_.relaxation()->completions();
    }
}

bool RowSearch::in_sequence() const {
    std::size_t distinct = 0;
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        distinct += x_.explored(e) ? 1 : 0;
    }
    return c_.switches.sequential && distinct <= max_sequence;
}

bool RowSearch::find(const Incumbents& incumbents, std::uint64_t most_rows, const Near* near) {
    const base::StopScope scope(x_.token());
    if (kept_.started()) {
        kept_.begin(key_of(incumbents, near));
    }
    find_completions();
    const RowLimits limits{bound_of(incumbents),
                           bound_of(near != nullptr ? near->incumbents : incumbents),
                           near != nullptr ? bounds_.bound() : mapspace::CostFront{},
                           near != nullptr ? near->own_excess : 0};
    const std::uint64_t most =
        most_rows > 0 ? x_.evaluated() + most_rows : std::numeric_limits<std::uint64_t>::max();
    const auto given_up = [&] { return x_.evaluated() > most; };
    forget_templates();
    const Explore explore = [&](std::size_t e, std::size_t i, const Others& others,
                                Scratch& scratch) {
        if (given_up() || x_.templates(e)[i].unmatched) {
            return;
        }
        if (take_kept(e, i, scratch)) {
            note_rows(e, i);
            return;
        }
        const auto bound = c_.switches.exploration_bound
                               ? bound_rows(e, i, others.completions, limits)
                               : mapspace::IncumbentBound{};
        if (bound &&
            x_.find_rows(e, i, {*bound, {}, others.compatible, others.shared_tiles}, scratch)) {
            note_rows(e, i);
            keep_rows(e, i, scratch);
        }
    };
    if (near == nullptr && in_sequence()) {
        for_each_in_sequence(explore, given_up);
    } else {
        for_each_at_once(explore);
    }
    if (!given_up() && near == nullptr && incumbents.points.size() == 1 &&
        incumbents.points.front().size() == 1) {
        complete_below_ = incumbents.points.front().front();
    }
    return !given_up();
}

void RowSearch::forget_templates() {
    complete_below_ = 0;
    has_rows_.assign(spaces_.size(), {});
    for (std::size_t e = 0; e < spaces_.size(); ++e) {
        has_rows_[e].assign(x_.explored(e) ? x_.templates(e).size() : 0, 0);
    }
}

void RowSearch::note_rows(std::size_t e, std::size_t i) {
    has_rows_[e][i] = x_.result(e, i).groups.empty() ? 0 : 1;
}

void RowSearch::find_some(const Incumbents& incumbents, std::size_t width) {
    const base::StopScope scope(x_.token());
    find_completions();
    const RowLimits limits{bound_of(incumbents), bound_of(incumbents), {}, 0};
    const Explore explore = [&](std::size_t e, std::size_t i, const Others& others,
                                Scratch& scratch) {
        if (x_.templates(e)[i].unmatched) {
            return;
        }
        if (const auto bound = bound_rows(e, i, others.completions, limits)) {
            x_.find_rows(e, i, {*bound, {.beam = width}, others.compatible, others.shared_tiles},
                         scratch);
        }
    };
    for_each_in_sequence(explore, [] { return false; });
}

/// What the rows of a template have to beat, together with the others' costs. None if none of them
/// can.
std::optional<mapspace::IncumbentBound> RowSearch::bound_rows(
    std::size_t e, std::size_t i, const std::vector<Completions>& completions,
    const RowLimits& limits) const {
    const auto n = static_cast<std::size_t>(c_.n_objectives());
    const bool beam_search = !limits.whole.empty();
    double least_whole = std::numeric_limits<double>::infinity();
    for (const mapspace::CostPoint& p : limits.whole) {
        least_whole = std::min(least_whole, n == 2 ? p[0] * p[1] : p[0]);
    }
    const std::size_t k = x_.templates(e)[i].of_class;
    mapspace::IncumbentBound bound = limits.rows;
    const Completions& all = completions[k];
    bool useful = false;
    double allowed = 0;  // a beam search: what the Einsum may add to the least cost
    for (std::size_t at = 0; at + n <= all.size(); at += n) {
        const std::array<double, 2>& own = spaces_[e].classes[k].least;
        std::array<double, 2> least{}, mine{};  // of the class, of the template
        for (std::size_t q = 0; q < n; ++q) {
            least[q] = own[q] + all[at + q];
            mine[q] = std::max(own[q], bounds_.least(e, i)[q]) + all[at + q];
        }
        const double cost = n == 2 ? least[0] * least[1] : least[0];
        const double excess =
            limits.own_excess * (n == 2 ? own[0] * least[1] + own[1] * least[0] : own[0]);
        // In a beam search: nor may the class itself cost more than that above the least of the
        // whole, of which the share of one Einsum in a long chain is small.
        const bool of_use = !pruned(limits.classes, mine.data(), n) &&
                            (!beam_search || cost <= least_whole + excess);
        useful = useful || of_use;
        if (of_use) {
            allowed = std::max(allowed, cost + excess);
        }
        if (!pruned(limits.rows, mine.data(), n)) {
            const auto from = all.begin() + static_cast<std::ptrdiff_t>(at);
            bound.completions.insert(bound.completions.end(), from,
                                     from + static_cast<std::ptrdiff_t>(n));
        }
    }
    if (beam_search && n == 2) {
        bound.best_product = std::min(bound.best_product, allowed);
    } else if (beam_search) {
        bound.points = {std::min(bound.points.front(), allowed)};
    }
    if (!useful || bound.completions.empty()) {
        return std::nullopt;
    }
    return bound;
}

void RowSearch::keep(std::vector<SavedSearch> known, std::function<void()> save) {
    kept_.start(std::move(known));
    save_ = std::move(save);
}

/// The rows of a template that are known. False: none are.
bool RowSearch::take_kept(std::size_t e, std::size_t i, Scratch& scratch) {
    std::optional<SavedRows> known = kept_.take(e, i);
    if (!known) {
        return false;
    }
    TemplateEntry& t = x_.templates(e)[i];
    scratch.rows.tiles = std::move(known->tiles);
    scratch.rows.objectives = std::move(known->objectives);
    scratch.rows.rows =
        scratch.rows.objectives.size() / static_cast<std::size_t>(c_.n_objectives());
    x_.result(e, i).evaluated += known->evaluated;
    x_.add_evaluated(static_cast<std::uint64_t>(known->evaluated));
    t.tiles.clear();
    if (scratch.rows.rows > 0) {
        x_.group_rows(e, i, x_.formulas(t), scratch);
    }
    return true;
}

void RowSearch::keep_rows(std::size_t e, std::size_t i, const Scratch& scratch) {
    if (!kept_.started()) {
        return;
    }
    // Rows that no group has are dominated by others, which stay in their order.
    const mapspace::TemplateRows& rows = scratch.rows;
    const std::size_t n = x_.templates(e)[i].tmpl.symbols.size();
    const auto objectives = static_cast<std::size_t>(c_.n_objectives());
    const auto used = static_cast<std::size_t>(
        std::count(scratch.in_groups.begin(),
                   scratch.in_groups.begin() + static_cast<std::ptrdiff_t>(rows.rows), 1));
    SavedRows found{e, i, scratch.result.statistics.enumerated, {}, {}};
    if (!KeptRows::worth_keeping(found.evaluated, used * (n + objectives))) {
        kept_.pass_over(found.evaluated);
        return;
    }
    found.tiles.reserve(used * n);
    found.objectives.reserve(used * objectives);
    const auto copy = [](const auto& from, std::size_t row, std::size_t width, auto& to) {
        const auto first = from.begin() + static_cast<std::ptrdiff_t>(row * width);
        to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(width));
    };
    for (std::size_t row = 0; row < rows.rows; ++row) {
        if (scratch.in_groups[row] != 0) {
            copy(rows.tiles, row, n, found.tiles);
            copy(rows.objectives, row, objectives, found.objectives);
        }
    }
    kept_.keep(std::move(found));
    if (c_.recorder->checkpoint_due()) {
        save_();
    }
}

void RowSearch::for_each_at_once(const Explore& explore) {
    x_.for_each_template(x_.token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
        explore(e, i, {completions_[e]}, scratch);
    });
    base::poll_stop();
    x_.share_groups();
}

/// One distinct Einsum after the other; what is explored bounds the rest.
void RowSearch::for_each_in_sequence(const Explore& explore, const std::function<bool()>& enough) {
    x_.clear_results();
    SequentialBound sequence(c_, spaces_);
    SharedTiles shared_tiles(c_, spaces_);
    for (const std::size_t e : order_of_sequence(spaces_)) {
        const std::vector<Completions> completions = completions_at(sequence, e);
        const base::LeftOnStop<CompatibleShapes> compatible(compatible_at(sequence, e));
        explore_einsum(e, {completions, &*compatible, &shared_tiles}, explore);
        if (enough()) {
            break;
        }
        for (std::size_t copy = e; copy < spaces_.size(); ++copy) {
            if (spaces_[copy].same == e) {
                sequence.add(copy);
                shared_tiles.add(copy);
            }
        }
    }
}

void RowSearch::explore_einsum(std::size_t e, const Others& others, const Explore& explore) {
    std::vector<TemplateExplorer::Job> jobs;
    for (std::size_t i = 0; i < x_.templates(e).size(); ++i) {
        jobs.push_back({e, i});
    }
    c_.recorder->einsum(e).templates_done = 0;
    x_.for_each_job(jobs, x_.token(), [&](std::size_t, std::size_t i, Scratch& scratch) {
        explore(e, i, others, scratch);
    });
    base::poll_stop();
    x_.gather(e);
}

/// For the tensors that every copy of the Einsum shares with explored ones.
CompatibleShapes RowSearch::compatible_at(const SequentialBound& sequence, std::size_t e) const {
    CompatibleShapes out(spaces_[e].paths.front()->einsum.tensors.size());
    std::vector<std::size_t> known(out.size(), 0);
    std::size_t copies = 0;
    for (std::size_t copy = e; copy < spaces_.size(); ++copy) {
        if (spaces_[copy].same != e) {
            continue;
        }
        ++copies;
        const auto held = sequence.compatible(copy);
        for (std::size_t k = 0; k < held.size(); ++k) {
            const auto t = static_cast<std::size_t>(spaces_[copy].shared[k]);
            if (held[k]) {
                ++known[t];
                mapspace::CompatibilitySet& all = out[t] ? *out[t] : out[t].emplace();
                all.insert(held[k]->begin(), held[k]->end());
            }
        }
    }
    for (std::size_t t = 0; t < known.size(); ++t) {
        if (known[t] < copies) {
            out[t].reset();
        }
    }
    return out;
}

/// Costs of all other Einsums by class, as completions_, with what the steps have shown.
std::vector<Completions> RowSearch::completions_at(const SequentialBound& sequence,
                                                   std::size_t e) const {
    if (!sequence.knows_more()) {
        return completions_[e];
    }
    const auto n = static_cast<std::ptrdiff_t>(c_.n_objectives());
    std::vector<Completions> out(spaces_[e].classes.size());
    for (std::size_t copy = e; copy < spaces_.size(); ++copy) {
        if (spaces_[copy].same != e) {
            continue;
        }
        const auto rest = sequence.rest(copy);
        if (!rest) {
            return completions_[e];
        }
        for (std::size_t k = 0; k < out.size(); ++k) {
            for (const mapspace::CostPoint& p : (*rest)[k]) {
                out[k].insert(out[k].end(), p.begin(), p.begin() + n);
            }
        }
    }
    return out;
}

}  // namespace tessera::ffm
