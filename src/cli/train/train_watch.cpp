#include "train_watch.hpp"

#include <algorithm>
#include <ostream>

namespace tessera::cli {

namespace {

telemetry::ContenderView curve(const std::string& name, const std::vector<telemetry::Step>& steps) {
    telemetry::ContenderView view;
    view.name = name;
    view.history = steps;
    view.evaluated = steps.size();
    for (const telemetry::Step& step : steps) {
        if (!view.best || step.value < *view.best) {
            view.best = step.value;
            view.time_to_best_s = step.time_s;
            ++view.improved;
        }
    }
    return view;
}

}  // namespace

TrainWatch::TrainWatch(Settings settings, std::ostream& err)
    : settings_(std::move(settings)), err_(err), live_(live_settings(), err) {}

LiveRun::Settings TrainWatch::live_settings() {
    LiveRun::Settings live;
    live.run = settings_.run;
    live.ui = settings_.ui == Ui::line ? Ui::none : settings_.ui;  // its lines are of mappings
    live.plain = settings_.plain;
    live.left = "what is done is kept";
    live.amend = [this](telemetry::Snapshot& snapshot) { amend(snapshot); };
    return live;
}

void TrainWatch::say(const std::string& text) {
    if (settings_.ui == Ui::line) {
        err_ << text << std::endl;
    } else if (settings_.ui != Ui::none) {
        live_.recorder().log(text);
    }
}

void TrainWatch::begin(const std::string& unit, std::size_t done, std::size_t total) {
    phase_ = &live_.recorder().begin_phase(unit, total, unit);
    phase_->advance(done);
}

void TrainWatch::advance(std::size_t n) {
    phase_->advance(n);
}

void TrainWatch::losses(std::size_t epoch, double seen, std::optional<double> unseen) {
    telemetry::Recorder& recorder = live_.recorder();
    {
        const std::lock_guard lock(curves_);
        seen_.push_back({recorder.now_s(), seen});
        if (unseen) {
            unseen_.push_back({recorder.now_s(), *unseen});
        }
    }
    telemetry::Incumbent best;
    best.value = unseen.value_or(seen);
    best.found_by = "epoch " + std::to_string(epoch);
    recorder.incumbent(best);
    advance(1);
}

/// The sources of incumbents are epochs; what is to be compared are the two curves.
void TrainWatch::amend(telemetry::Snapshot& snapshot) {
    const std::lock_guard lock(curves_);
    snapshot.comparison.clear();
    if (seen_.empty()) {
        return;
    }
    snapshot.comparison.push_back(curve("training", seen_));
    if (!unseen_.empty()) {
        snapshot.comparison.push_back(curve("unseen problems", unseen_));
    }
    const double best =
        std::min_element(snapshot.comparison.begin(), snapshot.comparison.end(),
                         [](const auto& a, const auto& b) { return *a.best < *b.best; })
            ->best.value();
    for (telemetry::ContenderView& view : snapshot.comparison) {
        view.gap = *view.best > 0 ? (*view.best - best) / *view.best : 0.0;
    }
}

}  // namespace tessera::cli
