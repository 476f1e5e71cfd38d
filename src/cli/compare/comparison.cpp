#include "comparison.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "base/units.hpp"
#include "cli/output.hpp"
#include "telemetry/live_socket.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

void add_point(std::vector<ComparisonPoint>& curve, const ComparisonPoint& point) {
    if (curve.empty() || point.value < curve.back().value) {
        curve.push_back(point);
    }
}

void count(const telemetry::Recorder& recorder, Trial& trial) {
    std::uint64_t generated = 0, evaluated = 0;
    for (const telemetry::Recorder::Counted& counted : recorder.workers()) {
        generated += counted.worker->generated_count();
        evaluated += counted.worker->evaluated_count();
    }
    trial.generated = generated;
    trial.charged = recorder.charged();
    trial.evaluated = std::max(trial.evaluated, evaluated);
}

void attempt(Contender& contender, const Contender::Start& start, Trial& trial) {
    try {
        contender.run(start, trial);
    } catch (const Error& error) {
        trial.error = error.what();
        trial.status = Trial::Status::failed;
        trial.value.reset();
    } catch (const std::bad_alloc&) {
        trial.error = "the system has no more memory; --max-memory SIZE ends a search in time";
        trial.status = Trial::Status::failed;
        trial.value.reset();
    }
}

}  // namespace

std::string plain_name(std::string text) {
    for (char& c : text) {
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') {
            c = '-';
        }
    }
    return text;
}

std::optional<double> Trial::gap() const {
    if (status == Status::optimal) {
        return 0.0;
    }
    if (!value || !bound || !std::isfinite(*bound) || !(*value > 0)) {
        return std::nullopt;
    }
    return std::max(0.0, (*value - *bound) / *value);
}

std::optional<double> Trial::time_to(double goal, bool of_cpu) const {
    for (const ComparisonPoint& point : curve) {
        if (point.value <= goal) {
            return of_cpu ? point.cpu_s : point.time_s;
        }
    }
    return std::nullopt;
}

double Trial::at(double time_s) const {
    double best = std::numeric_limits<double>::infinity();
    for (const ComparisonPoint& point : curve) {
        if (point.time_s <= time_s) {
            best = std::min(best, point.value);
        }
    }
    return best;
}

std::string text(const Preparation& preparation) {
    std::string words;
    if (preparation.trained_on > 0) {
        words = "trained on " + std::to_string(preparation.trained_on);
    }
    if (preparation.tuned_by > 0) {
        words += (words.empty() ? "" : ", ") +
                 ("set itself by " + std::to_string(preparation.tuned_by)) + " in " +
                 base::quantity(preparation.tuned_s, "s");
    }
    return words.empty() ? "-" : words;
}

void show_trial(telemetry::ContenderView& view, const Trial& trial) {
    view.state = trial.status == Trial::Status::failed ? telemetry::WorkerState::failed
                                                       : telemetry::WorkerState::done;
    view.ending = name(trial.status);
    view.elapsed_s = trial.wall_s;
    view.best = trial.value;
    view.evaluated = trial.evaluated;
    view.improved = trial.curve.size();
    for (const ComparisonPoint& point : trial.curve) {
        view.history.push_back({point.time_s, point.value});
        view.time_to_best_s = point.time_s;
    }
}

const char* name(Trial::Status status) {
    static const char* const names[] = {"not run", "optimal",   "feasible", "infeasible",
                                        "unknown", "evaluated", "failed"};
    return names[static_cast<int>(status)];
}

bool Comparison::run_one(Contender& contender, Trial& trial, std::ostream& err) {
    Contender::Start start;
    start.seed = trial.seed;
    start.budget = budget;
    if (!contender.searches()) {
        attempt(contender, start, trial);
        if (trial.value) {
            trial.curve = {{0, *trial.value, 1}};
        }
        return true;
    }
    if (budget.max_cpu_s > 0) {  // is reckoned from the start of the process
        start.budget.max_cpu_s += usage().cpu_s;
    }
    LiveRun::Settings settings;
    settings.run = run;
    settings.run.mapper = contender.name();
    settings.run.seed = trial.seed;
    settings.run.id = telemetry::run_id(settings.run.id + "-" + contender.name());
    settings.budget = start.budget;
    settings.plugins = contender.plugins();
    settings.describe = contender.describe();
    settings.before = ended();
    settings.ui = ui;
    settings.plain = plain;
    settings.rescue = [this](const std::vector<std::string>&) { rescue(); };
    std::vector<ComparisonPoint> curve;  // written by the sampler, read after its end
    std::uint64_t memory = 0;
    settings.watch = [&](const telemetry::Snapshot& now,
                         const std::vector<telemetry::Event>& events) {
        memory = std::max(memory, now.memory_bytes);
        for (const telemetry::Event& event : events) {
            if (event.kind == telemetry::Event::Kind::incumbent) {
                add_point(curve, {event.incumbent->time_s, event.incumbent->value,
                                  event.incumbent->evaluated, event.incumbent->cpu_s,
                                  event.incumbent->charged});
            }
        }
    };
    const auto owned = std::make_unique<LiveRun>(std::move(settings), err);
    LiveRun& live = *owned;
    start.recorder = &live.recorder();
    start.stop = live.interrupt().stop();
    const double cpu_s = usage().cpu_s, begin_s = live.recorder().now_s();
    attempt(contender, start, trial);
    trial.wall_s = live.recorder().now_s() - begin_s;
    trial.cpu_s = usage().cpu_s - cpu_s;
    live.hold();
    const bool cut = live.interrupted();
    live.finish(trial.status == Trial::Status::failed ? telemetry::RunState::failed
                : cut                                 ? telemetry::RunState::interrupted
                                                      : telemetry::RunState::finished);
    count(live.recorder(), trial);
    trial.memory_bytes = memory;
    for (ComparisonPoint& point : curve) {
        point.time_s = std::clamp(point.time_s - begin_s, 0.0, trial.wall_s);
        point.cpu_s = std::clamp(point.cpu_s - cpu_s, 0.0, trial.cpu_s);
    }
    trial.curve = std::move(curve);
    if (trial.value) {
        add_point(trial.curve,
                  {trial.wall_s, *trial.value, trial.evaluated, trial.cpu_s, trial.charged});
    }
    return !cut;
}

std::vector<telemetry::ContenderView> Comparison::ended() const {
    std::vector<telemetry::ContenderView> views;
    for (const auto& contender : contenders) {
        for (const Trial& trial : contender->trials) {
            if (trial.status != Trial::Status::not_run) {
                views.emplace_back().name =
                    contender->name() + (n_seeds > 1 ? " #" + std::to_string(trial.seed) : "");
                show_trial(views.back(), trial);
            }
        }
    }
    return views;
}

bool Comparison::run_all(std::ostream& err) {
    for (const auto& contender : contenders) {
        contender->trials.resize(contender->searches() ? n_seeds : 1);
        for (std::uint64_t s = 0; s < contender->trials.size(); ++s) {
            contender->trials[s].seed = first_seed + s;
        }
    }
    for (std::uint64_t s = 0; s < n_seeds; ++s) {
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            Contender& contender = *contenders[(i + s) % contenders.size()];
            if (s < contender.trials.size() && !run_one(contender, contender.trials[s], err)) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace tessera::cli
