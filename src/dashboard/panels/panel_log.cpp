// Log: the newest line at the bottom; scrolling goes back in time.
#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"

namespace tessera::dashboard {

int draw_log(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const auto line = [&](int i) -> Line {
        const telemetry::LogView& entry = snapshot.log[static_cast<std::size_t>(i)];
        const bool error = entry.level == telemetry::LogLevel::error;
        const bool warning = entry.level == telemetry::LogLevel::warning;
        // Words, not only colours.
        const std::string level = error ? "error: " : warning ? "warning: " : "";
        return {{clock(entry.time_s) + " ", style::label},
                {level + entry.text, error     ? style::bad
                                     : warning ? style::warning
                                               : style::text}};
    };
    if (snapshot.log.empty()) {
        canvas.text(0, 0, "nothing to report", style::label);
    }
    return draw_list(canvas, {static_cast<int>(snapshot.log.size()), line},
                     view.scroll_of(Panel::log), view.filter, true);
}

}  // namespace tessera::dashboard
