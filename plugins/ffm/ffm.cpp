// Mapper `ffm`: optimal fused mappings from Pareto-optimal partial mappings (FFM), tile shapes
// explored by partial Pareto pruning (TCM). Map:
//   open      templates of every Einsum on every compute that may run it
//   descent   networks that share nothing: a beam and a local search per Einsum, before all proofs
//   floors    least energy and latency of every Einsum: bounds from the first moment
//   incumbent a mapping of templates without fused loops
//   optimum   all tile shapes that can still beat a guess close to the bound, pmappings grouped by
//   what
//             the join must know, and the exact join, bounded likewise; last guess: the incumbent
//   finish    LoopTrees of the winners, evaluated again by the cost model and checked
#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

#include "explore.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/mapping/assemble.hpp"
#include "tessera/mapspace/join.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/mapspace/partners.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/watch.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::ffm {
namespace {

using Clock = std::chrono::steady_clock;
using mapper::Metric;

// The mapper's sums and the model's re-evaluation differ by rounding only.
constexpr double agreement = 1e-9;
// An incumbent this close to the bound is at the bound, summed in another order.
constexpr double reached = 1e-13;
constexpr std::size_t beam_rows = 400;
constexpr std::size_t thinned_rows = 6;
/// Local searches before the floors: calls, and rows that are quick enough for more than two.
constexpr int most_descents = 6;
constexpr std::uint64_t descent_rows = 600000;
/// How far above the bound an optimum is looked for, before everything below the incumbent is.
constexpr double guesses[] = {0.02, 0.1, 0.4};
/// The same for the first mapping, which is looked for in classes that the bound allows so close.
constexpr double dive_excess = 0.01;
constexpr double near_excess = 1e-3;
/// In a dive: how much an Einsum may cost above its own least. Long chains leave all of the above
/// to every single Einsum, which is far too much; short ones need not try so often.
constexpr double own_excess[] = {0.003, 0.1, 1.0};
constexpr std::size_t short_chain = 12;
/// Share of a time limit for tile shapes without partial tiles.
constexpr double perfect_share = 0.5;
/// A mapping within this factor of the bound leaves nothing to guess.
constexpr double close_enough = 1.03;
/// The floors of fewer Einsums are known before a local search would end.
constexpr std::size_t few_einsums = 4;
/// Rows of a search that is quick so far: about half a second.
constexpr std::uint64_t quick_search = 8'000'000;
/// A search that is stopped earlier still looks for any mapping for so long: it takes tens of
/// milliseconds, and there is nothing to show without.
constexpr std::chrono::milliseconds first_mapping{200};

/// Pmapping groups of every Einsum.
using Groups = std::vector<std::vector<mapspace::PmappingGroup>>;

bool wants(const mapper::Options& o, Metric m) {
    return std::find(o.metrics.begin(), o.metrics.end(), m) != o.metrics.end();
}

mapspace::JoinGoal goal_of(const mapper::Options& o) {
    if (o.metrics.size() > 1) {
        return mapspace::JoinGoal::pareto;
    }
    return wants(o, Metric::edp) ? mapspace::JoinGoal::edp : mapspace::JoinGoal::single;
}

double metric_value(Metric m, const model::Report& r) {
    switch (m) {
        case Metric::energy:
            return r.energy_j();
        case Metric::latency:
            return r.latency_s();
        default:
            return r.edp_js();
    }
}

std::string number(double v) {
    std::ostringstream s;
    s << v;
    return s.str();
}

/// Why an Einsum has no pmapping at all.
std::vector<std::string> explain_empty(const workload::Workload& w, const EinsumSpace& space) {
    const std::string name = w.einsums[static_cast<std::size_t>(space.einsum)].name;
    if (!space.no_compute.empty()) {
        return {"Einsum " + name + ": " + space.no_compute};
    }
    std::vector<std::string> out;
    for (const CapacityNeed& n : space.needs) {
        out.push_back("Einsum " + name + ": memory " + n.memory + " needs at least " +
                      number(n.needed_bits) + " bits, its size is " + number(n.size_bits) +
                      " bits");
    }
    if (out.empty()) {
        out.push_back("Einsum " + name + ": no tile shapes meet all constraints of any of its " +
                      std::to_string(space.templates->size()) + " templates");
    }
    return out;
}

/// Number of combinations of one pmapping per Einsum, before any are pruned or fail to join.
std::string mapspace_size(const std::vector<EinsumSpace>& spaces) {
    boost::multiprecision::cpp_int size = 1;
    for (const EinsumSpace& s : spaces) {
        if (s.size.empty()) {
            return "";
        }
        size *= boost::multiprecision::cpp_int(s.size);
    }
    return size.str();
}

/// One run of the mapper.
class Run {
public:
    Run(const model::Problem& problem, const model::CostModel& model,
        const mapper::Options& options)
        : problem_(problem),
          options_(options),
          recorder_(options.recorder != nullptr ? *options.recorder : unread_),
          watch_(options.budget, options.stop, recorder_, options.metrics.size() == 1) {
        options_.stop = watch_.stop();
        saved_ = read_saved_state(options.resume);
        context_.recorder = &recorder_;
        context_.problem = &problem_;
        context_.model = &model;
        context_.options = &options_;
        context_.switches = switches_without(options.without);
        const bool both = options.metrics.size() > 1 || wants(options, Metric::edp);
        context_.want_energy = both || wants(options, Metric::energy);
        context_.want_latency = both || wants(options, Metric::latency);
        threads_ = options.threads > 0
                       ? options.threads
                       : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
        options_.threads = threads_;
    }

    mapper::Result run() {
        try {
            search_all();
        } catch (const base::Stopped&) {
            exhausted_ = false;
            finish_with_incumbent();
        }
        result_.statistics.evaluated += evaluated();
        result_.statistics.mapspace_size = mapspace_size(spaces_);
        result_.statistics.wall_s = seconds(start_);
        result_.statistics.threads = threads_;
        if (result_.status == mapper::Status::feasible && watch_.reason() != nullptr) {
            result_.stopped_by = watch_.reason();
        }
        recorder_.end_phase();
        return std::move(result_);
    }

private:
    /// \throws base::Stopped where there is nothing to be had from what was being done
    void search_all() {
        open();
        if (result_.reasons.empty()) {
            find_perfect();
            find_any();
            find_floors();
        }
        if (result_.reasons.empty()) {
            find_incumbent();
            find_optimum();
        }
    }

    static double seconds(Clock::time_point from) {
        return std::chrono::duration<double>(Clock::now() - from).count();
    }

    /// Adds its lifetime to a phase of the statistics, also if that ends by an exception.
    class PhaseTimer {
    public:
        PhaseTimer(Run& run, const char* name) : run_(run), name_(name) {}
        ~PhaseTimer() {
            auto& phases = run_.result_.statistics.phases;
            const auto it = std::find_if(phases.begin(), phases.end(),
                                         [&](const auto& p) { return p.first == name_; });
            (it == phases.end() ? phases.emplace_back(name_, 0.0) : *it).second += seconds(from_);
        }
        PhaseTimer(const PhaseTimer&) = delete;
        PhaseTimer& operator=(const PhaseTimer&) = delete;

    private:
        Run& run_;
        const char* name_;
        Clock::time_point from_ = Clock::now();
    };

    void say(const std::string& line) const {
        options_.progress ? options_.progress(line) : recorder_.log(line);
    }

    void open() {
        const PhaseTimer timer(*this, "templates");
        const workload::Workload& w = *problem_.workload;
        std::vector<std::string> names;
        for (const auto& einsum : w.einsums) {
            names.push_back(einsum.name);
        }
        recorder_.set_einsums(names);
        telemetry::Phase& opening = recorder_.begin_phase("templates", w.einsums.size(), "Einsums");
        EqualEinsums equal;
        for (std::size_t e = 0; e < w.einsums.size(); ++e) {
            if (watch_.stopped() && Clock::now() >= first_until()) {
                throw base::Stopped{};
            }
            EinsumSpace& space = spaces_.emplace_back(open_einsum(context_, static_cast<int>(e)));
            if (context_.switches.equal_einsums && !space.paths.empty()) {
                space.same = equal.first(space);
            }
            if (space.same == e) {
                make_templates(context_, space);
            } else {
                space.templates = spaces_[space.same].templates;
            }
            result_.statistics.templates += space.templates->size();
            recorder_.einsum(e).templates_total = space.templates->size();
            opening.advance();
            if (space.templates->empty()) {
                for (std::string& reason : explain_empty(w, spaces_.back())) {
                    result_.reasons.push_back(std::move(reason));
                }
            }
        }
        context_.tracked = tracked_memories(spaces_);
        say("templates: " + std::to_string(result_.statistics.templates) + " of " +
            std::to_string(w.einsums.size()) + " Einsums");
    }

    bool partial_tiles() const {
        return options_.mapspace.imperfect_temporal || options_.mapspace.imperfect_spatial;
    }

    /// With partial tiles: the best mapping without them first, by a run of its own. Whatever
    /// happens later, it holds.
    void find_perfect() {
        if (!partial_tiles()) {
            return;
        }
        const PhaseTimer timer(*this, "perfect tile shapes");
        mapper::Options o = options_;
        o.mapspace.imperfect_temporal = o.mapspace.imperfect_spatial = false;
        o.resume.clear();
        o.budget = {};
        if (options_.budget.max_time_s > 0) {
            o.budget.max_time_s = perfect_share * options_.budget.max_time_s;
        }
        o.recorder = &recorder_;
        Run perfect(problem_, *context_.model, o);
        perfect.silent_ = true;
        try {
            mapper::Result found = perfect.run();
            coarse_solutions_ = std::move(found.solutions);
            if (!coarse_solutions_.empty()) {
                coarse_ = std::move(perfect.coarse_);
            }
            result_.statistics.evaluated += found.statistics.evaluated;
        } catch (const LimitReached&) {  // no mapping in time: this run may still find one
        }
    }

    /// A mapping, good or bad, before anything that takes time.
    void find_any() {
        const PhaseTimer timer(*this, "incumbent");
        recorder_.begin_phase("incumbent", 0, "templates");
        exploration_.emplace(context_, spaces_);
        exploration_->first(first_until());
        const base::StopScope scope({watch_.stop(), first_until()});
        join_simple("first");
        const bool descend = context_.switches.descent && scalar() &&
                             exploration_->nothing_shared() && spaces_.size() >= few_einsums;
        for (int pass = 0; pass < most_descents && descend; ++pass) {
            if (!watch_.stopped() && (pass < 2 || evaluated() < descent_rows)) {
                exploration_->descend(pass == 0 ? std::vector<double>{} : costs_of_known());
                join_simple("descent");
            }
        }
    }

    /// Until then a stop waits for the first mapping.
    Clock::time_point first_until() const {
        return start_ + first_mapping;
    }

    /// Joins pmappings without fused loops, with few rows per step.
    void join_simple(const std::string& step) {
        const Groups few = thin(take_groups());
        mapspace::JoinOptions j = join_options();
        j.beam = beam_rows;
        offer(few, mapspace::join(*problem_.workload, few, context_.tracked, j), step);
    }

    /// Least energy and latency of every Einsum: bounds of everything that follows.
    void find_floors() {
        const PhaseTimer timer(*this, "floors");
        recorder_.begin_phase("floors", 0, "templates");
        if (exploration_->nothing_shared()) {  // large ones take seconds
            promised_ = exploration_->promises();
            report_bound(lower_bound());
        }
        exploration_->restore(saved_.floors);
        floors_known_ = exploration_->floors([this] { save(); });
        for (const EinsumSpace& s : spaces_) {
            if (s.least.empty() && floors_known_) {
                for (std::string& reason : explain_empty(*problem_.workload, s)) {
                    result_.reasons.push_back(std::move(reason));
                }
            }
        }
        if (floors_known_ && result_.reasons.empty()) {
            say("floors: bound " + number(lower_bound()));
            report_bound(lower_bound());
            save();
        }
    }

    /// Thread rule: any.
    void save() {
        if (!silent_) {
            recorder_.checkpoint(
                to_text({std::max(beaten_guess_, saved_.beaten_guess), exploration_->progress()}));
        }
    }

    bool scalar() const {
        return goal_of(options_) != mapspace::JoinGoal::pareto;
    }

    /// Objectives whose combination is `value`.
    std::vector<double> point_of(double value) const {
        return context_.n_objectives() == 2 ? std::vector<double>{value, 1.0}
                                            : std::vector<double>{value};
    }

    double known() const {
        return coarse_.mappings.empty() ? std::numeric_limits<double>::infinity()
                                        : value_of(coarse_.mappings.front());
    }

    std::vector<double> costs_of_known() const {
        return coarse_.mappings.empty() ? std::vector<double>{}
                                        : coarse_.mappings.front().objectives;
    }

    Incumbents incumbents_at(const std::vector<std::vector<double>>& points) const {
        return {goal_of(options_) == mapspace::JoinGoal::edp, points};
    }

    /// A first mapping: of the classes that the bound comes from; of templates without fused loops
    /// at once if the search will take long, else when the first guess has failed.
    void find_incumbent() {
        {
            const PhaseTimer timer(*this, "incumbent");
            recorder_.begin_phase("incumbent", 0, "templates");
            if (scalar() && context_.switches.dive) {
                dive();
            }
        }
        // Where the search is quick it is likely to end before this is of use.
        if (!scalar() || !context_.switches.guesses || evaluated() > quick_search) {
            find_simple();
        }
    }

    /// A mapping of templates without fused loops.
    void find_simple() {
        // Close to the bound there is nothing to gain from it.
        if (!floors_known_ || simple_tried_ || watch_.stopped() ||
            known() <= lower_bound() * close_enough) {
            return;
        }
        const PhaseTimer timer(*this, "incumbent");
        simple_tried_ = true;
        recorder_.begin_phase("incumbent", 0, "templates");
        exploration_->simple();
        join_simple("simple");
    }

    std::uint64_t evaluated() const {
        std::uint64_t sum = 0;
        for (const EinsumSpace& s : spaces_) {
            sum += s.evaluated;
        }
        return sum;
    }

    /// Rows of few classes, not too far above the bound, joined with few rows per step.
    void dive() {
        const double floor = lower_bound();
        if (floor > 0 && !watch_.stopped()) {
            const Incumbents near = incumbents_at({point_of(floor * (1 + near_excess))});
            const std::vector<double> guess = point_of(floor * (1 + dive_excess));
            for (const double own : own_excess) {
                const bool last = own == own_excess[std::size(own_excess) - 1];
                if (known() > floor * (1 + dive_excess) && !watch_.stopped() &&
                    (last || spaces_.size() > short_chain)) {
                    exploration_->rows(incumbents_at({guess}), &near, own);
                    beam_join(take_groups(), guess, "dive");
                }
            }
        }
    }

    /// Looks for a mapping at least as good as `guess` among the rows, with few rows per step.
    void beam_join(const Groups& groups, const std::vector<double>& guess,
                   const std::string& step) {
        mapspace::JoinOptions j = join_options();
        j.beam = beam_rows;
        j.incumbents = {guess};
        j.stop = watch_.stop();
        offer(groups, mapspace::join(*problem_.workload, groups, context_.tracked, j), step);
    }

    /// Takes what a join found as the mapping to be beaten, if it is better than what is known.
    void offer(const Groups& groups, mapspace::JoinResult&& found, const std::string& step) {
        if (!scalar() && partial_tiles() && !coarse_.mappings.empty()) {
            return;  // a Pareto set of perfect tile shapes
        }
        if (found.mappings.empty() || (scalar() && value_of(found.mappings.front()) >= known())) {
            return;
        }
        coarse_ = std::move(found);
        coarse_solutions_.clear();
        for (const mapspace::JoinedMapping& m : coarse_.mappings) {
            coarse_solutions_.push_back(solution(groups, m));
            report_incumbent(coarse_solutions_.back(), step);
        }
        say("incumbent: " + number(known()));
    }

    static double value_of(const mapspace::JoinedMapping& m) {
        return m.objectives.size() == 2 ? m.objectives[0] * m.objectives[1] : m.objectives[0];
    }

    /// The exact search, first only for mappings close to the bound: what is found below a guess is
    /// optimal, and a low guess leaves little to explore.
    void find_optimum() {
        const double floor = lower_bound();
        if (scalar() && floors_known_ && known() <= floor * (1 + reached)) {
            exhausted_ = true;
            finish_with_incumbent();
            return;
        }
        for (const double excess : guesses) {
            const double guess = floor * (1 + excess);
            // A mapping close enough is as good a bound, and certain to end the search.
            if (!scalar() || !context_.switches.guesses || !(floor > 0) ||
                known() <= floor * close_enough || guess >= known() || watch_.stopped()) {
                break;
            }
            if (guess <= saved_.beaten_guess) {  // proven before the search was interrupted
                beaten_guess_ = guess;
                report_bound(beaten_guess_);
                find_simple();
                continue;
            }
            if (search({point_of(guess)})) {
                return;
            }
            // Nothing lies at or below a guess that was searched to the end.
            beaten_guess_ = exhausted_ ? guess : beaten_guess_;
            report_bound(beaten_guess_);
            save();
            if (evaluated() > quick_search) {
                find_simple();
            }
        }
        find_simple();
        std::vector<std::vector<double>> points;
        for (const mapspace::JoinedMapping& m : coarse_.mappings) {
            points.push_back(m.objectives);
        }
        search(points);
        if (result_.solutions.empty() && result_.reasons.empty()) {
            finish_with_incumbent();
        }
    }

    /// Pmappings that can be part of a mapping as good as the points. \throws base::Stopped
    Groups useful_groups(const std::vector<std::vector<double>>& points) {
        const PhaseTimer timer(*this, "tile shapes");
        const base::StopScope scope({watch_.stop()});
        base::poll_stop();
        recorder_.begin_phase("tile shapes", 0, "templates");
        exploration_->rows(incumbents_at(points));
        Groups groups = take_groups();
        if (context_.switches.partners) {
            mapspace::drop_rows_without_partners(
                *problem_.workload, groups, goal_of(options_),
                context_.switches.join_bound ? points : std::vector<std::vector<double>>{});
        }
        return groups;
    }

    /// Explores and joins everything that can be at least as good as the points. True if that ended
    /// with a proven result.
    bool search(const std::vector<std::vector<double>>& points) {
        exhausted_ = false;
        const Groups groups = useful_groups(points);
        std::size_t useful = 0, count = 0;
        for (const auto& einsum : groups) {
            count += einsum.size();
            for (const mapspace::PmappingGroup& g : einsum) {
                useful += g.rows();
            }
        }
        result_.statistics.pareto = useful;
        say("tile shapes: " + std::to_string(useful) + " pmappings of use in " +
            std::to_string(count) + " groups");
        std::optional<PhaseTimer> timer(std::in_place, *this, "join");
        mapspace::JoinOptions j = join_options();
        if (context_.switches.join_bound) {
            j.incumbents = points;
        }
        j.stop = watch_.stop();
        telemetry::Phase& joining =
            recorder_.begin_phase("join", problem_.workload->einsums.size(), "Einsums");
        j.progress = [this, &joining](int joined, std::size_t states, std::size_t n) {
            joining.done = static_cast<std::uint64_t>(joined);
            if (joined > 0) {
                recorder_.einsum(static_cast<std::size_t>(joined) - 1).joined = n;
            }
            say("join: " + std::to_string(joined) + " of " +
                std::to_string(problem_.workload->einsums.size()) + " Einsums, " +
                std::to_string(n) + " partial mappings in " + std::to_string(states) + " states");
        };
        mapspace::JoinResult exact =
            mapspace::join(*problem_.workload, groups, context_.tracked, j);
        drop_beaten(points, exact);
        timer.reset();
        result_.statistics.all_orders = exact.all_orders;
        result_.statistics.evaluated += exact.rows_joined;
        recorder_.worker(0, "ffm").generated(exact.rows_joined);
        recorder_.worker(0, "ffm").evaluated(exact.rows_joined);
        if (!exact.complete) {
            return false;
        }
        if (exact.mappings.empty()) {
            exhausted_ = true;
            if (points.empty()) {
                explain_failed_join(exact);
            }
            return false;
        }
        for (const mapspace::JoinedMapping& m : exact.mappings) {
            result_.solutions.push_back(solution(groups, m));
        }
        keep_requested_front();
        for (const mapper::Solution& s : result_.solutions) {
            report_incumbent(s, "join");
        }
        coarse_ = std::move(exact);
        result_.status = mapper::Status::optimal;
        set_bound(metric_of_first());
        return true;
    }

    /// A join without bound may return what the rows left out could beat.
    void drop_beaten(const std::vector<std::vector<double>>& points,
                     mapspace::JoinResult& found) const {
        if (scalar() && !points.empty()) {
            const std::vector<double>& p = points.front();
            const double limit = (p.size() == 2 ? p[0] * p[1] : p[0]) * (1 + agreement);
            std::erase_if(found.mappings,
                          [&](const mapspace::JoinedMapping& m) { return value_of(m) > limit; });
        }
    }

    /// Stopped early: the first mapping, and what is proven about it.
    void finish_with_incumbent() {
        if (coarse_.mappings.empty()) {
            throw LimitReached("stopped before a complete mapping was found; give more time");
        }
        result_.solutions = std::move(coarse_solutions_);
        keep_requested_front();
        result_.status = exhausted_ ? mapper::Status::optimal : mapper::Status::feasible;
        set_bound(exhausted_ ? metric_of_first()
                             : std::min(metric_of_first(), std::max(beaten_guess_, lower_bound())));
    }

    double metric_of_first() const {
        return metric_value(options_.metrics.front(), result_.solutions.front().report);
    }

    void set_bound(double value) {
        if (options_.metrics.size() == 1) {
            result_.bound = value;
            report_bound(value);
        }
    }

    void report_bound(double value) {
        if (options_.metrics.size() == 1 && !silent_) {
            recorder_.bound(value);
        }
    }

    void report_incumbent(const mapper::Solution& s, const std::string& step) {
        telemetry::Incumbent found;
        found.value = metric_value(options_.metrics.front(), s.report);
        found.energy_j = s.report.energy_j();
        found.latency_s = s.report.latency_s();
        found.found_by = "ffm";
        found.detail = step;
        found.mapping = [tree = s.mapping] { return mapping::to_yaml(tree); };
        recorder_.incumbent(std::move(found));
    }

    mapspace::JoinOptions join_options() const {
        mapspace::JoinOptions j;
        j.goal = goal_of(options_);
        j.order = options_.mapspace.all_einsum_orders ? mapspace::EinsumOrder::all
                                                      : mapspace::EinsumOrder::file;
        j.lookahead = context_.switches.lookahead;
        j.relax = context_.switches.relaxed_join;
        j.reference_rules = problem_.compat == arch::Compat::accelforge;
        j.threads = threads_;
        return j;
    }

    Groups take_groups() {
        Groups groups;
        for (EinsumSpace& s : spaces_) {
            groups.push_back(std::move(s.groups));
            s.groups.clear();
        }
        return groups;
    }

    static Groups thin(const Groups& groups) {
        Groups few;
        for (const auto& einsum : groups) {
            few.emplace_back();
            for (const mapspace::PmappingGroup& g : einsum) {
                few.back().push_back(mapspace::thinned(g, thinned_rows));
            }
        }
        return few;
    }

    /// From the floors of all Einsums, before from what their formulas promise; 0 without both.
    double lower_bound() const {
        if (!floors_known_ && !promised_) {
            return 0;
        }
        double least = std::numeric_limits<double>::infinity();
        for (const std::array<double, 2>& p : exploration_->bound()) {
            least = std::min(least, context_.n_objectives() == 2 ? p[0] * p[1] : p[0]);
        }
        return least;
    }

    void explain_failed_join(const mapspace::JoinResult& r) {
        const std::string name =
            problem_.workload->einsums[static_cast<std::size_t>(std::max(r.failed_at, 0))].name;
        if (r.failed_capacity) {
            double size = 0;
            for (const mapspace::TrackedMemory& m : context_.tracked) {
                size = m.name == r.failed_memory ? m.size_bits : size;
            }
            result_.reasons.push_back("up to Einsum " + name + ": memory " + r.failed_memory +
                                      " needs at least " + number(r.failed_needed_bits) +
                                      " bits at one time, its size is " + number(size) + " bits");
        } else {
            result_.reasons.push_back(
                "Einsum " + name +
                ": none of its pmappings backs the shared tensors where the Einsums before it do");
        }
    }

    mapper::Solution solution(const Groups& groups, const mapspace::JoinedMapping& m) {
        std::vector<mapping::Branch> branches;
        std::vector<int> shared;
        for (std::size_t e = 0; e < m.einsums.size(); ++e) {
            const mapspace::JoinedEinsum& part = m.einsums[e];
            const auto einsum = static_cast<std::size_t>(part.einsum);
            const mapspace::PmappingGroup& g = groups[einsum][static_cast<std::size_t>(part.group)];
            const TemplateEntry& t = (*spaces_[einsum].templates)[g.source_template[part.row]];
            const std::size_t n = t.tmpl.symbols.size();
            const auto row =
                t.tiles.begin() + static_cast<std::ptrdiff_t>(g.source_row[part.row] * n);
            const std::vector<std::int64_t> tiles(row, row + static_cast<std::ptrdiff_t>(n));
            const arch::Path& path = *spaces_[einsum].paths[static_cast<std::size_t>(t.path_index)];
            branches.push_back({&path, mapspace::fill(path, t.tmpl, tiles.data(), part.order)});
            if (e + 1 < m.einsums.size()) {
                shared.push_back(part.shared_with_next);
            }
        }
        mapper::Solution s;
        s.mapping = mapping::assemble(branches, shared);
        s.report = context_.model->evaluate(problem_, s.mapping);
        check_agreement(m, s.report);
        check_legality(s.mapping);
        return s;
    }

    /// The independent checker has the last word on every result.
    void check_legality(const mapping::Mapping& mapping) const {
        mapspace::MapSpaceOptions limits = options_.mapspace;
        limits.partial_inner_tiles = problem_.compat == arch::Compat::accelforge;
        for (const mapspace::Violation& v : mapspace::check(problem_, mapping, &limits)) {
            if (v.severity != mapspace::Severity::warning) {
                throw Bug("the best mapping found is not legal: " + mapspace::to_text(v));
            }
        }
    }

    void check_agreement(const mapspace::JoinedMapping& m, const model::Report& r) const {
        std::vector<double> again;
        if (context_.want_energy) {
            again.push_back(r.energy_j());
        }
        if (context_.want_latency) {
            again.push_back(r.latency_s());
        }
        for (std::size_t i = 0; i < again.size(); ++i) {
            const double a = m.objectives[i];
            if (std::abs(a - again[i]) > agreement * std::max(std::abs(a), std::abs(again[i]))) {
                throw Bug("the joined mapping's cost " + number(a) +
                          " differs from its evaluation " + number(again[i]));
            }
        }
    }

    /// `energy,latency` keeps all; `energy,edp` and the like keep their own Pareto set of it.
    void keep_requested_front() {
        if (options_.metrics.size() < 2) {
            return;
        }
        auto values = [&](const mapper::Solution& s) {
            std::vector<double> v;
            for (const Metric m : options_.metrics) {
                v.push_back(metric_value(m, s.report));
            }
            return v;
        };
        std::vector<mapper::Solution> kept;
        for (std::size_t i = 0; i < result_.solutions.size(); ++i) {
            const std::vector<double> a = values(result_.solutions[i]);
            bool dominated = false;
            for (std::size_t k = 0; k < result_.solutions.size() && !dominated; ++k) {
                const std::vector<double> b = values(result_.solutions[k]);
                bool le = true;
                for (std::size_t q = 0; q < a.size(); ++q) {
                    le = le && b[q] <= a[q];
                }
                dominated = k != i && le && (b != a || k < i);
            }
            if (!dominated) {
                kept.push_back(result_.solutions[i]);
            }
        }
        std::stable_sort(kept.begin(), kept.end(),
                         [&](const auto& a, const auto& b) { return values(a) < values(b); });
        result_.solutions = std::move(kept);
    }

    bool silent_ = false;  ///< its bounds are not those of the whole run
    model::Problem problem_;
    mapper::Options options_;
    telemetry::Recorder unread_;  ///< if nobody wants to know
    telemetry::Recorder& recorder_;
    search::Watch watch_;
    ExploreContext context_;
    int threads_ = 1;
    bool floors_known_ = false;
    bool simple_tried_ = false;
    bool promised_ = false;
    bool exhausted_ = false;  ///< the last search ended, and found nothing as good as it had to
    double beaten_guess_ = 0;
    SavedState saved_;  ///< of the run that this one resumes
    mapspace::JoinResult coarse_;
    std::vector<mapper::Solution> coarse_solutions_;  ///< the first mapping
    std::vector<EinsumSpace> spaces_;
    std::optional<Exploration> exploration_;
    mapper::Result result_;
    Clock::time_point start_ = Clock::now();
};

}  // namespace

class Ffm : public mapper::Mapper {
public:
    std::string name() const override {
        return "ffm";
    }

    mapper::Result map(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Options& options) override {
        if (!model.has_formulas()) {
            throw UserError("mapper 'ffm' explores formulas, and cost model '" + model.name() +
                            "' gives none; use --model looptree, or a mapper that only evaluates");
        }
        return Run(problem, model, options).run();
    }
};

TESSERA_PLUGIN(tessera::mapper::Mapper, Ffm, "ffm",
               "optimal fused mappings by pruning and joining partial mappings",
               "Fast and Fusiest (FFM) and the Turbo-Charged Mapper (TCM)");

}  // namespace tessera::ffm
