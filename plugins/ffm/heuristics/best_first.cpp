#include "best_first.hpp"

#include <algorithm>
#include <limits>

#include "boxes.hpp"
#include "mapspace/template_shapes.hpp"
#include "mapspace/tile_shapes_local_search.hpp"
#include "tessera/base/comparison.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::ffm {
namespace {

using model::Formula;

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Local searches: in templates, in boxes; rows of one, and partial rows kept on the way to it.
constexpr std::size_t first_local_searches = 12, box_local_searches = 48;
constexpr double local_search_rows = 5000;
constexpr std::size_t beam_rows = 128;
/// Rows that take as long as one bound.
constexpr double rows_per_bound = 5000;
// Bounds and costs are computed in different orders.
constexpr double bound_slack = 1 - 1e-9;

/// A condition on given tile shapes alone that does not hold.
bool is_violated(const mapspace::TileShapeConstraint& c) {
    return c.formula.is_constant() && !base::holds(c.relation, c.formula.constant_value(), c.limit);
}

}  // namespace

BestFirst::BoxProblem BestFirst::open_box(const Box& box, Scratch& scratch, bool keep_sums) const {
    scratch.pool.clear();
    scratch.pool.keep_sums(keep_sums);
    const TemplateEntry& t = x_.templates(0)[box.index];
    BoxProblem out;
    out.entry = fix_tile_shapes(t, box.fixed, out.open);
    out.formulas = x_.formulas(out.entry);
    out.cost = mapspace::costs(x_.context(), out.formulas);
    if (out.open.size() == box.fixed.size()) {
        out.problem = x_.problem_of(0, box.index, out.formulas, scratch);
    } else {
        out.problem = mapspace::tile_shape_problem(x_.context(), *out.entry.path, out.entry.tmpl,
                                                   out.formulas, x_.table(0, t));
        x_.limit_cost(0, t, out.formulas, out.problem);
    }
    out.problem.incumbent.quantities = out.cost;
    return out;
}

/// A number that the metric is not below in the box; see TileShapeExplorer::convex_bound.
double BestFirst::bound_of_box(const Box& box, double enough, bool closest,
                               Scratch& scratch) const {
    // What a bound knows of the halo 2 p - 1 is lost where products of halos are multiplied out.
    const BoxProblem p = open_box(box, scratch, true);
    if (std::ranges::any_of(p.problem.constraints, is_violated)) {
        return infinity;
    }
    const auto convex = [&] {
        return scratch.explorer.convex_bound(p.problem, p.cost, {}, enough, closest) * bound_slack;
    };
    // The convex program is solved to some digits only, the relaxation of one formula exactly.
    const auto formulas = [&] {
        double out = 1;
        for (const Formula& cost : p.cost) {
            out *= std::max(0.0, scratch.explorer.lower_bound(p.problem, cost));
        }
        return out;
    };
    // Over many tile shapes the latter is seldom enough.
    const bool whole = std::ranges::all_of(box.fixed, [](std::int32_t v) { return v == 0; });
    const double first = whole ? convex() : formulas();
    return first >= enough ? first : std::max(first, whole ? formulas() : convex());
}

void BestFirst::branch(const Box& box, std::span<const Chain> chains, double best, Scratch& scratch,
                       std::vector<Box>& out) const {
    base::poll_stop();
    if (chains.empty()) {
        Box whole = box;
        whole.bound = std::max(box.bound, bound_of_box(box, best, true, scratch));
        if (whole.bound < best) {
            out.push_back(std::move(whole));
        }
        return;
    }
    const TemplateEntry& t = x_.templates(0)[box.index];
    for (const TileShapes& choice : choices_of(t, chains.front())) {
        Box inside = box;
        for (std::size_t k = 0; k < choice.size(); ++k) {
            inside.fixed[static_cast<std::size_t>(chains.front()[k])] = choice[k];
        }
        if (chains.size() > 1) {
            inside.bound = std::max(box.bound, bound_of_box(inside, best, false, scratch));
        }
        if (inside.bound < best) {
            branch(inside, chains.subspan(1), best, scratch, out);
        }
    }
}

void BestFirst::make_boxes(double best, std::size_t every) {
    std::vector<std::vector<Box>> by_template(x_.templates(0).size());
    x_.for_each_template(x_.token(), [&](std::size_t e, std::size_t i, Scratch& scratch) {
        if (i % every != 0) {
            return;
        }
        const TemplateEntry& t = x_.templates(e)[i];
        x_.result(e, i).space =
            scratch.explorer.space(mapspace::tile_shape_symbols(*t.path, t.tmpl));
        const Box whole{i, 0.0, TileShapes(t.tmpl.symbols.size(), 0), false};
        // What is decided over all rows of a template cannot be decided in its parts.
        const bool divisible =
            mapspace::loop_limits(*t.path, t.tmpl, x_.context().options->mapspace).empty() &&
            std::ranges::none_of(t.tmpl.constraints, [](const mapspace::TemplateConstraint& k) {
                return k.kind == mapspace::TemplateConstraint::Kind::min_usage;
            });
        const std::vector<Chain> chains = divisible ? filter_chains(t) : std::vector<Chain>{};
        if (divisible && count_rows(t) < rows_per_bound * count_choices(t, chains)) {
            by_template[i].push_back(whole);
            by_template[i].back().few_rows = true;
            return;
        }
        if (chains.empty() || bound_of_box(whole, best, false, scratch) < best) {
            branch(whole, chains, best, scratch, by_template[i]);
        }
    });
    base::poll_stop();
    boxes_.clear();
    std::string size = "0";
    bool counted = every == 1;
    for (std::size_t i = 0; i < by_template.size(); ++i) {
        const std::string& own = x_.result(0, i).space;
        counted = counted && !own.empty();
        size = counted ? add_decimal(size, own) : "";
        std::ranges::move(by_template[i], std::back_inserter(boxes_));
    }
    x_.spaces()[0].size = size;
    std::stable_sort(boxes_.begin(), boxes_.end(),
                     [](const Box& a, const Box& b) { return a.bound < b.bound; });
}

double BestFirst::bound_of_rank(std::size_t rank) const {
    return rank < boxes_.size() ? boxes_[rank].bound : infinity;
}

/// The best of the explorer's rows, if there are any.
void BestFirst::offer_rows(const Box& box, const BoxProblem& p, const Scratch& scratch,
                           BoxRow& best) const {
    const mapspace::TileShapeResult& r = scratch.result;
    for (std::size_t row = 0; row < r.rows; ++row) {
        double value = 1;
        for (std::size_t q = 0; q < p.cost.size(); ++q) {
            value *= r.objectives[q][row];
        }
        if (value < best.value) {
            best = {value, box.index, box.fixed};
            for (std::size_t s = 0; s < p.open.size(); ++s) {
                best.shapes[static_cast<std::size_t>(p.open[s])] = r.shapes[s][row];
            }
        }
    }
}

void BestFirst::explore_rows(BoxProblem& p, const mapspace::TileShapeOptions& how,
                             Scratch& scratch) const {
    scratch.explorer.explore(p.problem, how, scratch.result);
    x_.count(p.problem, scratch);
}

BestFirst::BoxRow BestFirst::explore_box(const Box& box, double best, Scratch& scratch) const {
    BoxProblem p = open_box(box, scratch);
    if (p.cost.size() == 2) {
        p.problem.incumbent.best_product = best;
    } else {
        p.problem.incumbent.points = {best};
    }
    mapspace::TileShapeOptions how = x_.context().switches.tiles;
    if (box.few_rows) {
        how.vertex_bounds = how.partial_pareto = false;
    }
    explore_rows(p, how, scratch);
    BoxRow out{best, box.index, {}};
    offer_rows(box, p, scratch, out);
    return out;
}

/// A local search, from what a beam finds.
BestFirst::BoxRow BestFirst::local_search_box(const Box& box, Scratch& scratch) const {
    BoxProblem p = open_box(box, scratch);
    mapspace::TileShapeOptions how = x_.context().switches.tiles;
    how.beam = beam_rows;
    explore_rows(p, how, scratch);
    BoxRow out{infinity, box.index, {}};
    offer_rows(box, p, scratch, out);
    if (out.shapes.empty() || p.open.empty()) {
        return out;
    }
    TileShapes start;
    for (const int s : p.open) {
        start.push_back(out.shapes[static_cast<std::size_t>(s)]);
    }
    mapspace::TileShapeLocalSearch search(p.problem, {p.cost, {}}, start);
    search.run(local_search_rows);
    x_.count_rows(scratch, search.rows());
    const std::vector<double> values(search.shapes().begin(), search.shapes().end());
    std::vector<double> cost;
    for (const Formula& f : p.cost) {
        cost.push_back(f.value(values));
    }
    if (product(cost) < out.value) {
        out.value = product(cost);
        for (std::size_t s = 0; s < p.open.size(); ++s) {
            out.shapes[static_cast<std::size_t>(p.open[s])] = search.shapes()[s];
        }
    }
    return out;
}

template <class Search>
bool BestFirst::search_boxes(std::span<const Box> boxes, double best, const Search& search) {
    x_.clear_results();
    std::vector<TemplateExplorer::Job> jobs;
    for (std::size_t k = 0; k < boxes.size(); ++k) {
        jobs.push_back({0, k});
    }
    std::vector<BoxRow> found(boxes.size());
    x_.for_each_job(jobs, x_.token(), [&](std::size_t, std::size_t k, Scratch& scratch) {
        found[k] = search(boxes[k], scratch);
    });
    const auto least = std::min_element(
        found.begin(), found.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
    if (least == found.end() || !(least->value < best)) {
        return false;
    }
    x_.for_each_job({{0, least->index}}, {}, [&](std::size_t e, std::size_t i, Scratch& scratch) {
        const TemplateEntry& t = x_.templates(e)[i];
        const model::TemplateFormulas f = x_.formulas(t);
        x_.keep_shapes(e, i, f, x_.problem_of(e, i, f, scratch), {least->shapes}, scratch);
    });
    x_.share_groups();
    return true;
}

bool BestFirst::local_search_templates(double best) {
    std::vector<Box> some;
    const std::vector<TemplateEntry>& all = x_.templates(0);
    for (std::size_t k = 0; k < first_local_searches; ++k) {
        const std::size_t i = k * all.size() / first_local_searches;
        some.push_back({i, 0.0, TileShapes(all[i].tmpl.symbols.size(), 0), false});
    }
    return search_boxes(
        some, best, [&](const Box& b, Scratch& scratch) { return local_search_box(b, scratch); });
}

bool BestFirst::local_search_boxes(double best) {
    const std::size_t n = std::min(boxes_.size(), box_local_searches);
    return search_boxes(std::span(boxes_).first(n), best, [&](const Box& b, Scratch& scratch) {
        return local_search_box(b, scratch);
    });
}

bool BestFirst::explore_boxes(std::size_t first, std::size_t n, double best) {
    const std::span<const Box> some =
        std::span(boxes_).subspan(first, std::min(n, boxes_.size() - first));
    return search_boxes(some, best, [&](const Box& b, Scratch& scratch) {
        return b.bound < best ? explore_box(b, best, scratch) : BoxRow{};
    });
}

}  // namespace tessera::ffm
