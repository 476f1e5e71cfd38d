// ncurses is used for two things: to bring changed cells to the screen, and to decode keys.
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include "dashboard/terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <ncursesw/curses.h>

#include "terminal_guard.hpp"
#include "terminfo.hpp"
#include "tessera/base/error.hpp"

namespace tessera::dashboard {

struct Terminal::Impl {
    FILE* tty = nullptr;
    SCREEN* screen = nullptr;
    std::optional<Frame> shown;
    short pairs = 0;
    bool has_mouse = false;
    std::string caught;  ///< the beginning of a line
};

namespace {

// Yellow and cyan cannot be read on white.
short nearest_basic(Ink ink, bool light) {
    static constexpr short on_dark[ink_count] = {-1,         -1,          COLOR_YELLOW,
                                                 COLOR_CYAN, COLOR_GREEN, COLOR_YELLOW,
                                                 COLOR_BLUE, COLOR_RED,   COLOR_MAGENTA};
    static constexpr short on_light[ink_count] = {-1,         -1,          COLOR_RED,
                                                  COLOR_BLUE, COLOR_GREEN, COLOR_MAGENTA,
                                                  COLOR_BLUE, COLOR_RED,   COLOR_MAGENTA};
    return (light ? on_light : on_dark)[static_cast<int>(ink)];
}

attr_t attributes(const Style& style) {
    attr_t result = A_NORMAL;
    result |= style.attributes & bold ? A_BOLD : A_NORMAL;
    result |= style.attributes & dim ? A_DIM : A_NORMAL;
    result |= style.attributes & reverse ? A_REVERSE : A_NORMAL;
    return result;
}

std::optional<Key> mouse_key() {
    MEVENT event;
    if (::getmouse(&event) != OK) {
        return std::nullopt;
    }
    Key key{Key::Kind::click, 0, event.x, event.y};
    if (event.bstate & BUTTON4_PRESSED) {
        key.kind = Key::Kind::wheel_up;
    } else if (event.bstate & BUTTON5_PRESSED) {
        key.kind = Key::Kind::wheel_down;
    } else if (!(event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))) {
        return std::nullopt;
    }
    return key;
}

std::optional<Key> function_key(wint_t code) {
    static constexpr std::pair<int, Key::Kind> kinds[] = {
        {KEY_UP, Key::Kind::up},         {KEY_DOWN, Key::Kind::down},
        {KEY_PPAGE, Key::Kind::page_up}, {KEY_NPAGE, Key::Kind::page_down},
        {KEY_HOME, Key::Kind::home},     {KEY_END, Key::Kind::end},
        {KEY_BTAB, Key::Kind::back_tab}, {KEY_ENTER, Key::Kind::enter},
        {KEY_F(1), Key::Kind::f1},       {KEY_F(2), Key::Kind::f2},
        {KEY_F(10), Key::Kind::f10},     {KEY_BACKSPACE, Key::Kind::backspace},
    };
    if (code == KEY_MOUSE) {
        return mouse_key();
    }
    for (const auto& [known, kind] : kinds) {
        if (code == static_cast<wint_t>(known)) {
            return Key{kind, 0, 0, 0};
        }
    }
    return std::nullopt;
}

Key character_key(wint_t code) {
    switch (code) {
        case '\t':
            return {Key::Kind::tab, 0, 0, 0};
        case '\r':
        case '\n':
            return {Key::Kind::enter, 0, 0, 0};
        case 27:
            return {Key::Kind::escape, 0, 0, 0};
        case 8:
        case 127:
            return {Key::Kind::backspace, 0, 0, 0};
        default:
            return {Key::Kind::character, static_cast<char32_t>(code), 0, 0};
    }
}

}  // namespace

bool terminal_is_there() {
    const int fd = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    const bool can = fd >= 0 && describe_terminal(fd);
    if (fd >= 0) {
        ::close(fd);
    }
    return can;
}

Terminal::Terminal() : impl_(new Impl) {
    const int fd = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    impl_->tty = fd >= 0 ? ::fdopen(fd, "r+") : nullptr;
    if (!impl_->tty || !describe_terminal(fd)) {
        const char* name = std::getenv("TERM");
        const std::string why = !impl_->tty
                                    ? "there is no controlling terminal"
                                    : "the terminal type '" + std::string(name ? name : "") +
                                          "' (TERM) cannot be drawn on";
        if (impl_->tty) {
            ::fclose(impl_->tty);
        }
        delete impl_;
        throw UserError("the dashboard needs a terminal: " + why +
                        "; use --ui=line, or tessera top --once --size 80x24 for a single frame");
    }
    // Only the characters' encoding: numbers are still written and read with a point.
    std::setlocale(LC_CTYPE, "");
    guard::begin(fd, leave_sequence());
    begin_screen();
    guard::catch_output();
}

void Terminal::begin_screen() {
    // ncurses puts handlers of its own on signals that are the run control's or the guard's.
    static constexpr int signals[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
    struct sigaction before[4];
    for (int i = 0; i < 4; ++i) {
        ::sigaction(signals[i], nullptr, &before[i]);
    }
    impl_->screen = ::newterm(nullptr, impl_->tty, impl_->tty);
    for (int i = 0; i < 4; ++i) {
        ::sigaction(signals[i], &before[i], nullptr);
    }
    if (!impl_->screen) {
        guard::end();
        ::fclose(impl_->tty);
        delete impl_;
        throw UserError("the dashboard could not start on this terminal; use --ui=line");
    }
    ::cbreak();
    ::noecho();
    ::nonl();
    ::keypad(stdscr, TRUE);
    ::nodelay(stdscr, TRUE);
    ::meta(stdscr, TRUE);
    ::set_escdelay(25);
    ::curs_set(0);
    ::leaveok(stdscr, TRUE);
    if (::has_colors() && ::start_color() == OK && ::use_default_colors() == OK) {
        impl_->pairs = ink_count;
        set_colors(false);
    }
}

void Terminal::set_colors(bool light) {
    for (short i = 0; i < impl_->pairs; ++i) {
        const auto ink = static_cast<Ink>(i);
        const int color = COLORS >= 256 ? xterm_color(ink, light) : nearest_basic(ink, light);
        ::init_pair(static_cast<short>(i + 1), static_cast<short>(color), -1);
    }
}

Terminal::~Terminal() {
    mouse(false);
    ::endwin();
    guard::end();
    ::delscreen(impl_->screen);
    ::fclose(impl_->tty);
    delete impl_;
}

Size Terminal::size() const {
    return {COLS, LINES};
}

void Terminal::paint(int x, int y, const Cell& cell) {
    const wchar_t text[2] = {static_cast<wchar_t>(cell.glyph), 0};
    cchar_t character;
    const auto pair =
        static_cast<short>(impl_->pairs > 0 ? static_cast<int>(cell.style.ink) + 1 : 0);
    ::setcchar(&character, text, attributes(cell.style), pair, nullptr);
    ::mvadd_wch(y, x, &character);
}

void Terminal::show(const Frame& frame) {
    const Size size = frame.size();
    const bool all = !impl_->shown || !(impl_->shown->size() == size);
    if (!impl_->shown || impl_->shown->light != frame.light) {
        set_colors(frame.light);
    }
    if (all) {
        ::erase();
    }
    for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
            if (all || !(impl_->shown->at(x, y) == frame.at(x, y))) {
                paint(x, y, frame.at(x, y));
            }
        }
    }
    ::refresh();
    impl_->shown = frame;
}

void Terminal::repaint() {
    impl_->shown.reset();
    ::clearok(stdscr, TRUE);
}

void Terminal::mouse(bool on) {
    if (on != impl_->has_mouse) {
        ::mousemask(on ? BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0,
                    nullptr);
        ::mouseinterval(0);
        impl_->has_mouse = on;
        guard::set_mouse(on);
    }
}

// After a stop the shell had the terminal: leave and enter again.
void Terminal::resume() {
    ::endwin();
    ::refresh();
    repaint();
}

Terminal::Event Terminal::wait(std::chrono::milliseconds at_most) {
    pollfd fds[3] = {{::fileno(impl_->tty), POLLIN, 0},
                     {guard::wake_fd(), POLLIN, 0},
                     {guard::caught_fd(), POLLIN, 0}};
    const int ready = ::poll(fds, 3, static_cast<int>(at_most.count()));
    if (ready > 0 && (fds[1].revents & POLLIN)) {
        char bytes[64];
        while (::read(fds[1].fd, bytes, sizeof bytes) > 0) {
        }
    }
    if (ready > 0 && (fds[2].revents & POLLIN)) {
        impl_->caught += guard::read_caught();
    }
    if (guard::take_continued()) {
        resume();
        return Event::resized;
    }
    if (guard::take_resized()) {
        winsize window{};
        if (::ioctl(::fileno(impl_->tty), TIOCGWINSZ, &window) == 0 && window.ws_row > 0 &&
            window.ws_col > 0) {
            ::resizeterm(window.ws_row, window.ws_col);
            repaint();
        }
        return Event::resized;
    }
    if (ready > 0 && (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))) {
        throw UserError("the terminal is gone");
    }
    return ready <= 0 ? Event::timeout : (fds[0].revents & POLLIN) != 0 ? Event::key : Event::woken;
}

void Terminal::wake() noexcept {
    guard::wake();
}

std::optional<Key> Terminal::key() {
    wint_t code = 0;
    for (;;) {
        const int kind = ::wget_wch(stdscr, &code);
        if (kind == ERR) {
            return std::nullopt;
        }
        if (kind == OK) {
            return character_key(code);
        }
        if (const std::optional<Key> key = function_key(code)) {
            return key;
        }
    }
}

std::vector<std::string> Terminal::caught() {
    std::vector<std::string> lines;
    std::size_t from = 0;
    for (std::size_t at = 0; (at = impl_->caught.find('\n', from)) != std::string::npos;
         from = at + 1) {
        if (at > from) {
            lines.push_back(impl_->caught.substr(from, at - from));
        }
    }
    impl_->caught.erase(0, from);
    return lines;
}

}  // namespace tessera::dashboard
