#include "dashboard/layout.hpp"

#include <algorithm>
#include <iterator>

namespace tessera::dashboard {

namespace {

constexpr Panel by_importance[panel_count] = {
    Panel::summary, Panel::incumbents, Panel::costs, Panel::funnel,     Panel::workers,
    Panel::mapping, Panel::pareto,     Panel::log,   Panel::comparison, Panel::plugins,
};

constexpr int tile_width = 38, tile_height = 9;

// Part `i` of `n` parts of `length`: where it begins.
int begin(int i, int n, int length) {
    return length * i / n;
}

// The first `count` panels in `rows` rows; a short last row is spread over the width.
void tile(std::vector<Placed>& placed, const std::vector<Panel>& panels, Rect body, int count,
          int rows, int columns) {
    for (int i = 0; i < count; ++i) {
        const int row = i / columns, column = i % columns;
        const int in_row = std::min(columns, count - row * columns);
        const int x = begin(column, in_row, body.width), y = begin(row, rows, body.height);
        placed.push_back({panels[static_cast<std::size_t>(i)],
                          {body.x + x, body.y + y, begin(column + 1, in_row, body.width) - x,
                           begin(row + 1, rows, body.height) - y}});
    }
}

// The searches of a comparison below, everything else in one row above.
void compare(std::vector<Placed>& placed, std::vector<Panel> panels, Rect body) {
    std::erase(panels, Panel::comparison);
    const int n = static_cast<int>(panels.size());
    tile(placed, panels, {body.x, body.y, body.width, tile_height}, n, 1, std::max(n, 1));
    placed.push_back(
        {Panel::comparison, {body.x, body.y + tile_height, body.width, body.height - tile_height}});
}

}  // namespace

const char* title(Panel panel) {
    static constexpr const char* titles[panel_count] = {
        "Summary",    "Incumbents", "Workers", "Funnel",  "Pareto",
        "Comparison", "Plugins",    "Log",     "Mapping", "Costs"};
    return titles[static_cast<int>(panel)];
}

std::vector<Panel> all_panels() {
    return {std::begin(by_importance), std::end(by_importance)};
}

Layout layout(Size size, const View& view, const std::vector<Panel>& panels, bool compares) {
    Layout result;
    if (size.width < smallest.width || size.height < smallest.height) {
        result.too_small = true;
        return result;
    }
    result.header = {0, 0, size.width, 1};
    result.footer = {0, size.height - 1, size.width, 1};
    const Rect body{0, 1, size.width, size.height - 2};
    const int columns = std::clamp(body.width / tile_width, 1, 4);
    const int known = static_cast<int>(panels.size());
    const int most_rows = (known + columns - 1) / columns;
    const int fitting = std::clamp(body.height / tile_height, 1, most_rows);
    const int count = std::min(known, columns * fitting);
    const auto last = panels.begin() + count;
    const bool hidden = count < known || std::find(panels.begin(), last, view.focus) == last;
    if (view.alone || (view.focus != Panel::summary && hidden)) {
        result.panels.push_back({view.focus, body});
        return result;
    }
    if (compares && body.height >= 2 * tile_height) {
        compare(result.panels, panels, body);
        return result;
    }
    tile(result.panels, panels, body, count, (count + columns - 1) / columns, columns);
    return result;
}

}  // namespace tessera::dashboard
