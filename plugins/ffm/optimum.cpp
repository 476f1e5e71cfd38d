#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "base/leave.hpp"
#include "bounds/bound_tightening.hpp"
#include "mapspace/row_semijoin.hpp"
#include "run.hpp"
#include "tessera/mapper/solutions.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::ffm {
namespace {

// An incumbent this close to the bound is at the bound, summed in another order.
constexpr double reached = 1e-13;
/// Cutoffs up to this are tried whatever is known: a mapping within a percent leaves far more to
/// explore, where everything fits, than the optimum at the bound.
constexpr double always_tried = 1e-3;
/// Where cutoffs up to this have failed, energy and latency trade off: each of them alone is looked
/// for.
constexpr double near_bound = 0.08;
/// By how much cutoffs grow from what the relaxed join of rows has shown.
constexpr double climbing_steps[] = {0.003, 0.04, 0.08, 0.2};
constexpr std::size_t thinned_rows = 6;
/// With partial tiles: a search for the last digits of a class bound can take longer than there is
/// time. At first, costs of classes that are lower by less than this share than without are not
/// looked for; then bounds are tightened as far as these numbers of rows per template reach, in
/// turn.
constexpr double first_share = 0.2, first_rows = 3e4;
/// Without partial tiles: rows of all templates together, of which each has its exact least costs.
constexpr double rows_of_class_bounds = 2e6;
/// Class bounds that have become tighter are used when so many times as much time is over.
constexpr double look_below_pause = 1.15;
constexpr double rows_of_turn[] = {3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7};
/// By how much a turn should tighten the bound.
constexpr double worthwhile = 1.003;

/// The solutions that none of the others beats, best in the first metric first.
std::vector<mapper::Solution> front_of(const std::vector<mapper::Metric>& metrics,
                                       const std::vector<mapper::Solution>& solutions) {
    std::vector<mapper::Solution> kept;
    for (const mapper::Solution& s : solutions) {
        mapper::keep_if_better(kept, s, metrics);
    }
    return kept;
}

}  // namespace

void Run::find_root_bounds() {
    if (!exploration_->class_bounds.nothing_shared() && !options_.mapspace.partial_tiles()) {
        return;
    }
    const PhaseTimer timer(*this, "class bounds", "templates");
    root_bound_ = exploration_->class_bounds.find_root_bounds();
    report_bound(lower_bound());
}

void Run::find_class_bounds() {
    const PhaseTimer timer(*this, "class bounds", "templates");
    exploration_->class_bounds.start_from(perfect_class_bounds_, first_share);
    exploration_->class_bounds.restore(saved_.class_bounds);
    const bool turns = !perfect_class_bounds_.empty();
    ClassBounds& bounds = exploration_->class_bounds;
    const auto find = [&](double most_rows) {
        do {
            class_bounds_known_ =
                bounds.find([this] { save(); }, most_rows, turns,
                            [this, &bounds](double done) {
                                return early_due(done) || (bounds.open() && look_below_due());
                            });
            if (bounds.paused() && bounds.open()) {
                bounds.relax_so_far();
                report_bound(lower_bound());
            }
            if (bounds.paused() && early_due(0)) {
                find_early();
            }
            if (bounds.paused() && bounds.open()) {
                look_below_incumbent();
            }
        } while (bounds.paused());
    };
    find(turns ? first_rows : context_.switches.exact_class_bounds ? rows_of_class_bounds : 0);
    if (bounds.open() && !turns && class_bounds_known_) {
        // A bound and a mapping, before what takes long.
        exploration_->explorer.bound_first(true);
        report_bound(lower_bound());
        find_promising();
        look_below_incumbent();
        find(std::numeric_limits<double>::infinity());
        exploration_->rows.forget_completions();
    }
    for (const EinsumSpace& s : spaces_) {
        if (s.least.empty() && class_bounds_known_) {
            std::ranges::move(explain_empty(*problem_.workload, s),
                              std::back_inserter(result_.reasons));
        }
    }
    if (turns && class_bounds_known_ && result_.reasons.empty()) {
        tighten_class_bounds();
    }
    if (class_bounds_known_ && result_.reasons.empty()) {
        say("class bounds: bound " + number(lower_bound()));
        report_bound(lower_bound());
    }
    save();  // what a stop leaves of it too: a job of short parts advances
}

void Run::look_below_incumbent() {
    if (context_.switches.drop_templates && scalar() && std::isfinite(incumbent_.value()) &&
        !watch_.stopped()) {
        exploration_->class_bounds.look_below(incumbent_.value());
        below_incumbent_ = true;
    }
    look_below_next_s_ = look_below_pause * seconds_so_far();
}

bool Run::look_below_due() const {
    return context_.switches.drop_templates && seconds_so_far() >= look_below_next_s_;
}

/// Energy and latency in turn with both of them together. What gains little pauses, four times
/// longer each time.
void Run::tighten_class_bounds() {
    report_bound(lower_bound());
    const std::vector<double> costs = incumbent_.costs();
    BoundTightening tightening(exploration_->explorer, exploration_->class_bounds,
                               {perfect_class_bounds_, costs}, [this] { save(); });
    std::array<int, 2> pause{}, poor{};
    for (const double rows : rows_of_turn) {
        for (const std::size_t scalarised : {0, 1}) {
            if (watch_.stopped() || (scalarised == 1 && !tightening.scalarised()) ||
                pause[scalarised]-- > 0) {
                continue;
            }
            const double before = lower_bound();
            report_bound(before);
            tightening.tighten(scalarised == 1, rows);
            if (recorder_.checkpoint_due()) {
                save();
            }
            poor[scalarised] += lower_bound() < before * worthwhile ? 1 : 0;
            pause[scalarised] =
                lower_bound() < before * worthwhile ? 1 << 2 * (poor[scalarised] - 1) : 0;
        }
    }
}

SavedState Run::state() const {
    SavedState state;
    state.refuted_cutoff = cutoffs_.refuted_in_all();
    // Which templates there are by need is found anew.
    if (!by_need_) {
        state.class_bounds =
            exploration_ ? exploration_->class_bounds.progress() : saved_.class_bounds;
        state.searches = exploration_ ? exploration_->rows.kept().all() : saved_.searches;
    }
    state.joins = cutoffs_.joins();
    state.later = saved_.later;
    return state;
}

void Run::save() {
    if (!recorder_.stores_checkpoints()) {
        return;
    }
    SavedState now = state();
    if (outer_ != nullptr) {
        outer_->save_perfect(to_text(now));
        return;
    }
    if (later_) {
        now.later.clear();
        std::string inner = to_text(now);
        now = first_state_;
        now.later = std::move(inner);
    }
    now.evaluated = saved_.evaluated + static_cast<double>(recorder_.evaluated());
    {
        const std::lock_guard lock(saved_perfect_lock_);
        now.perfect = saved_perfect_;
    }
    recorder_.checkpoint(to_text(now));
}

void Run::save_perfect(std::string state) {
    {
        const std::lock_guard lock(saved_perfect_lock_);
        saved_perfect_ = std::move(state);
    }
    save();
}

mapper::Options Run::without_spent(mapper::Options options) {
    std::uint64_t& most = options.budget.max_evals;
    if (most > 0 && !options.resume.empty()) {
        const double rest = static_cast<double>(most) - read_saved_state(options.resume).evaluated;
        most = rest > 1 ? static_cast<std::uint64_t>(rest) : 1;
    }
    return options;
}

void Run::find_optimum() {
    const double class_bound = lower_bound();
    if (scalar() && class_bounds_known_ && incumbent_.value() <= class_bound * (1 + reached)) {
        exhausted_ = true;
        finish_with_incumbent();
        return;
    }
    const std::vector<double> all =
        options_.mapspace.partial_tiles()
            ? partial_cutoffs_above(class_bound, incumbent_.value(), options_.budget.gap)
            : cutoffs_above(class_bound, incumbent_.value());
    // A mapping below the last cutoff that the asked gap allows would end the search. Of partial
    // tiles there is a cutoff for the gap.
    const double gap = options_.mapspace.partial_tiles() ? 0 : options_.budget.gap;
    const double allowed = gap / (1 - gap);
    auto next = std::ranges::upper_bound(all, allowed);
    next = next == all.begin() ? next : next - 1;
    for (; next != all.end(); ++next) {
        const double excess = *next;
        const double cutoff = class_bound * (1 + excess);
        // A mapping close enough is as good a bound, and certain to end the search.
        if (!scalar() || !context_.switches.cutoffs || !(class_bound > 0) ||
            (incumbent_.value() <= class_bound * close_enough && excess > always_tried &&
             !options_.mapspace.partial_tiles()) ||
            cutoff >= incumbent_.value() || watch_.stopped()) {
            break;
        }
        if (cutoffs_.refuted_before(cutoff)) {
            report_bound(cutoff);
            find_simple();
            continue;
        }
        replace_far_incumbent(cutoff);
        if (excess > near_bound) {
            find_by_objective();
        }
        if (decide(cutoff) || climb(cutoff, excess)) {
            return;
        }
        if (long_search()) {
            find_simple();
        }
    }
    // An incumbent below the next cutoff is worth as much: a better one pays in a long search only.
    const bool near =
        scalar() && next != all.end() && incumbent_.value() <= class_bound * (1 + *next);
    if (!near || long_search()) {
        find_simple();
    }
    if (scalar() && std::isfinite(incumbent_.value()) && search_lower(incumbent_.value())) {
        return;
    }
    search(incumbent_.points());
    if (result_.solutions.empty() && result_.reasons.empty()) {
        finish_with_incumbent();
    }
}

bool Run::climb(double cutoff, double excess) {
    // Where rows have shown no more than the join, a step below the last one shows little.
    const std::size_t first = relaxed_ <= cutoff && climbing_steps[0] < excess ? 1 : 0;
    for (std::size_t i = first; std::isfinite(relaxed_) && !watch_.stopped(); ++i) {
        const double step = climbing_steps[std::min(i, std::size(climbing_steps) - 1)];
        cutoff = std::max(relaxed_, cutoff) * (1 + step);
        // Without an incumbent there may be no mapping at all.
        const bool known = std::isfinite(incumbent_.value());
        if (cutoff >= incumbent_.value() || (!known && i >= std::size(climbing_steps))) {
            return false;
        }
        if (decide(cutoff)) {
            return true;
        }
    }
    return false;
}

bool Run::decide(double cutoff) {
    if (search_lower(cutoff)) {
        return true;
    }
    if (watch_.stopped()) {
        return false;
    }
    if (search({point_of(cutoff)})) {
        return true;
    }
    if (exhausted_) {
        refuted(cutoff);
    }
    return false;
}

bool Run::search_lower(double cutoff) {
    for (double lower = cutoffs_.lower_one(cutoff, proven()); lower > 0 && !watch_.stopped();
         lower = cutoffs_.lower_one(cutoff, proven())) {
        if (decide(lower)) {
            return true;
        }
    }
    return false;
}

void Run::refuted(double cutoff) {
    cutoffs_.refute(cutoff);
    report_bound(cutoffs_.refuted());
    exploration_->rows.kept().forget();
    save();
}

void Run::join_begins(double cutoff) {
    cutoffs_.join_begins(cutoff);
    save();
}

std::optional<Groups> Run::useful_groups(const std::vector<std::vector<double>>& points) {
    const base::StopScope scope({watch_.stop()});
    base::poll_stop();
    relaxed_ = std::numeric_limits<double>::infinity();
    const auto explore = [&](std::uint64_t most_rows) {
        const PhaseTimer timer(*this, "tile shapes", "templates");
        return exploration_->rows.find(incumbents_at(points), most_rows);
    };
    // Where many tile shapes tie, a mapping at the bound ends what would take long. Of Einsums that
    // share nothing local search has found one.
    const bool beam = !beam_tried_ && scalar() && !points.empty() &&
                      !exploration_->class_bounds.nothing_shared() &&
                      value_at(points.front()) < incumbent_.value() &&
                      context_.switches.beam_search && !options_.mapspace.partial_tiles();
    if (!explore(beam ? long_exploration : 0)) {
        beam_through(value_at(points.front()));
        if (incumbent_.value() <= value_at(points.front())) {
            return std::nullopt;
        }
        explore(0);
    }
    const PhaseTimer timer(*this, "tile shapes");
    base::LeftOnStop<Groups> groups(take_groups());
    relaxed_ = drop_useless(*groups, points);
    if (scalar() && !points.empty()) {
        // Whatever costs no more than the points is made of these rows.
        report_bound(std::min(relaxed_, value_at(points.front())));
    }
    return std::move(*groups);
}

double Run::drop_useless(Groups& groups, const std::vector<std::vector<double>>& points) const {
    if (context_.switches.row_semijoin) {
        mapspace::semijoin_rows(
            *problem_.workload, groups, goal_,
            context_.switches.join_bound ? points : std::vector<std::vector<double>>{});
    }
    if (!context_.switches.completion_bounds || !context_.switches.join_bound || points.empty()) {
        return 0;
    }
    return mapspace::fix_by_reduced_costs(*problem_.workload, groups, goal_, points,
                                          sums_of_completions);
}

bool Run::search(std::vector<std::vector<double>> points) {
    exhausted_ = false;
    const bool below_cutoff = scalar() && !points.empty();
    const double cutoff = below_cutoff ? value_at(points.front()) : 1;
    std::optional<Groups> useful;
    try {
        useful = useful_groups(points);
    } catch (const base::Stopped&) {
        // What is not kept is as bad as a join that does not end.
        if (below_cutoff && exploration_->rows.kept().overflowed()) {
            join_begins(cutoff);
        }
        throw;
    }
    if (!useful) {
        exhausted_ = incumbent_.value() <= lower_bound() * (1 + reached);
        if (exhausted_) {
            finish_with_incumbent();
        }
        return exhausted_;
    }
    Groups& groups = *useful;
    if (below_cutoff) {
        join_begins(cutoff);
    }
    const bool ended = join_exactly(groups, std::move(points));
    if (watch_.stopped()) {
        base::leave(std::move(groups));
    } else if (below_cutoff) {
        cutoffs_.join_ended(cutoff);
    }
    return ended;
}

void Run::count_useful(const Groups& groups) {
    std::size_t useful = 0, count = 0;
    for (const auto& einsum : groups) {
        count += einsum.size();
        for (const mapspace::PmappingGroup& g : einsum) {
            useful += g.rows();
        }
    }
    result_.statistics.pareto = useful;
    say("tile shapes: " + std::to_string(useful) + " pmappings of use in " + std::to_string(count) +
        " groups");
}

bool Run::join_exactly(const Groups& groups, std::vector<std::vector<double>> points) {
    count_useful(groups);
    std::optional<PhaseTimer> timer(std::in_place, *this, "join");
    mapspace::JoinOptions j = join_options();
    j.stop = watch_.stop();
    telemetry::Phase& joining =
        recorder_.begin_phase("join", problem_.workload->einsums.size(), "Einsums");
    j.progress = [this, &joining](int joined, std::size_t states, std::size_t n) {
        joining.done = static_cast<std::uint64_t>(joined);
        if (joined > 0) {
            recorder_.einsum(static_cast<std::size_t>(joined) - 1).joined = n;
        }
        say("join: " + std::to_string(joined) + " of " +
            std::to_string(problem_.workload->einsums.size()) + " Einsums, " + std::to_string(n) +
            " partial mappings in " + std::to_string(states) + " states");
    };
    const auto join = [&] {
        if (context_.switches.join_bound) {
            j.incumbents = points;
        }
        mapspace::JoinResult out = mapspace::join(*problem_.workload, groups, context_.tracked, j);
        result_.statistics.evaluated += out.rows_joined;
        recorder_.worker(0, "ffm").generated(out.rows_joined);
        recorder_.worker(0, "ffm").evaluated(out.rows_joined);
        return out;
    };
    const bool may_be_long = scalar() && !points.empty() && context_.switches.join_bound;
    j.most_rows = may_be_long ? rows_of_long_join : 0;
    j.most_pairs = may_be_long ? pairs_of_long_join : 0;
    mapspace::JoinResult exact = join();
    bool found_first = false;
    if (exact.given_up) {
        const double before = incumbent_.value();
        beam_join(groups, points.front(), "beam");
        found_first = incumbent_.value() < before;
        if (incumbent_.value() <= lower_bound() * (1 + reached)) {
            exhausted_ = true;
            finish_with_incumbent();
            return true;
        }
        if (found_first) {
            points = {incumbent_.mappings.front().objectives};
        }
        j.most_rows = 0;
        j.most_pairs = 0;
        exact = join();
    }
    drop_pruned(points, exact);
    timer.reset();
    result_.statistics.all_orders = exact.all_orders;
    if (!exact.complete) {
        return false;
    }
    if (!exact.mappings.empty()) {
        take_joined(groups, std::move(exact));
        return true;
    }
    exhausted_ = true;
    if (found_first) {
        finish_with_incumbent();
    } else if (points.empty()) {
        result_.reasons.push_back(explain_failed_join(*problem_.workload, context_.tracked, exact));
    }
    return found_first;
}

void Run::take_joined(const Groups& groups, mapspace::JoinResult exact) {
    for (const mapspace::JoinedMapping& m : exact.mappings) {
        result_.solutions.push_back(solution(groups, m));
    }
    result_.solutions = front_of(options_.metrics, result_.solutions);
    for (const mapper::Solution& s : result_.solutions) {
        report_incumbent(s, "join");
    }
    incumbent_.mappings = std::move(exact.mappings);
    note_used(groups);
    result_.status = mapper::Status::optimal;
    set_bound(metric_of_first());
}

void Run::drop_pruned(const std::vector<std::vector<double>>& points,
                      mapspace::JoinResult& found) const {
    if (scalar() && !points.empty()) {
        const double limit = value_at(points.front()) * (1 + agreement);
        std::erase_if(found.mappings, [&](const mapspace::JoinedMapping& m) {
            return value_at(m.objectives) > limit;
        });
    }
}

void Run::finish_with_incumbent() {
    if (!incumbent_.known()) {
        throw LimitReached("stopped before a complete mapping was found; give more time");
    }
    result_.solutions = front_of(options_.metrics, incumbent_.solutions);
    result_.status = exhausted_ ? mapper::Status::optimal : mapper::Status::feasible;
    set_bound(exhausted_ ? metric_of_first()
                         : std::min(metric_of_first(), std::max(reported_bound_, lower_bound())));
}

void Run::report_incumbent(const mapper::Solution& s, const std::string& step) {
    recorder_.incumbent(
        incumbent_of(s, mapper::metric_value(options_.metrics.front(), s.report), step));
    if (tell_) {
        tell_(s);
    }
}

mapspace::JoinOptions Run::join_options() const {
    mapspace::JoinOptions j;
    j.goal = goal_;
    j.order = options_.mapspace.all_einsum_orders ? mapspace::EinsumOrder::all
                                                  : mapspace::EinsumOrder::file;
    j.lookahead = context_.switches.lookahead;
    j.completion_sums = context_.switches.completion_bounds ? sums_of_completions : 0;
    j.settle = context_.switches.redundant_capacity;
    j.reference_rules = !problem_.convention().exchange_by_tree;
    j.threads = threads_;
    return j;
}

Groups Run::take_groups() {
    Groups groups;
    for (EinsumSpace& s : spaces_) {
        groups.push_back(std::move(s.groups));
        s.groups.clear();
    }
    return groups;
}

Groups Run::thin(const Groups& groups) {
    Groups few;
    for (const auto& einsum : groups) {
        few.emplace_back();
        for (const mapspace::PmappingGroup& g : einsum) {
            few.back().push_back(mapspace::thinned(g, thinned_rows));
        }
    }
    return few;
}

double Run::lower_bound() const {
    if (!class_bounds_known_ && !root_bound_) {
        return 0;
    }
    const double least = exploration_->class_bounds.least_value();
    return below_incumbent_ ? std::min(least, incumbent_.value()) : least;
}

}  // namespace tessera::ffm
