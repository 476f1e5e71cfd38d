#pragma once

// One run of mapper `ffm`; its steps are mapped at the top of ffm.cpp.

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bounds/class_bounds.hpp"
#include "bounds/cutoffs.hpp"
#include "explorer.hpp"
#include "heuristics/early_search.hpp"
#include "heuristics/incumbent.hpp"
#include "pipelines/relaxation.hpp"
#include "result.hpp"
#include "row_search.hpp"
#include "saved.hpp"
#include "templates/network_bound.hpp"
#include "tessera/base/same_cost.hpp"
#include "tessera/mapspace/join.hpp"
#include "tessera/search/watch.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::ffm {

/// A mapping within this factor of the bound needs no cutoff.
inline constexpr double close_enough = 1.03;
/// Rows of a search that is quick so far: about half a second.
inline constexpr std::uint64_t quick_search = 8'000'000;
/// Rows below a cutoff after which a mapping is looked for by beams before the others.
inline constexpr std::uint64_t long_exploration = 8'000'000;
/// Shorter cascades are soon known as a whole.
inline constexpr std::size_t long_cascade = 24;
/// Rows that the class bounds of one template are worth in `quick_search`.
inline constexpr std::uint64_t class_bound_rows = 1000;
/// A search that is stopped earlier still looks for any mapping for so long: it takes tens of
/// milliseconds, and there is nothing to show without.
inline constexpr std::chrono::milliseconds first_mapping{200};

/// With more partial mappings a mapping below the cutoff is looked for first: what lies between the
/// two need not be joined.
inline constexpr std::size_t rows_of_long_join = 100000;
inline constexpr std::uint64_t pairs_of_long_join = 200000;

/// Sums for the tables of completions of one join: half a second.
inline constexpr std::size_t sums_of_completions = 12'000'000;

/// Pmapping groups of every Einsum.
using Groups = std::vector<std::vector<mapspace::PmappingGroup>>;

/// What the steps of a run share.
struct Exploration {
    Exploration(const ExploreContext& context, std::vector<EinsumSpace>& spaces)
        : explorer(context, spaces), class_bounds(explorer), rows(explorer, class_bounds) {}

    TemplateExplorer explorer;
    ClassBounds class_bounds;
    RowSearch rows;
};

class Run {
public:
    Run(const model::Problem& problem, const model::CostModel& model,
        const mapper::Options& options);

    ~Run();

    mapper::Result run();
    /// To be asked for nothing but the first metric.
    void without_later_metric() {
        later_wanted_ = false;
    }

    // pipelines/rows.cpp
    /// What join_pipelines() made of all pmappings that can be part of a mapping at or below a
    /// cutoff.
    struct Pipelined {
        std::optional<mapping::Mapping> best;      ///< in turn; none: nothing costs so little
        std::vector<std::pair<int, int>> at_once;  ///< ranges of its Einsums
        double value = 0;       ///< with its pipelines, as the relaxation sees it
        bool exact = true;      ///< false: some memories have many sizes, which is relaxed
        bool complete = false;  ///< false: it was stopped or given up
        bool all_orders = true, loop_orders = true;
    };
    /// Templates, and least costs of their classes, for mappings that cost no more than `known`.
    /// False: it was stopped, or they are more than the join of pipelines can do. Instead of run();
    /// the model is a WeightedLoopTree.
    bool begin_pipelines(const PipelineRelaxation& relaxation, double known);
    Pipelined best_pipelines(double cutoff);

private:
    using Clock = std::chrono::steady_clock;

    /// \throws base::Stopped where there is nothing to be had from what was being done
    void search_all();
    void end_early();

    /// Adds its lifetime to a phase of the statistics, also if that ends by an exception.
    /// With a unit: it begins as a phase of the recorder, too.
    class PhaseTimer {
    public:
        PhaseTimer(Run& run, const char* name, const char* unit = nullptr);
        ~PhaseTimer();
        PhaseTimer(const PhaseTimer&) = delete;
        PhaseTimer& operator=(const PhaseTimer&) = delete;

    private:
        Run& run_;
        std::size_t at_;  ///< in the statistics
        Clock::time_point from_ = Clock::now();
    };

    /// A bound of the search without partial tiles is none of the whole search.
    void say(const std::string& step) const {
        const std::string line = silent_ && !pipelines_ ? "without partial tiles: " + step : step;
        options_.progress ? options_.progress(line) : recorder_.log(line);
    }

    /// The join of pipelines knows all that the problem has.
    bool pipelines_known() const;

    void open_paths();
    void open();
    void find_impossible();
    // templates/by_need.cpp
    /// Of Einsums that have too many templates, those that are of use (docs/ffm.md, section 1).
    bool by_need_applies() const;
    /// Whether the tree of templates bounds what this run searches.
    bool by_need_possible() const;
    /// A long cascade of Einsums whose tiles overlap.
    bool is_network() const;
    // templates/network_bound.cpp
    /// A bound of one from its Einsums, each by itself, before all their templates are made.
    void bound_network();
    void make_templates_by_need(const std::vector<std::size_t>& einsums);
    /// A mapping of these templates, by a run of its own.
    void find_among(const std::vector<std::shared_ptr<std::vector<TemplateEntry>>>& templates);

    /// Options of a run within this one: without limits, a start, and what it reports to.
    mapper::Options options_within() const;
    /// Of a limit in time on this run, what is left of a share, in equal parts.
    void limit_until(double share, double parts, base::Budget& budget) const;
    /// The best mapping of such a run, if it is better than the incumbent.
    void take_best_of(Run& within, const std::string& step);

    /// The best mapping that is given is the first incumbent.
    void take_start();

    /// Some template has many tile shapes: class bounds take long.
    bool has_large_templates() const;

    /// One Einsum with many or large templates.
    bool best_first_applies() const;
    bool search_best_first();

    /// With partial tiles: the best mapping without them first, by a run of its own. Whatever
    /// happens later, it holds.
    void find_perfect();
    void take_used(const Run& perfect);

    /// Partial tiles for the mapping that was found without.
    void improve();
    void join_improved(const Groups& groups);

    /// Of a long cascade: the best mappings of its parts, one after the other (repeated.cpp).
    void find_by_parts();
    /// `left`: parts that share what is left of the time. False if none was found.
    bool find_part(const std::vector<std::string>& einsums, std::size_t left,
                   mapping::Mapping& found);

    /// Mappings from smaller mapspaces, by runs of their own (restricted.cpp).
    void find_restricted();
    void find_in(const mapspace::MapSpaceOptions& mapspace, double share, const std::string& step);

    /// While the class bounds take long: good mappings of few templates (early.cpp). `done`: share
    /// of the class bounds. Thread rule of the question: any.
    bool early_due(double done) const;
    void find_early();

    /// Whether the incumbent is many times above a bound or a cutoff. Then find_simple() once the
    /// search has taken some time, and find_early() when that is due.
    bool far_above(double bound) const;
    void replace_far_incumbent(double cutoff);
    void join_early();
    /// Of each thread, at work.
    double seconds_so_far() const;

    /// A mapping, good or bad, before anything that takes time.
    void find_any();

    /// Until then a stop waits for the first mapping.
    Clock::time_point first_until() const {
        return start_ + first_mapping;
    }

    /// Joins pmappings, mostly without fused loops, with few rows and states per step. `stop`:
    /// null: base::current_stop() holds.
    void join_simple(const std::string& step, const std::atomic<bool>* stop = nullptr);

    /// What the root relaxation of the formulas says, where that is quick compared to the class
    /// bounds.
    void find_root_bounds();

    /// Least energy and latency of every Einsum: bounds of everything that follows.
    void find_class_bounds();
    void tighten_class_bounds();
    /// What is no better than the incumbent is of no use from now on.
    void look_below_incumbent();
    bool look_below_due() const;

    /// Of what is searched at present. Thread rule: any.
    SavedState state() const;
    /// Thread rule: any.
    void save();
    /// What the search without partial tiles, which comes first, has to be saved. Thread rule: any.
    void save_perfect(std::string state);

    /// The budget that earlier parts of the run leave of evaluations.
    static mapper::Options without_spent(mapper::Options options);

    bool scalar() const {
        return goal_ != mapspace::JoinGoal::pareto;
    }

    /// Objectives whose combination is `value`.
    std::vector<double> point_of(double value) const {
        return context_.n_objectives() == 2 ? std::vector<double>{value, 1.0}
                                            : std::vector<double>{value};
    }

    Incumbents incumbents_at(const std::vector<std::vector<double>>& points) const {
        return {goal_ == mapspace::JoinGoal::edp, points};
    }

    /// A first mapping: of the classes that the bound comes from; of templates without fused loops
    /// at once if the search will take long, else when the first cutoff has failed.
    void find_incumbent();

    /// A mapping of templates without fused loops.
    void find_simple();

    /// A mapping of few templates, where the class bounds will take long.
    void find_promising();

    /// Rows looked at, those of an interrupted search before this one included.
    std::uint64_t evaluated() const {
        return exploration_ ? exploration_->explorer.evaluated() : 0;
    }

    /// Whether the search has taken so long that a mapping is wanted before it goes on. It says the
    /// same whatever the threads do: rows explored within given bounds are counted, templates in
    /// place of the rows of the class bounds, where threads drop what others have just pruned.
    bool long_search() const;

    /// A mapping below the cutoff, or else below higher ones, from what beams through the tile
    /// shapes keep.
    void beam_through(double cutoff);

    /// Rows of few classes, not too far above the bound, joined with few rows per step.
    void beam_search();

    /// The mappings of least energy and of least latency, by short runs of their own.
    void find_by_objective();
    void take(const mapper::Solution& s, const std::string& step);

    /// Looks for a mapping at least as good as `cutoff` among the rows, with few rows per step.
    void beam_join(const Groups& groups, const std::vector<double>& cutoff,
                   const std::string& step);

    /// Takes what a join found as the incumbent, if it is better than what is known.
    void offer(const Groups& groups, mapspace::JoinResult&& found, const std::string& step);

    /// The exact search, first only for mappings close to the bound: what is found below a cutoff
    /// is optimal, and a low cutoff leaves little to explore.
    void find_optimum();

    /// Pmappings that can be part of a mapping as good as the points; none where a better mapping
    /// than these was found on the way. \throws base::Stopped
    std::optional<Groups> useful_groups(const std::vector<std::vector<double>>& points);

    /// Rows that cannot be part of a mapping as good as the points go, before they are joined.
    /// Returns what the relaxed join of all rows says; 0: it was not asked.
    double drop_useless(Groups& groups, const std::vector<std::vector<double>>& points) const;

    /// Explores and joins everything that can be at least as good as the points. True if that ended
    /// with a proven result.
    bool search(std::vector<std::vector<double>> points);
    bool join_exactly(const Groups& groups, std::vector<std::vector<double>> points);
    void count_useful(const Groups& groups);
    /// They are the result.
    void take_joined(const Groups& groups, mapspace::JoinResult exact);

    /// Cutoffs close above what the relaxed join of rows has shown, while it shows anything, from
    /// one on that is refuted. `excess`: by how much it was above the class bounds, as a share of
    /// them. True if that ended with a proven result.
    bool climb(double cutoff, double excess);
    /// search() below a cutoff. True if that ended with a proven result.
    bool decide(double cutoff);
    /// A join that ended in no part of the run so far is first done below lower cutoffs, which
    /// leave it less. True if that ended with a proven result.
    bool search_lower(double cutoff);
    /// Nothing lies at or below the cutoff.
    void refuted(double cutoff);
    // later_metric.cpp
    /// What is searched by the later metric once the first one's optimum is proven.
    struct Later {
        std::size_t first = 0;  ///< objective of both: the first metric
        double limit = 0;       ///< by it, of mappings that are as good
        double known = 0;       ///< of the best one, by the later metric
        mapper::LaterMetric result;

        /// What costs less is better, and not equal.
        double below() const {
            return known * (1 - base::same_cost_share);
        }
    };
    /// Of all mappings that are as good as the result, the best by the later metric.
    void find_later();
    void begin_later(mapper::Metric first);
    void note_costs_of_result();
    void search_later();
    void search_later_of_one();
    bool find_later_below(double cutoff);
    double least_later() const;
    void raise_later_bound(double bound);
    std::vector<std::vector<double>> later_points(double cutoff) const;
    Groups take_later_groups(const std::vector<std::vector<double>>& points);
    /// A beam is not exact; what takes more than little is given up.
    enum class JoinEffort { all, little, beam };
    bool offer_later(const Groups& groups, JoinEffort effort,
                     const std::vector<std::vector<double>>& points);
    void take_later(mapper::Solution found);

    /// What is proven by now: no mapping costs less.
    double proven() const {
        return std::max(lower_bound(), cutoffs_.refuted_in_all());
    }
    /// It is saved that it did: a run that goes on counts how often.
    void join_begins(double cutoff);

    /// A join without bound may return what the rows left out could beat.
    void drop_pruned(const std::vector<std::vector<double>>& points,
                     mapspace::JoinResult& found) const;

    /// Stopped early: the first mapping, and what is proven about it.
    void finish_with_incumbent();

    double metric_of_first() const {
        return mapper::metric_value(options_.metrics.front(), result_.solutions.front().report);
    }

    void set_bound(double value) {
        if (options_.metrics.size() == 1) {
            result_.bound = value;
            report_bound(value);
        }
    }

    /// What was reported once holds to the end, though a stop can leave the class bounds lower.
    void report_bound(double value) {
        if (options_.metrics.size() != 1) {
            return;
        }
        reported_bound_ = std::max(reported_bound_, value);
        if (!silent_) {
            recorder_.bound(value);
        }
    }

    void report_incumbent(const mapper::Solution& s, const std::string& step);

    mapspace::JoinOptions join_options() const;

    Groups take_groups();

    static Groups thin(const Groups& groups);

    /// From the class bounds of all Einsums, before from what the root relaxation of their formulas
    /// says; 0 without both.
    double lower_bound() const;

    mapping::Mapping mapping_of(const Groups& groups, const mapspace::JoinedMapping& m) const;
    /// The mapping, costed by the model. \throws Bug if that or the legality checker disagree
    mapper::Solution solution(const Groups& groups, const mapspace::JoinedMapping& m) const;

    /// Of the incumbent, whose groups these are.
    void note_used(const Groups& groups);
    UsedPmapping used(const Groups& groups, const mapspace::JoinedEinsum& part) const;

    bool silent_ = false;  ///< its bounds are not those of the whole run
    std::function<void(const mapper::Solution&)> tell_;  ///< whoever wants its incumbents at once
    Run* outer_ = nullptr;  ///< which saves the state of this one with its own; null: none
    model::Problem problem_;
    mapper::Options options_;
    telemetry::Recorder unread_;  ///< if nobody wants to know
    telemetry::Recorder& recorder_;
    search::Watch watch_;
    ExploreContext context_;
    mapspace::JoinGoal goal_ = mapspace::JoinGoal::single;
    int threads_ = 1;
    bool class_bounds_known_ = false;
    std::vector<KnownClassBounds> perfect_class_bounds_;  ///< with partial tiles
    /// By Einsum: nothing else is searched. Empty: all templates.
    std::vector<std::shared_ptr<std::vector<TemplateEntry>>> given_;
    /// Several Einsums may run at once: rows are compared by busy times, too.
    bool pipelines_ = false;
    PipelineRelaxation relaxation_;  ///< which of them count
    bool too_many_ = false;          ///< templates for a search of pipelines
    bool by_need_ = false;           ///< some Einsums have but the templates that are of use
    bool restricted_tried_ = false;  ///< find_restricted()
    bool simple_tried_ = false;
    bool beam_tried_ = false;  ///< beam_through()
    bool objectives_tried_ = false;
    std::optional<EarlySearch> early_;
    double early_next_s_ = 0;                             ///< when find_early() is due again
    std::set<EarlySearch::ClassOfEinsum> early_classes_;  ///< of the best mapping that it found
    double look_below_next_s_ = 0;
    bool below_incumbent_ = false;  ///< class bounds are those of better mappings
    bool root_bound_ = false;
    bool exhausted_ = false;  ///< the last search ended, and found nothing as good as it had to
    double reported_bound_ = 0;
    double relaxed_ = 0;  ///< least value of the last search's rows; infinite: there are none
    SavedState saved_;    ///< of the run that this one resumes
    CutoffLog cutoffs_;
    bool later_wanted_ = true;
    std::optional<Later> later_;
    SavedState saved_later_;  ///< of the run that this one resumes
    SavedState first_state_;  ///< when the later metric began
    std::mutex saved_perfect_lock_;
    std::string saved_perfect_;
    Incumbent incumbent_;
    std::vector<EinsumSpace> spaces_;
    std::optional<NetworkBound> network_bound_;
    std::unique_ptr<Exploration> exploration_;
    mapper::Result result_;
    Clock::time_point start_ = Clock::now();
    std::clock_t started_cpu_ = std::clock();
};

}  // namespace tessera::ffm
