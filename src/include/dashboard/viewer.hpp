// The loop between terminal, view and snapshots. One for the search's own dashboard and for
// viewers.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "dashboard/keys.hpp"
#include "dashboard/terminal.hpp"
#include "dashboard/view.hpp"
#include "telemetry/snapshot.hpp"

namespace tessera::dashboard {

/// The view before any key: symbols from the locale, theme from NO_COLOR, both from the settings
/// that were saved (settings.hpp).
View initial_view();

class Viewer {
public:
    /// What the keys do, called on the loop's thread; empty: not possible.
    struct Hooks {
        std::function<void()> stop, checkpoint;
        /// Of a comparison: `i` (nothing: the comparison again), `x`, and `[` and `]` (-1, 1).
        std::function<void(std::optional<std::uint64_t>)> inspect = {};
        std::function<void(std::uint64_t)> stop_search = {};
        std::function<void(int)> page = {};
    };

    Viewer(View view, Hooks hooks);

    /// What is drawn from now on. Any thread.
    void publish(telemetry::SnapshotPtr snapshot);
    /// The run does not answer (any more). Any thread.
    void lost(bool value);
    /// Ends run(). Any thread, signal handlers included.
    void close() noexcept;

    /// Draws and reads keys until the user or close() ends it.
    void run(Terminal& terminal);

private:
    using Clock = std::chrono::steady_clock;

    void draw(Terminal& terminal);
    void read_keys(Terminal& terminal);
    void fulfil(Request request, Terminal& terminal);
    /// Of the requests of a comparison.
    void steer(Request request);
    std::string export_files() const;
    telemetry::SnapshotPtr as_drawn(bool lost) const;

    View view_;
    Hooks hooks_;
    std::mutex lock_;
    telemetry::SnapshotPtr newest_;
    telemetry::SnapshotPtr shown_;
    std::vector<telemetry::LogView> caught_;
    std::optional<Screen> screen_;
    Clock::time_point drawn_{};
    bool changed_ = true, drawn_lost_ = false;
    std::atomic<bool> closed_{false}, lost_{false};
};

}  // namespace tessera::dashboard
