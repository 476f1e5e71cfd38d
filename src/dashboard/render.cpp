#include "dashboard/render.hpp"

#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"
#include "dashboard/panels/pages.hpp"

namespace tessera::dashboard {

namespace {

using Draw = int (*)(Canvas, const Snapshot&, const View&);

// In the order of the enumeration Panel.
constexpr Draw draw[panel_count] = {draw_summary, draw_incumbents, draw_workers, draw_funnel,
                                    draw_pareto,  draw_comparison, draw_plugins, draw_log,
                                    draw_mapping, draw_costs};

// The mono theme keeps bold and reverse, so that what stands out still does.
void drop_colors(Frame& frame) {
    for (int y = 0; y < frame.size().height; ++y) {
        for (int x = 0; x < frame.size().width; ++x) {
            Cell cell = frame.at(x, y);
            cell.style.ink = Ink::text;
            frame.set(x, y, cell);
        }
    }
}

void draw_panels(Screen& screen, Canvas& whole, const Layout& where, const Snapshot& snapshot,
                 const View& view) {
    for (const Placed& placed : where.panels) {
        const auto number = static_cast<std::size_t>(placed.panel);
        const bool focused = placed.panel == view.focus;
        std::string name = key_of(placed.panel) + " " + title(placed.panel);
        name += placed.panel == Panel::incumbents ? ": " + objective_name(snapshot) : "";
        name += view.filter.empty() ? "" : " /" + view.filter;
        Canvas inside = whole.part(placed.area)
                            .box(name, focused ? style::text : style::frame,
                                 focused ? style::focused : style::title);
        screen.scroll_limit[number] =
            draw[number](inside.part({1, 0, inside.width() - 2, inside.height()}), snapshot, view);
    }
}

/// Those that say something of this run. A focus on another shows it all the same.
std::vector<Panel> panels_of(const Snapshot& snapshot) {
    std::vector<Panel> panels = all_panels();
    std::erase_if(panels, [&](Panel panel) { return !says_something(panel, snapshot); });
    return panels;
}

}  // namespace

Screen render(Size size, const telemetry::Snapshot& snapshot, const View& view) {
    Screen screen{Frame(size), {}, 0, {}, {}, false};
    Canvas whole(screen.frame, {0, 0, size.width, size.height}, symbols(view.symbols));
    const Layout where = layout(size, view, panels_of(snapshot), snapshot.compares);
    screen.panels = where.panels;
    screen.compares = snapshot.compares;
    if (const auto marked = marked_search(snapshot, view).marked) {
        const telemetry::ContenderView& search = snapshot.comparison[*marked];
        screen.marked = {search.search.value_or(0), search.state};
    }
    if (where.too_small) {
        draw_too_small(whole, snapshot, view);
    } else {
        draw_header(whole.part(where.header), snapshot, view);
        draw_footer(whole.part(where.footer), snapshot, view);
        if (view.page == Page::panels) {
            draw_panels(screen, whole, where, snapshot, view);
        } else {
            Canvas body = whole.part({0, 1, size.width, size.height - 2});
            screen.page_limit =
                view.page == Page::help ? draw_help(body, view) : draw_options(body, view);
        }
    }
    screen.frame.light = view.theme == Theme::light;
    if (view.theme == Theme::mono) {
        drop_colors(screen.frame);
    }
    return screen;
}

}  // namespace tessera::dashboard
