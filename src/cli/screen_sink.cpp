#include "cli/screen_sink.hpp"

namespace tessera::cli {

ScreenSink::ScreenSink(telemetry::RunControl& control, std::ostream& err,
                       telemetry::LineLog::Settings lines, double open_after_s)
    : control_(control), lines_(err, lines), open_after_s_(open_after_s) {
    if (open_after_s <= 0) {
        tried_ = true;
        dashboard_ = std::make_unique<dashboard::TuiSink>(control);
    }
}

void ScreenSink::update(const telemetry::SnapshotPtr& snapshot,
                        const std::vector<telemetry::Event>& events) {
    if (!tried_ && snapshot->elapsed_s >= open_after_s_) {
        tried_ = true;
        try {
            dashboard_ = std::make_unique<dashboard::TuiSink>(control_);
        } catch (const std::exception&) {
            // Lines go on: nobody asked for the dashboard by name.
        }
    }
    if (drawing()) {
        dashboard_->update(snapshot, events);
    } else {
        lines_.update(snapshot, events);
    }
}

void ScreenSink::finish(const telemetry::SnapshotPtr& snapshot,
                        const std::vector<telemetry::Event>& events) {
    const bool was_drawing = drawing();
    if (dashboard_) {
        dashboard_->finish(snapshot, events);
    }
    if (!was_drawing) {
        lines_.finish(snapshot, events);
    }
}

}  // namespace tessera::cli
