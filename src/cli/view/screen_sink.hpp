// What a search shows on its own terminal with --ui=tui.
#pragma once

#include <iosfwd>

#include "dashboard/tui_sink.hpp"
#include "telemetry/line_log.hpp"
#include "telemetry/sampler.hpp"

namespace tessera::cli {

/// The dashboard, and lines once the user closed it.
class ScreenSink : public telemetry::Sink {
public:
    /// \throws UserError if there is no terminal to draw on
    ScreenSink(telemetry::RunControl& control, std::ostream& err,
               telemetry::LineLog::Settings lines);

    std::string name() const override {
        return "the dashboard";
    }
    bool shows_mapping() const override {
        return drawing();
    }
    void update(const telemetry::SnapshotPtr& snapshot,
                const std::vector<telemetry::Event>& events) override;
    void finish(const telemetry::SnapshotPtr& snapshot,
                const std::vector<telemetry::Event>& events) override;

    /// The dashboard owns the terminal now. Same thread as update().
    bool drawing() const {
        return !dashboard_.closed();
    }

private:
    telemetry::LineLog lines_;
    dashboard::TuiSink dashboard_;
};

}  // namespace tessera::cli
