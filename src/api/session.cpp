// Map:
//   components_of()   names and knobs of Options
//   objection()       what the independent checker says of a mapping
//   searched()        the mapper's answer, traffic served as another metric
//   run_mapper()      the same, or the Pareto set over the usage of memories
//   Reporting         Options::progress
#include "tessera/session.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <sstream>

#include "api/search.hpp"
#include "api/served_metrics.hpp"
#include "model/overflow.hpp"
#include "telemetry/sampler.hpp"
#include "tessera/model/pipelines.hpp"
#include "tessera/search/open_space.hpp"
#include "usage_front.hpp"
#include "why_infeasible.hpp"

namespace tessera {

namespace {

/// The mapper's own account of its mapping and the model's may differ by rounding.
constexpr double agreement = 1e-9;

/// Knobs of a component that takes no part would be lost without a word.
Components components_of(const Options& options) {
    plugin::register_builtins();
    api::check_model(options.model);
    const api::MapperChoice choice = api::choose_mapper(options.mapper);
    Components result{options.model, choice.mapper, choice.strategy, options.knobs};
    for (const auto& [component, settings] : options.knobs) {
        if (!result.uses(component)) {
            throw UserError("knobs of '" + component + "' are set, which is not used here");
        }
    }
    if (!choice.strategy.empty()) {
        result.knobs[choice.mapper]["strategy"] = choice.strategy;
    }
    return result;
}

mapper::Options settings_of(const Options& options) {
    mapper::Options result;
    result.metrics = options.metrics;
    result.mapspace = options.mapspace;
    result.threads = options.threads;
    result.seed = options.seed;
    result.budget = options.limits;
    return result;
}

/// The first that counts; empty: it is legal. `space`: whose limits count too; null: none.
std::string objection(const model::Problem& problem, const mapping::Mapping& mapping,
                      const mapspace::MapSpaceOptions* space) {
    for (const mapspace::Violation& violation : mapspace::check(problem, mapping, space)) {
        if (violation.severity != mapspace::Severity::warning) {
            return mapspace::to_text(violation);
        }
    }
    return "";
}

/// The checker lets any loop leave a partial tile where some may. With one of the two switches
/// alone the places of a template decide which may (docs/mapspace.md, L6): the opened mapspace
/// knows them. \throws UserError if the model has no formulas
bool partial_tiles_fit(const model::Problem& problem, const model::CostModel& model,
                       const mapper::Solution& known, const mapspace::MapSpaceOptions& space) {
    mapspace::MapSpaceOptions whole = space;
    whole.imperfect_temporal = whole.imperfect_spatial = false;
    if (space.imperfect_temporal == space.imperfect_spatial ||
        objection(problem, known.mapping, &whole).empty()) {
        return true;
    }
    search::OpenOptions how;
    how.mapspace = space;
    const search::OpenSpace open(problem, model, how);
    search::Worker worker(open);
    search::Point point;
    return worker.encode(known.mapping, known.report.energy_j(), known.report.latency_s(), point) &&
           worker.evaluate(point).legal();
}

/// Bounds and values are sums in other orders.
constexpr double rounding = 1e-9;

/// A bound above what was found is wrong, and so is a proof by it. What was found is kept.
void leave_out_false_bound(mapper::Result& result, const std::string& mapper,
                           const std::vector<mapper::Metric>& metrics) {
    if (!result.bound || metrics.size() != 1 || result.solutions.empty()) {
        return;
    }
    const double value = mapper::metric_value(metrics.front(), result.solutions.front().report);
    if (!(*result.bound > value * (1 + rounding))) {
        return;
    }
    std::ostringstream why;
    why << "error: mapper '" << mapper << "' says that no mapping costs less than " << *result.bound
        << ", and found one that costs " << value
        << "; its bound is wrong and is left out; please report the inputs";
    result.status = mapper::Status::feasible;
    result.bound.reset();
    result.later.reset();
    result.reasons.push_back(why.str());
}

void evaluate_again(std::vector<mapper::Solution>& solutions, const model::Problem& problem,
                    const model::CostModel& model) {
    for (mapper::Solution& solution : solutions) {
        solution.report = model.evaluate(problem, solution.mapping);
    }
}

mapper::Result least_of_served(mapper::Mapper& mapper, const model::Problem& problem,
                               const model::CostModel& model, mapper::Options settings,
                               const api::Places& places) {
    const api::ServedView view(model, places);
    settings.metrics = api::viewed(settings.metrics, places);
    evaluate_again(settings.start, problem, view);
    mapper::Result result = mapper.map(problem, view, settings);
    evaluate_again(result.solutions, problem, model);
    return result;
}

mapper::Result searched(mapper::Mapper& mapper, const model::Problem& problem,
                        const model::CostModel& model, const mapper::Options& settings) {
    try {
        const api::Places places = api::places_of(settings.metrics);
        return places.any() ? least_of_served(mapper, problem, model, settings, places)
                            : mapper.map(problem, model, settings);
    } catch (const NoLegalMapping& error) {
        mapper::Result result;
        result.reasons = {error.what()};
        return result;
    } catch (const LimitReached&) {
        mapper::Result result;
        result.status = mapper::Status::feasible;
        const bool asked = settings.stop != nullptr && settings.stop->load();
        result.stopped_by = asked ? "stop" : settings.budget.max_time_s > 0 ? "max-time" : "";
        return result;
    }
}

mapper::Result run_mapper(const api::Search& search, const model::Problem& problem,
                          const model::CostModel& model, const mapper::Options& settings,
                          const UsageGoals& usage) {
    const auto start = std::chrono::steady_clock::now();
    mapper::Result result = usage.memories.empty()
                                ? search(problem, settings)
                                : api::usage_front(problem, model, settings, usage, search);
    if (result.status == mapper::Status::infeasible) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        api::explain_infeasible(problem, model, settings, spent.count(), result);
    }
    return result;
}

/// A mapper may leave out orders that are too many; what it says of the others holds for no mapping
/// to begin with that has one of these.
bool outside_searched_part(const model::Problem& problem, const mapper::Options& settings,
                           const mapper::Result& result) {
    const mapper::Statistics& of = result.statistics;
    mapspace::MapSpaceOptions in_file_order = settings.mapspace;
    in_file_order.all_einsum_orders = false;
    const auto given = [&](const mapper::Solution& found) {
        const std::string text = mapping::to_yaml(found.mapping);
        return std::any_of(
            settings.start.begin(), settings.start.end(),
            [&](const mapper::Solution& one) { return mapping::to_yaml(one.mapping) == text; });
    };
    return std::any_of(
        result.solutions.begin(), result.solutions.end(), [&](const mapper::Solution& found) {
            const bool other_order =
                !of.all_orders && !objection(problem, found.mapping, &in_file_order).empty();
            return (other_order || !of.loop_orders) && given(found);
        });
}

/// \throws PluginError if the two differ by more than rounding
void compare_costs(double claimed, double value) {
    if (std::abs(claimed - value) <= agreement * std::abs(value) ||
        (std::isnan(claimed) && std::isnan(value))) {
        return;
    }
    std::ostringstream text;
    text.precision(12);
    text << "the mapper says that its mapping costs " << claimed << ", the model says " << value;
    throw PluginError(text.str());
}

class ProgressSink : public telemetry::Sink {
public:
    explicit ProgressSink(std::function<void(const Progress&)> call) : call_(std::move(call)) {}

    std::string name() const override {
        return "progress";
    }
    void update(const telemetry::SnapshotPtr& snapshot,
                const std::vector<telemetry::Event>&) override {
        Progress progress;
        progress.elapsed_s = snapshot->elapsed_s;
        progress.evaluated = snapshot->funnel.evaluated;
        progress.best = snapshot->best;
        progress.bound = snapshot->bound;
        progress.gap = snapshot->gap;
        for (const telemetry::PhaseView& phase : snapshot->phases) {
            if (phase.active) {
                progress.phase = phase.name;
            }
        }
        call_(progress);
    }

private:
    const std::function<void(const Progress&)> call_;
};

/// Reports until the search is over, however it ends.
class Reporting {
public:
    Reporting(const mapper::Options& settings, const std::function<void(const Progress&)>& progress,
              telemetry::Recorder& recorder) {
        std::vector<std::string> names;
        for (const mapper::Metric metric : settings.metrics) {
            names.emplace_back(api::metric_name(metric));
        }
        recorder.set_metrics(names);
        if (!progress) {
            return;
        }
        telemetry::Sampler::Settings how;
        how.run.metrics = names;
        how.budget = settings.budget;
        sampler_.emplace(recorder, std::move(how));
        sampler_->add(std::make_unique<ProgressSink>(progress));
        sampler_->start();
    }

private:
    std::optional<telemetry::Sampler> sampler_;
};

model::Problem with_paths(model::Problem problem) {
    problem.paths = problem.paths_or_new();
    return problem;
}

}  // namespace

Session::Session(const model::Problem& problem, Components components, mapper::Options settings,
                 Space space)
    : problem_(with_paths(problem)),
      components_(std::move(components)),
      model_(components_.make_model()),
      settings_(std::move(settings)) {
    if (settings_.metrics.empty()) {
        throw UserError("no metric is asked for; give at least one");
    }
    settings_.knobs = components_.knobs;
    if (!components_.mapper.empty()) {
        const mapspace::MapSpaceOptions searched = components_.searched(settings_.mapspace);
        settings_.mapspace = space == Space::preferred ? searched : settings_.mapspace;
    }
}

Session::Session(const Problem& problem, const Options& options)
    : Session(problem.view(), components_of(options), settings_of(options),
              options.exact_mapspace ? Space::given : Space::preferred) {
    kept_ = problem;
    stop_ = options.stop;
    progress_ = options.progress;
    for (std::size_t i = 0; i < options.start.size(); ++i) {
        begin_with(options.start[i], "Options::start, mapping " + std::to_string(i + 1));
    }
    minimise_usage(options.usage);
}

mapper::Solution Session::member(const mapping::Mapping& mapping, const std::string& name) const {
    const auto refuse = [&](const std::string& why) { throw UserError(name + ": " + why); };
    mapper::Solution result{model::settle_overflow(problem_, mapping).mapping, {}};
    const bool in_turn = model_->name() != "transfusion" && !components_.overlaps();
    if (in_turn && !model::Unpipelined(mapping).ranges().empty()) {
        refuse("its !Pipeline runs branches at once, and mapper '" + components_.mapper +
               "' as it is set here runs them in turn; write !Sequential, or set --overlap "
               "pipeline for ffm");
    }
    try {
        result.report = model_->evaluate(problem_, result.mapping);
    } catch (const IllegalMapping& illegal) {
        refuse(illegal.what());
    }
    if (const std::string why = objection(problem_, result.mapping, nullptr); !why.empty()) {
        refuse(why);
    }
    if (const std::string why = objection(problem_, result.mapping, &settings_.mapspace);
        !why.empty()) {
        refuse("not in the mapspace that is searched: " + why);
    }
    if (!partial_tiles_fit(problem_, *model_, result, settings_.mapspace)) {
        refuse(
            "not in the mapspace that is searched: one of imperfect temporal and imperfect spatial "
            "is on, and its partial tiles are those of the other");
    }
    return result;
}

void Session::begin_with(const mapping::Mapping& mapping, const std::string& name) {
    settings_.start.push_back(member(mapping, name));
}

void Session::minimise_usage(UsageGoals goals) {
    api::check_usage(problem_, settings_.budget, goals);
    usage_ = std::move(goals);
}

model::Report Session::judge(const mapping::Mapping& mapping) const {
    if (const std::string why = objection(problem_, mapping, nullptr); !why.empty()) {
        throw IllegalMapping("the mapping is illegal: " + why);
    }
    return model_->evaluate(problem_, mapping);
}

void Session::judge(mapper::Result& result) const {
    const bool own = components_.mapper == api::timeloop_mapper;
    const std::string found = "the mapping that mapper '" + components_.mapper + "' found is ";
    for (mapper::Solution& solution : result.solutions) {
        const std::string why =
            objection(problem_, solution.mapping, own ? nullptr : &settings_.mapspace);
        if (!why.empty()) {
            const bool legal = objection(problem_, solution.mapping, nullptr).empty();
            throw PluginError(
                found + (legal ? "not in the mapspace that is searched: " : "illegal: ") + why);
        }
        model::Report report;
        try {
            report = model_->evaluate(problem_, solution.mapping);
        } catch (const IllegalMapping& illegal) {
            throw PluginError(found + "illegal: " + illegal.what());
        }
        for (const mapper::Metric metric : settings_.metrics) {
            compare_costs(mapper::metric_value(metric, solution.report),
                          mapper::metric_value(metric, report));
        }
        solution.report = std::move(report);
    }
    if (result.status == mapper::Status::optimal &&
        outside_searched_part(problem_, settings_, result)) {
        result.status = mapper::Status::feasible;
        result.bound.reset();
        result.reasons.emplace_back(
            "a mapping that was given to begin with is the best, in orders that were not searched");
    }
    leave_out_false_bound(result, components_.mapper, settings_.metrics);
}

Session::Turn Session::turn() const {
    Turn turn;
    turn.seed = settings_.seed;
    turn.limits = settings_.budget;
    return turn;
}

Result Session::search(const Turn& turn) const {
    mapper::Options settings = settings_;
    settings.seed = turn.seed;
    settings.budget = turn.limits;
    settings.recorder = turn.recorder;
    settings.stop = turn.stop;
    settings.resume = turn.resume;
    if (turn.recorder != nullptr) {
        settings.progress = [&](const std::string& line) { turn.recorder->log(line); };
    }
    const api::Search once = [&](const model::Problem& problem, const mapper::Options& how) {
        return searched(*components_.make_mapper(), problem, *model_, how);
    };
    Result result{run_mapper(once, problem_, *model_, settings, usage_), settings_.metrics, usage_};
    judge(result);
    return result;
}

Result Session::search() const {
    std::atomic<bool> stop{false};
    const std::stop_callback asked(stop_, [&] { stop = true; });
    telemetry::Recorder recorder;
    Turn now = turn();
    now.recorder = &recorder;
    now.stop = &stop;
    const Reporting reporting(settings_, progress_, recorder);
    return search(now);
}

}  // namespace tessera
