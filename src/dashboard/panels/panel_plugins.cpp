// Plugins: who takes part, from which file, with which knobs.
#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"

namespace tessera::dashboard {

int draw_plugins(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const Table columns({{"kind", 8, 2, true},
                         {"name", 12, 0, true},
                         {"state", 8, 1, true},
                         {"version", 7, 4, true},
                         {"file", 12, 3, true, true}},
                        canvas.width());
    draw_line(canvas, 0, 0, columns.header());
    std::vector<Line> lines;
    for (const telemetry::PluginView& plugin : snapshot.plugins) {
        const bool detached = plugin.state == "detached";
        lines.push_back(
            columns.row({{plugin.kind, style::label},
                         {plugin.name, style::value},
                         {plugin.state, detached ? style::bad : style::good},
                         {plugin.version, {}},
                         {plugin.file.empty() ? "built in" : plugin.file, style::label}}));
        for (const auto& [knob, value] : plugin.knobs) {
            lines.push_back({{"  " + pad_right(knob, 20) + " ", style::label}, {value, {}}});
        }
    }
    if (lines.empty()) {
        canvas.text(0, 1, "no plugin takes part", style::label);
    }
    return draw_lines(canvas.part({0, 1, canvas.width(), canvas.height() - 1}), lines,
                      view.scroll_of(Panel::plugins), view.filter);
}

}  // namespace tessera::dashboard
