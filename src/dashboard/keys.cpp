#include "dashboard/keys.hpp"

#include <algorithm>

namespace tessera::dashboard {

namespace {

using Kind = Key::Kind;

Request answer(View& view, Key key) {
    const Question question = view.question;
    const char32_t c = key.kind == Kind::character ? key.character : 0;
    if ((c == U'y' || c == U'Y') && question == Question::stop_search) {
        view.question = Question::none;
        view.message = "the search is stopping";
        return Request::stop_search;
    }
    if (c == U'y' || c == U'Y') {
        view.question = Question::none;
        view.message = "stopping: the result is written when the search has ended";
        return Request::stop;
    }
    if (question == Question::quit && (c == U'd' || c == U'D')) {
        view.question = Question::none;
        return Request::close;
    }
    if (c == U'n' || c == U'N' || key.kind == Kind::escape || key.kind == Kind::enter) {
        view.question = Question::none;
    }
    return Request::none;
}

Request type_filter(View& view, Key key) {
    switch (key.kind) {
        case Kind::enter:
            view.typing_filter = false;
            break;
        case Kind::escape:
            view.typing_filter = false;
            view.filter.clear();
            break;
        case Kind::backspace:
            while (!view.filter.empty()) {
                const auto last = static_cast<unsigned char>(view.filter.back());
                view.filter.pop_back();
                if ((last & 0xc0U) != 0x80U) {
                    break;
                }
            }
            break;
        case Kind::character:
            if (key.character >= 0x20 && key.character != 0x7f && view.filter.size() < 60) {
                append_utf8(view.filter, key.character);
            }
            break;
        default:
            break;
    }
    view.scroll.fill(0);
    return Request::none;
}

void focus(View& view, int panel) {
    view.focus = static_cast<Panel>((panel + panel_count) % panel_count);
    view.page = Page::panels;
}

// The log counts lines from its end, so that up goes back in time there too.
void scroll(View& view, const Screen& screen, int by) {
    const bool page = view.page != Page::panels;
    const int limit =
        page ? screen.page_limit : screen.scroll_limit[static_cast<std::size_t>(view.focus)];
    int& position = view.scroll_of(view.focus);
    const int sign = view.focus == Panel::log && !page ? -1 : 1;
    position = std::clamp(std::clamp(position, 0, limit) + sign * by, 0, limit);
}

Request quit(View& view) {
    if (view.page != Page::panels) {
        view.page = Page::panels;
        return Request::none;
    }
    if (!view.owner) {
        return Request::close;
    }
    view.question = Question::quit;
    return Request::none;
}

void open_page(View& view, Page page) {
    view.page = view.page == page ? Page::panels : page;
    view.scroll_of(view.focus) = 0;
}

void click(View& view, Key key, const Screen& screen) {
    for (const Placed& placed : screen.panels) {
        const Rect& area = placed.area;
        if (key.x >= area.x && key.x < area.x + area.width && key.y >= area.y &&
            key.y < area.y + area.height) {
            focus(view, static_cast<int>(placed.panel));
            return;
        }
    }
}

Request ask_control(View& view, Request request) {
    if (!view.control) {
        view.message = "this view only watches (tessera top --control may also stop)";
        return Request::none;
    }
    if (request == Request::stop) {
        view.question = Question::stop;
        return Request::none;
    }
    view.message = "checkpoint asked for";
    return request;
}

/// One search of a comparison, or the comparison again.
Request inspect(View& view, const Screen& screen) {
    if (view.inspecting && !screen.compares) {
        view.inspecting = false;
        view.focus = Panel::comparison;
        view.alone = true;
        return Request::overview;
    }
    if (!screen.marked || screen.marked->state == telemetry::WorkerState::idle) {
        view.message =
            screen.marked ? "it has not begun yet" : "only searches of a comparison are inspected";
        return Request::none;
    }
    view.inspecting = true;
    view.focus = Panel::summary;
    view.alone = false;
    return Request::inspect;
}

Request ask_to_stop_search(View& view, const Screen& screen) {
    if (screen.marked && screen.marked->state == telemetry::WorkerState::running) {
        view.question = Question::stop_search;
    } else {
        view.message = screen.marked ? "it does not run"
                                     : "searches of a comparison are stopped where it is shown";
    }
    return Request::none;
}

Request page(View& view, const Screen& screen, Request request) {
    if (!screen.compares) {
        view.message = "only a comparison has pages";
        return Request::none;
    }
    view.scroll_of(Panel::comparison) = 0;
    return request;
}

Request character(View& view, char32_t c, const Screen& screen) {
    switch (c) {
        case U'i':
            return inspect(view, screen);
        case U'x':
            return ask_to_stop_search(view, screen);
        case U'[':
            return page(view, screen, Request::page_before);
        case U']':
            return page(view, screen, Request::page_after);
        case U'q':
            return quit(view);
        case U'd':
            return Request::close;
        case U'?':
        case U'h':
            open_page(view, Page::help);
            return Request::none;
        case U'j':
            scroll(view, screen, 1);
            return Request::none;
        case U'k':
            scroll(view, screen, -1);
            return Request::none;
        case U'/':
            view.typing_filter = true;
            view.filter.clear();
            return Request::none;
        case U'p':
            view.paused = !view.paused;
            return Request::none;
        case U'+':
            view.rate_hz = std::min(16.0, view.rate_hz * 2);
            return Request::none;
        case U'-':
            view.rate_hz = std::max(0.25, view.rate_hz / 2);
            return Request::none;
        case U's':
            return ask_control(view, Request::stop);
        case U'c':
            return ask_control(view, Request::checkpoint);
        case U'e':
            return Request::export_frame;
        case U't':
            view.theme = view.theme == Theme::color   ? Theme::light
                         : view.theme == Theme::light ? Theme::mono
                                                      : Theme::color;
            return Request::none;
        case U'g':
            view.symbols = view.symbols == SymbolSet::block     ? SymbolSet::braille
                           : view.symbols == SymbolSet::braille ? SymbolSet::ascii
                                                                : SymbolSet::block;
            return Request::none;
        case U'm':
            view.mouse = !view.mouse;
            return Request::none;
        case 0x0c:
            return Request::redraw;
        default:
            if (c >= U'0' && c <= U'9') {
                focus(view, (static_cast<int>(c - U'0') + panel_count - 1) % panel_count);
            }
            return Request::none;
    }
}

// Keys without a character.
Request special(View& view, Key key, const Screen& screen) {
    const int page = std::max(1, screen.frame.size().height - 6);
    switch (key.kind) {
        case Kind::character:
            break;
        case Kind::up:
        case Kind::wheel_up:
            scroll(view, screen, -1);
            break;
        case Kind::down:
        case Kind::wheel_down:
            scroll(view, screen, 1);
            break;
        case Kind::page_up:
            scroll(view, screen, -page);
            break;
        case Kind::page_down:
            scroll(view, screen, page);
            break;
        case Kind::home:
            scroll(view, screen, -(1 << 20));
            break;
        case Kind::end:
            scroll(view, screen, 1 << 20);
            break;
        case Kind::tab:
            focus(view, static_cast<int>(view.focus) + 1);
            break;
        case Kind::back_tab:
            focus(view, static_cast<int>(view.focus) - 1);
            break;
        case Kind::enter:
            view.alone = !view.alone;
            break;
        case Kind::escape:
            if (view.page == Page::panels) {
                view.alone = false;
                view.focus = Panel::summary;
            }
            view.page = Page::panels;
            break;
        case Kind::f1:
            open_page(view, Page::help);
            break;
        case Kind::f2:
            open_page(view, Page::options);
            break;
        case Kind::f10:
            return quit(view);
        case Kind::click:
            click(view, key, screen);
            break;
        case Kind::backspace:
            break;
    }
    return Request::none;
}

}  // namespace

Request react(View& view, Key key, const Screen& screen) {
    view.message.clear();
    if (view.question != Question::none) {
        return answer(view, key);
    }
    if (view.typing_filter) {
        return type_filter(view, key);
    }
    return key.kind == Kind::character ? character(view, key.character, screen)
                                       : special(view, key, screen);
}

}  // namespace tessera::dashboard
