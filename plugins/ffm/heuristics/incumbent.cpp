#include <algorithm>
#include <cmath>

#include "../run.hpp"
#include "improve.hpp"
#include "local_search.hpp"
#include "simple.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::ffm {
namespace {

constexpr std::size_t beam_rows = 400;
/// The same of states: templates with fused loops have many.
constexpr std::size_t beam_states = 1000;
/// Local searches before the class bounds: calls, and rows that are quick enough for more than two.
constexpr int most_local_searches = 6;
constexpr std::uint64_t local_search_rows = 600000;
/// The same for the first mapping, which is looked for in classes that the bound allows so close.
constexpr double beam_excess = 0.01;
constexpr double near_excess = 1e-3;
/// In a beam search: how much an Einsum may cost above its own least. Long chains leave all of the
/// above to every single Einsum, which is far too much.
constexpr double own_excess[] = {0.003, 0.1, 1.0};
/// Up to here exact searches below cutoffs at the bound are as quick: no beam search.
constexpr std::size_t short_chain = 12;
/// Rows after which that is given up: networks of 28 layers take half as many.
constexpr std::uint64_t long_beam_search = 40'000'000;
/// How far above the bound beams through the tile shapes look, in turn, and how many partial rows
/// of a template they keep.
constexpr double beam_excesses[] = {0, 0.015, 0.1, 0.5, 3};
constexpr std::size_t tile_shape_beam = 64;
/// The same before class bounds that take long, if there are no more templates.
constexpr std::size_t early_beam = 8, templates_of_early_beam = 3000;
/// Of a search for the least energy or latency alone.
constexpr std::uint64_t rows_of_one_objective = 1'000'000;
/// Share of a time limit for tile shapes without partial tiles.
constexpr double perfect_share = 0.5;
/// Shares of its cost that are looked for, in turn, and partial mappings that one join may keep.
constexpr double improved_to[] = {0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1};
constexpr std::size_t rows_of_improved_join = 10000;
/// By how much partial tiles have to improve a mapping to be tried once more.
constexpr double worthwhile = 0.99;
/// The class bounds of fewer Einsums are known before a local search would end, if no template is
/// large: of so many tile shapes.
constexpr std::size_t few_einsums = 4, large_template = 16;

}  // namespace

void Run::take_start() {
    const auto value = [&](const mapper::Solution& s) {
        return mapper::metric_value(options_.metrics.front(), s.report);
    };
    const mapper::Solution* best = nullptr;
    for (const mapper::Solution& s : options_.start) {
        best = best == nullptr || value(s) < value(*best) ? &s : best;
    }
    if (best == nullptr || !scalar() || value(*best) >= incumbent_.value()) {
        return;  // a Pareto set is found anew: its points are no cutoffs for each other
    }
    take(*best, "start");
}

void Run::take(const mapper::Solution& s, const std::string& step) {
    mapspace::JoinedMapping known;  // of no pmappings: its costs alone are of use
    if (context_.want_energy) {
        known.objectives.push_back(s.report.energy_j());
    }
    if (context_.want_latency) {
        known.objectives.push_back(s.report.latency_s());
    }
    incumbent_.mappings = {known};
    incumbent_.solutions = {s};
    incumbent_.used.clear();
    report_incumbent(s, step);
}

void Run::find_by_objective() {
    // Their evaluations are not those of this run, which a limit may count.
    if (objectives_tried_ || goal_ != mapspace::JoinGoal::edp || !context_.switches.beam_search ||
        options_.budget.max_evals > 0 || options_.mapspace.partial_tiles() ||
        exploration_->class_bounds.nothing_shared()) {
        return;
    }
    objectives_tried_ = true;
    const PhaseTimer timer(*this, "incumbent", "templates");
    for (const mapper::Metric metric : {mapper::Metric::energy, mapper::Metric::latency}) {
        if (watch_.stopped()) {
            return;
        }
        mapper::Options o = options_within();
        o.metrics = {metric};
        o.budget.max_evals = rows_of_one_objective;
        Run run(problem_, *context_.model, o);
        take_best_of(run, metric == mapper::Metric::energy ? "least energy" : "least latency");
    }
}

mapper::Options Run::options_within() const {
    mapper::Options o = options_;
    o.budget = {};
    o.resume.clear();
    o.start.clear();
    o.recorder = nullptr;
    o.progress = nullptr;
    return o;
}

void Run::limit_until(double share, double parts, base::Budget& budget) const {
    constexpr double shortest_s = 1e-3;
    const auto part_of = [&](double limit_s, double spent_s) {
        return std::max(shortest_s, (share * limit_s - spent_s) / parts);
    };
    const base::Budget& own = options_.budget;
    if (own.max_time_s > 0) {
        const double spent_s = std::chrono::duration<double>(Clock::now() - start_).count();
        budget.max_time_s = part_of(own.max_time_s, spent_s);
    }
    if (own.max_cpu_s > 0) {  // is reckoned from the start of the process
        const double begun_s = static_cast<double>(started_cpu_) / CLOCKS_PER_SEC,
                     now_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
        budget.max_cpu_s = now_s + part_of(own.max_cpu_s - begun_s, now_s - begun_s);
    }
}

void Run::take_best_of(Run& within, const std::string& step) {
    const auto offer = [&](const mapper::Solution& s) {
        // Without fused loops a memory holds what it may not keep otherwise.
        if (mapper::metric_value(options_.metrics.front(), s.report) < incumbent_.value() &&
            objection(problem_, options_.mapspace, s.mapping).empty()) {
            take(s, step);
        }
    };
    within.silent_ = true;
    within.tell_ = offer;
    try {
        const mapper::Result found = within.run();
        result_.statistics.evaluated += found.statistics.evaluated;
        std::ranges::for_each(found.solutions, offer);
    } catch (const LimitReached&) {  // no mapping in time
        result_.statistics.evaluated += within.evaluated();
    } catch (const NoLegalMapping&) {  // none in what it looked at
    }
}

void Run::find_perfect() {
    if (!options_.mapspace.partial_tiles()) {
        return;
    }
    const PhaseTimer timer(*this, "perfect tile shapes");
    mapper::Options o = options_;
    o.mapspace.imperfect_temporal = o.mapspace.imperfect_spatial = false;
    o.resume = saved_.perfect;
    o.budget = {};
    if (options_.budget.max_time_s > 0) {
        o.budget.max_time_s = perfect_share * options_.budget.max_time_s;
    }
    o.recorder = &recorder_;
    Run perfect(problem_, *context_.model, o);
    perfect.silent_ = true;
    perfect.outer_ = this;
    try {
        mapper::Result found = perfect.run();
        incumbent_.solutions = std::move(found.solutions);
        if (!incumbent_.solutions.empty()) {
            incumbent_.mappings = std::move(perfect.incumbent_.mappings);
            take_used(perfect);
        }
        result_.statistics.evaluated += found.statistics.evaluated;
        if (perfect.class_bounds_known_) {
            perfect_class_bounds_ = perfect.exploration_->class_bounds.known();
        }
    } catch (const LimitReached&) {  // no mapping in time: this run may still find one
        result_.statistics.evaluated += perfect.evaluated();
    }
}

/// Its templates are these, where partial tiles have led to the same ones.
void Run::take_used(const Run& perfect) {
    const auto alike = [](mapping::PmappingNode a, const mapping::PmappingNode& b) {
        a.imperfect = b.imperfect;
        return a == b;
    };
    incumbent_.used = perfect.incumbent_.used;
    for (std::size_t e = 0; e < incumbent_.used.size(); ++e) {
        const std::vector<TemplateEntry>& own = *spaces_[e].templates;
        const TemplateEntry& theirs = (*perfect.spaces_[e].templates)[incumbent_.used[e].index];
        const auto it = std::find_if(own.begin(), own.end(), [&](const TemplateEntry& t) {
            return t.path_index == theirs.path_index &&
                   std::ranges::equal(t.tmpl.nodes, theirs.tmpl.nodes, alike);
        });
        if (it == own.end()) {
            incumbent_.used.clear();
            return;
        }
        incumbent_.used[e].index = static_cast<std::size_t>(it - own.begin());
    }
}

bool Run::has_large_templates() const {
    return std::ranges::any_of(spaces_, [](const EinsumSpace& space) {
        return std::ranges::any_of(*space.templates, [](const TemplateEntry& t) {
            return t.tmpl.symbols.size() >= large_template;
        });
    });
}

void Run::find_any() {
    const PhaseTimer timer(*this, "incumbent", "templates");
    exploration_ = std::make_unique<Exploration>(context_, spaces_);
    exploration_->rows.keep(saved_.searches, [this] { save(); });
    first_rows(exploration_->explorer, first_until());
    const base::StopScope scope({watch_.stop(), first_until()});
    join_simple("first");
    const bool local_search = context_.switches.local_search && scalar() &&
                              exploration_->class_bounds.nothing_shared() &&
                              (spaces_.size() >= few_einsums || has_large_templates());
    LocalSearch search(exploration_->explorer);
    for (int pass = 0; pass < most_local_searches && local_search; ++pass) {
        if (!watch_.stopped() && (pass < 2 || evaluated() < local_search_rows)) {
            search.run(pass == 0 ? std::vector<double>{} : incumbent_.costs());
            exploration_->class_bounds.note_costs(search.costs());
            join_simple("local-search");
        }
    }
}

void Run::improve() {
    if (!context_.switches.improvement || !options_.mapspace.partial_tiles() || !scalar() ||
        incumbent_.value() <= lower_bound() * close_enough) {
        return;
    }
    const PhaseTimer timer(*this, "incumbent", "templates");
    Improvement improvement(exploration_->explorer);
    double before = std::numeric_limits<double>::infinity();
    while (!incumbent_.used.empty() && incumbent_.value() < before * worthwhile &&
           !watch_.stopped()) {
        before = incumbent_.value();
        improvement.improve(incumbent_.used, incumbent_.costs());
        for (const bool all : {false, true}) {
            improvement.improved(all);
            join_improved(take_groups());
        }
    }
}

/// A mapping far below the known one is looked for first: that leaves least to join.
void Run::join_improved(const Groups& groups) {
    const double most = incumbent_.value();
    for (const double share : improved_to) {
        const std::vector<double> cutoff = point_of(most * share);
        Groups useful = groups;
        drop_useless(useful, {cutoff});
        mapspace::JoinOptions j = join_options();
        j.incumbents = {cutoff};
        j.stop = watch_.stop();
        j.most_rows = rows_of_improved_join;
        mapspace::JoinResult found =
            mapspace::join(*problem_.workload, useful, context_.tracked, j);
        if (found.given_up) {
            beam_join(useful, cutoff, "improved");
        } else {
            offer(useful, std::move(found), "improved");
        }
        if (incumbent_.value() < most || watch_.stopped()) {
            return;
        }
    }
}

void Run::note_used(const Groups& groups) {
    incumbent_.used.assign(spaces_.size(), {});
    for (const mapspace::JoinedEinsum& part : incumbent_.mappings.front().einsums) {
        incumbent_.used[static_cast<std::size_t>(part.einsum)] = used(groups, part);
    }
}

void Run::join_simple(const std::string& step, const std::atomic<bool>* stop) {
    const Groups few = thin(take_groups());
    mapspace::JoinOptions j = join_options();
    j.beam = beam_rows;
    j.beam_states = beam_states;
    j.stop = stop;
    offer(few, mapspace::join(*problem_.workload, few, context_.tracked, j), step);
}

void Run::find_incumbent() {
    {
        const PhaseTimer timer(*this, "incumbent", "templates");
        // Perfect tile shapes have given one already where some may be partial.
        if (scalar() && context_.switches.beam_search && spaces_.size() > short_chain &&
            (!options_.mapspace.partial_tiles() || incumbent_.solutions.empty())) {
            if (far_above(lower_bound())) {
                find_simple();
            }
            beam_search();
        }
    }
    // Where the search is quick it is likely to end before this is of use.
    if (!scalar() || !context_.switches.cutoffs || long_search()) {
        find_simple();
    }
}

bool Run::long_search() const {
    std::uint64_t rows = 0;
    for (const EinsumSpace& s : spaces_) {
        const bool first = s.same == static_cast<std::size_t>(s.einsum);
        rows += s.evaluated - s.evaluated_in_class_bounds +
                (first ? class_bound_rows * s.templates->size() : 0);
    }
    return rows > quick_search;
}

void Run::find_simple() {
    // Close to the bound there is nothing to gain from it.
    if (!class_bounds_known_ || simple_tried_ || watch_.stopped() ||
        incumbent_.value() <= lower_bound() * close_enough) {
        return;
    }
    simple_tried_ = true;
    const PhaseTimer timer(*this, "incumbent", "templates");
    simple_rows(exploration_->explorer);
    join_simple("simple", watch_.stop());
}

void Run::find_promising() {
    const PhaseTimer timer(*this, "incumbent", "templates");
    promising_rows(exploration_->explorer, exploration_->class_bounds);
    join_simple("promising", watch_.stop());
    if (scalar() && result_.statistics.templates <= templates_of_early_beam &&
        std::isfinite(incumbent_.value()) && !watch_.stopped()) {
        const std::vector<double> cutoff = point_of(incumbent_.value());
        exploration_->rows.find_some(incumbents_at({cutoff}), early_beam);
        beam_join(take_groups(), cutoff, "beam");
    }
    exploration_->explorer.clear_results();
}

void Run::beam_search() {
    const double class_bound = lower_bound();
    if (class_bound > 0 && !watch_.stopped()) {
        const Incumbents of_use = incumbents_at({point_of(class_bound * (1 + near_excess))});
        const std::vector<double> cutoff = point_of(class_bound * (1 + beam_excess));
        for (const double own : own_excess) {
            if (incumbent_.value() > class_bound * (1 + beam_excess) && !watch_.stopped()) {
                const RowSearch::Near near{of_use, own};
                if (!exploration_->rows.find(incumbents_at({cutoff}), long_beam_search, &near)) {
                    beam_through(cutoff.front());
                    return;
                }
                beam_join(take_groups(), cutoff, "beam-search");
                replace_far_incumbent(class_bound);
            }
        }
    }
}

void Run::beam_through(double cutoff) {
    const PhaseTimer timer(*this, "incumbent", "templates");
    beam_tried_ = true;
    for (const double excess : beam_excesses) {
        const double at = std::max(cutoff, lower_bound() * (1 + excess));
        if (incumbent_.value() > at && !watch_.stopped()) {
            exploration_->rows.find_some(incumbents_at({point_of(at)}), tile_shape_beam);
            beam_join(take_groups(), point_of(at), "beam");
        }
    }
}

void Run::beam_join(const Groups& groups, const std::vector<double>& cutoff,
                    const std::string& step) {
    mapspace::JoinOptions j = join_options();
    j.beam = beam_rows;
    j.incumbents = {cutoff};
    j.stop = watch_.stop();
    offer(groups, mapspace::join(*problem_.workload, groups, context_.tracked, j), step);
}

void Run::offer(const Groups& groups, mapspace::JoinResult&& found, const std::string& step) {
    if (!scalar() && options_.mapspace.partial_tiles() && incumbent_.known()) {
        return;  // a Pareto set of perfect tile shapes
    }
    if (found.mappings.empty() ||
        (scalar() && value_at(found.mappings.front().objectives) >= incumbent_.value())) {
        return;
    }
    // What is known stays until there is all of the new one.
    std::vector<mapper::Solution> solutions;
    for (const mapspace::JoinedMapping& m : found.mappings) {
        solutions.push_back(solution(groups, m));
    }
    incumbent_.mappings = std::move(found.mappings);
    incumbent_.solutions = std::move(solutions);
    note_used(groups);
    for (const mapper::Solution& s : incumbent_.solutions) {
        report_incumbent(s, step);
    }
    say("incumbent: " + number(incumbent_.value()));
}

}  // namespace tessera::ffm
