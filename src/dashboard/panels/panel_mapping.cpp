// Mapping: the best one: charts of what runs at once, and the LoopTree with trip counts and tiles.
#include "dashboard/panels.hpp"

namespace tessera::dashboard {

int draw_mapping(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const std::vector<std::string>& text = snapshot.mapping.lines;
    if (text.empty()) {
        canvas.text(0, 0, snapshot.best ? "not told" : "nothing found yet", style::label);
    }
    const auto line = [&](int i) -> Line {
        return {{text[static_cast<std::size_t>(i)], style::text}};
    };
    return draw_list(canvas, {static_cast<int>(text.size()), line}, view.scroll_of(Panel::mapping),
                     view.filter);
}

}  // namespace tessera::dashboard
