// Log: the newest line at the bottom; scrolling goes back in time.
#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"

namespace tessera::dashboard {

int draw_log(Canvas canvas, const Snapshot& snapshot, const View& view) {
    std::vector<Line> lines;
    for (const telemetry::LogView& entry : snapshot.log) {
        const bool error = entry.level == telemetry::LogLevel::error;
        const bool warning = entry.level == telemetry::LogLevel::warning;
        // Words, not only colours.
        const std::string level = error ? "error: " : warning ? "warning: " : "";
        lines.push_back({{clock(entry.time_s) + " ", style::label},
                         {level + entry.text, error     ? style::bad
                                              : warning ? style::warning
                                                        : style::text}});
    }
    if (lines.empty()) {
        canvas.text(0, 0, "nothing to report", style::label);
    }
    return draw_lines(canvas, filtered(std::move(lines), view.filter), view.scroll_of(Panel::log),
                      true);
}

}  // namespace tessera::dashboard
