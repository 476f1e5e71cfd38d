// What a training shows while it runs: lines, or the views of a search with its loss curves in the
// place of the values of mappers.
#pragma once

#include <iosfwd>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/live_run.hpp"

namespace tessera::cli {

/// Thread rule: one thread; amend() on the sampler's.
class TrainWatch {
public:
    struct Settings {
        telemetry::RunIdentity run;
        Ui ui = Ui::line;
        bool plain = false;
    };

    TrainWatch(Settings settings, std::ostream& err);

    /// Ctrl-C, or a request in the dashboard.
    const Interrupt& interrupt() const {
        return live_.interrupt();
    }
    /// A line of progress.
    void say(const std::string& text);
    /// `done` of `total` things named `unit` at the beginning of a phase of that name.
    void begin(const std::string& unit, std::size_t done, std::size_t total);
    void advance(std::size_t n);
    /// After an epoch. `unseen`: empty: all problems are trained on.
    void losses(std::size_t epoch, double seen, std::optional<double> unseen);
    void finish(telemetry::RunState state) {
        live_.finish(state);
    }

private:
    LiveRun::Settings live_settings();
    void amend(telemetry::Snapshot& snapshot);

    const Settings settings_;
    std::ostream& err_;
    telemetry::Phase* phase_ = nullptr;
    std::mutex curves_;
    std::vector<telemetry::Step> seen_, unseen_;
    LiveRun live_;
};

}  // namespace tessera::cli
