#include <algorithm>
#include <atomic>

#include "api/search.hpp"
#include "model/overflow.hpp"
#include "telemetry/sampler.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/loader.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

namespace {

using Models = plugin::Registry<model::CostModel>;
using Knobs = std::map<std::string, std::map<std::string, std::string>>;

plugin::KnobSettings knobs_of(const Knobs& knobs, const std::string& component) {
    const auto found = knobs.find(component);
    return found == knobs.end() ? plugin::KnobSettings{} : found->second;
}

plugin::Owned<model::CostModel> make_model(const std::string& name, const Knobs& knobs = {}) {
    plugin::register_builtins();
    api::check_model(name);
    return Models::instance().create(name, knobs_of(knobs, name));
}

/// Knobs of a component that takes no part would be lost without a word.
void check_knobs(const Options& options, const api::MapperChoice& choice) {
    std::vector<std::string> used{options.model, choice.mapper, choice.strategy};
    const plugin::KnobSettings runner = knobs_of(options.knobs, api::strategy_runner);
    if (choice.strategy.empty() && runner.contains("strategy")) {
        used.push_back(runner.at("strategy"));
    }
    for (const auto& [component, settings] : options.knobs) {
        if (std::find(used.begin(), used.end(), component) == used.end()) {
            throw UserError("knobs of '" + component + "' are set, which is not used here");
        }
    }
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

mapper::Options settings_of(const Options& options) {
    mapper::Options result;
    result.metrics = options.metrics;
    result.mapspace = options.mapspace;
    result.threads = options.threads;
    result.seed = options.seed;
    result.budget = options.limits;
    result.knobs = options.knobs;
    return result;
}

/// Reports to `options.progress` until the search is over, however it ends.
class Reporting {
public:
    Reporting(const Options& options, telemetry::Recorder& recorder) {
        std::vector<std::string> names;
        for (const mapper::Metric metric : options.metrics) {
            names.emplace_back(api::metric_name(metric));
        }
        recorder.set_metrics(names);
        if (!options.progress) {
            return;
        }
        telemetry::Sampler::Settings settings;
        settings.run.metrics = names;
        settings.budget = options.limits;
        sampler_.emplace(recorder, std::move(settings));
        sampler_->add(std::make_unique<ProgressSink>(options.progress));
        sampler_->start();
    }

private:
    std::optional<telemetry::Sampler> sampler_;
};

}  // namespace

const mapper::Solution& Result::best() const {
    if (!solutions.empty()) {
        return solutions.front();
    }
    if (status == mapper::Status::infeasible) {
        throw NoLegalMapping("no legal mapping" +
                             (reasons.empty() ? std::string() : ": " + api::one_text(reasons)));
    }
    throw LimitReached("the search ended before any mapping was found" +
                       (stopped_by.empty() ? std::string() : " (" + stopped_by + ")"));
}

std::optional<double> Result::gap() const {
    return api::gap(*this, metrics);
}

Result map(const Problem& problem, const Options& options) {
    if (options.metrics.empty()) {
        throw UserError("no metric is asked for; give at least one");
    }
    const auto model = make_model(options.model, options.knobs);
    const api::MapperChoice choice = api::choose_mapper(options.mapper);
    check_knobs(options, choice);
    mapper::Options settings = settings_of(options);
    for (const mapping::Mapping& known : options.start) {
        settings.start.push_back({known, model->evaluate(problem.view(), known)});
        for (const mapspace::Violation& v :
             mapspace::check(problem.view(), known, &options.mapspace)) {
            if (v.severity != mapspace::Severity::warning) {
                throw UserError("a mapping to begin with is not legal: " + mapspace::to_text(v));
            }
        }
    }
    if (!choice.strategy.empty()) {
        settings.knobs[choice.mapper]["strategy"] = choice.strategy;
    }
    const auto mapper = plugin::Registry<mapper::Mapper>::instance().create(
        choice.mapper, knobs_of(settings.knobs, choice.mapper));
    std::atomic<bool> stop{false};
    const std::stop_callback asked(options.stop, [&] { stop = true; });
    settings.stop = &stop;
    telemetry::Recorder recorder;
    settings.recorder = &recorder;
    const Reporting reporting(options, recorder);
    return {api::run_mapper(*mapper, problem.view(), *model, settings), options.metrics};
}

model::Report evaluate(const Problem& problem, const mapping::Mapping& mapping,
                       const std::string& model) {
    return make_model(model)->evaluate(problem.view(),
                                       model::settle_overflow(problem.view(), mapping).mapping);
}

void load_plugin(const std::string& file) {
    plugin::register_builtins();
    plugin::load_file(file);
}

}  // namespace tessera
