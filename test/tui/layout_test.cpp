// The layout and the frame as functions, over all sizes of 1..300 x 1..120. No terminal is needed.
#include <boost/test/unit_test.hpp>
#include <set>

#include "dashboard/render.hpp"
#include "samples.hpp"

using namespace tessera;
using namespace tessera::dashboard;

BOOST_AUTO_TEST_SUITE(layout_of_the_dashboard)

namespace {

View focused(int panel) {
    View view;
    view.focus = static_cast<Panel>(panel);
    return view;
}

bool inside(const Rect& area, Size size) {
    return area.x >= 0 && area.y >= 0 && area.width > 0 && area.height > 0 &&
           area.x + area.width <= size.width && area.y + area.height <= size.height;
}

bool overlap(const Rect& a, const Rect& b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
           b.y < a.y + a.height;
}

// Every size once; the panel, the symbols, the theme and the snapshot go around.
template <class Check>
void for_many_sizes(int step, Check check) {
    int turn = 0;
    for (int width = 1; width <= 300; width += step) {
        for (int height = 1; height <= 120; height += step) {
            check(Size{width, height}, turn++);
        }
    }
}

int lines_of(const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

BOOST_AUTO_TEST_CASE(panels_tile_the_body_at_every_size) {
    int wrong = 0;
    for_many_sizes(1, [&](Size size, int turn) {
        const Layout where = layout(size, focused(turn % panel_count));
        if (where.too_small) {
            wrong += size.width >= smallest.width && size.height >= smallest.height;
            return;
        }
        int area = where.header.width + where.footer.width;
        for (std::size_t i = 0; i < where.panels.size(); ++i) {
            wrong += !inside(where.panels[i].area, size);
            wrong += overlap(where.panels[i].area, where.header);
            wrong += overlap(where.panels[i].area, where.footer);
            area += where.panels[i].area.width * where.panels[i].area.height;
            for (std::size_t k = 0; k < i; ++k) {
                wrong += overlap(where.panels[i].area, where.panels[k].area);
            }
        }
        wrong += area != size.width * size.height;
    });
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(the_focused_panel_is_always_shown) {
    int wrong = 0;
    for_many_sizes(1, [&](Size size, int turn) {
        const View view = focused(turn % panel_count);
        const Layout where = layout(size, view);
        int found = 0;
        for (const Placed& placed : where.panels) {
            found += placed.panel == view.focus;
        }
        wrong += !where.too_small && found != 1;
    });
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(a_larger_screen_never_shows_fewer_panels) {
    int wrong = 0;
    for (int width = 40; width <= 300; ++width) {
        std::size_t before = 0;
        for (int height = 10; height <= 120; ++height) {
            const std::size_t panels = layout({width, height}, View{}).panels.size();
            wrong += panels < before;
            wrong += width < 300 && layout({width + 1, height}, View{}).panels.size() < panels;
            before = panels;
        }
    }
    BOOST_TEST(wrong == 0);
    BOOST_TEST(layout({80, 24}, View{}).panels.size() == 4U);
    BOOST_TEST(layout({200, 60}, View{}).panels.size() == 10U);
    BOOST_TEST(layout({40, 10}, View{}).panels.size() == 1U);
}

BOOST_AUTO_TEST_CASE(panels_without_anything_to_show_give_their_place_away) {
    const std::vector<Panel> few{Panel::summary, Panel::incumbents, Panel::log};
    const auto shown = [&](Size size, int focus) {
        std::vector<Panel> panels;
        for (const Placed& placed : layout(size, focused(focus), few).panels) {
            panels.push_back(placed.panel);
        }
        return panels;
    };
    BOOST_TEST((shown({200, 60}, 0) == few));
    int area = 0;
    for (const Placed& placed : layout({200, 60}, View{}, few).panels) {
        area += placed.area.width * placed.area.height;
    }
    BOOST_TEST(area == 200 * 58);
    // A key shows each of them all the same.
    BOOST_TEST((shown({200, 60}, static_cast<int>(Panel::pareto)) == std::vector{Panel::pareto}));
    BOOST_TEST((shown({200, 60}, static_cast<int>(Panel::log)) == few));
}

BOOST_AUTO_TEST_CASE(every_size_can_be_drawn_with_every_panel) {
    const telemetry::Snapshot running = tui_test::running_snapshot();
    const telemetry::Snapshot empty = tui_test::empty_snapshot();
    int wrong = 0, frames = 0;
    for_many_sizes(3, [&](Size size, int turn) {
        View view = focused(turn % panel_count);
        view.symbols = static_cast<SymbolSet>(turn / panel_count % 3);
        view.theme = turn % 5 == 0 ? Theme::mono : Theme::color;
        view.page = turn % 11 == 0 ? Page::help : turn % 13 == 0 ? Page::options : Page::panels;
        const Screen screen = render(size, turn % 7 == 0 ? empty : running, view);
        wrong += !(screen.frame.size() == size) || lines_of(screen.frame.text()) != size.height;
        ++frames;
    });
    BOOST_TEST(wrong == 0);
    BOOST_TEST(frames == 4000);
}

BOOST_AUTO_TEST_CASE(small_sizes_are_drawn_with_every_panel_and_symbol_set) {
    const telemetry::Snapshot running = tui_test::running_snapshot();
    int wrong = 0;
    for (int width = 1; width <= 60; width += 1) {
        for (int height = 1; height <= 26; ++height) {
            View view = focused((width * 7 + height) % panel_count);
            view.symbols = static_cast<SymbolSet>((width + height) % 3);
            wrong += lines_of(render({width, height}, running, view).frame.text()) != height;
        }
    }
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(borders_survive_whatever_the_panels_draw) {
    const telemetry::Snapshot hostile = tui_test::hostile_snapshot(1);
    const Symbols& s = symbols(SymbolSet::ascii);
    int wrong = 0;
    for_many_sizes(7, [&](Size size, int turn) {
        View view = focused(turn % panel_count);
        view.symbols = SymbolSet::ascii;
        const Screen screen = render(size, hostile, view);
        const Frame& frame = screen.frame;
        for (const Placed& placed : screen.panels) {
            const int right = placed.area.x + placed.area.width - 1;
            const int bottom = placed.area.y + placed.area.height - 1;
            for (int y = placed.area.y + 1; y < bottom; ++y) {
                wrong += frame.at(placed.area.x, y).glyph != s.vertical;
                wrong += frame.at(right, y).glyph != s.vertical;
            }
            wrong += frame.at(placed.area.x, bottom).glyph != s.bottom_left;
            wrong += frame.at(right, bottom).glyph != s.bottom_right;
        }
    });
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(hostile_snapshots_give_only_printable_glyphs_of_one_column) {
    int wrong = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        View view = focused(static_cast<int>(seed) % panel_count);
        view.symbols = static_cast<SymbolSet>(seed % 3);
        const Size sizes[] = {{40, 10}, {80, 24}, {200, 60}, {23, 3}};
        const Frame frame = render(sizes[seed % 4], tui_test::hostile_snapshot(seed), view).frame;
        for (int y = 0; y < frame.size().height; ++y) {
            for (int x = 0; x < frame.size().width; ++x) {
                std::string text;
                append_utf8(text, frame.at(x, y).glyph);
                const bool ascii = view.symbols == SymbolSet::ascii;
                wrong += glyphs(text, ascii) != std::u32string(1, frame.at(x, y).glyph);
            }
        }
    }
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(scrolling_to_the_limit_shows_the_last_line) {
    const telemetry::Snapshot running = tui_test::running_snapshot();
    View view = focused(static_cast<int>(Panel::log));
    const Screen newest = render({40, 10}, running, view);
    BOOST_TEST(newest.frame.text().find("line 39") != std::string::npos);
    view.scroll_of(Panel::log) = newest.scroll_limit[static_cast<std::size_t>(Panel::log)];
    const std::string oldest = render({40, 10}, running, view).frame.text();
    BOOST_TEST(oldest.find("line 0") != std::string::npos);
    BOOST_TEST(oldest.find("line 39") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
