// What a search shows on its own terminal: the dashboard, or lines while there is none.
#pragma once

#include <iosfwd>
#include <memory>

#include "dashboard/tui_sink.hpp"
#include "telemetry/line_log.hpp"
#include "tessera/telemetry/sampler.hpp"

namespace tessera::cli {

/// Lines at first, the dashboard from `open_after_s` on (a search that is over by then does not
/// flash a screen), lines again once the user closed it.
class ScreenSink : public telemetry::Sink {
public:
    /// `open_after_s` 0: opens the dashboard at once. \throws UserError if that is not possible.
    ScreenSink(telemetry::RunControl& control, std::ostream& err,
               telemetry::LineLog::Settings lines, double open_after_s);

    std::string name() const override {
        return "the dashboard";
    }
    void update(const telemetry::SnapshotPtr& snapshot,
                const std::vector<telemetry::Event>& events) override;
    void finish(const telemetry::SnapshotPtr& snapshot,
                const std::vector<telemetry::Event>& events) override;

    /// The dashboard owns the terminal now. Same thread as update().
    bool drawing() const {
        return dashboard_ && !dashboard_->closed();
    }

private:
    telemetry::RunControl& control_;
    telemetry::LineLog lines_;
    const double open_after_s_;
    bool tried_ = false;
    std::unique_ptr<dashboard::TuiSink> dashboard_;
};

}  // namespace tessera::cli
