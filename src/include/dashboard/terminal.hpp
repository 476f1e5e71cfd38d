// The terminal while the dashboard is on it, and the way back.
//
// Whatever happens, the terminal is given back: by the destructor; by std::exit; by a fatal signal
// (SIGSEGV, SIGABRT, ...), which is raised again afterwards; by base::restore_terminal(), which
// signal handlers call before they end the process. What others write to stdout or stderr meanwhile
// would spoil the screen: it is caught, shown as log lines, and written where it belongs at the
// end.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "dashboard/frame.hpp"
#include "dashboard/keys.hpp"

namespace tessera::dashboard {

/// There is a controlling terminal that can be addressed by cell (TERM is known, not dumb),
/// wherever stdout goes.
bool terminal_is_there();

/// One at a time. Thread rule: one thread, except wake().
class Terminal {
public:
    /// \throws UserError if there is no controlling terminal, or one that cannot be drawn on.
    Terminal();
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    Size size() const;
    /// Paints the cells that differ from what is shown.
    void show(const Frame& frame);
    /// The next show() paints every cell.
    void repaint();
    void mouse(bool on);

    enum class Event { timeout, key, resized, woken };
    /// Waits for input, a new size, wake() or the end of `at_most`. A new size is in effect then.
    Event wait(std::chrono::milliseconds at_most);
    /// Any thread, signal handlers included: ends wait().
    static void wake() noexcept;
    /// Without waiting.
    std::optional<Key> key();
    /// Whole lines that others wrote to stdout or stderr since the last call.
    std::vector<std::string> caught();

private:
    void begin_screen();
    void set_colors(bool light);
    void paint(int x, int y, const Cell& cell);
    void resume();

    struct Impl;
    Impl* impl_;
};

}  // namespace tessera::dashboard
