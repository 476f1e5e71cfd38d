#include "screen_sink.hpp"

namespace tessera::cli {

ScreenSink::ScreenSink(telemetry::RunControl& control, std::ostream& err,
                       telemetry::LineLog::Settings lines)
    : lines_(err, lines), dashboard_(control) {}

void ScreenSink::update(const telemetry::SnapshotPtr& snapshot,
                        const std::vector<telemetry::Event>& events) {
    if (drawing()) {
        dashboard_.update(snapshot, events);
    } else {
        lines_.update(snapshot, events);
    }
}

void ScreenSink::finish(const telemetry::SnapshotPtr& snapshot,
                        const std::vector<telemetry::Event>& events) {
    const bool was_drawing = drawing();
    dashboard_.finish(snapshot, events);
    if (!was_drawing) {
        lines_.finish(snapshot, events);
    }
}

}  // namespace tessera::cli
