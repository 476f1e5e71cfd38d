// The dashboard as a pure function: size, snapshot and view in, frame out.
#pragma once

#include <array>
#include <optional>

#include "dashboard/frame.hpp"
#include "dashboard/layout.hpp"
#include "dashboard/view.hpp"
#include "telemetry/snapshot.hpp"

namespace tessera::dashboard {

struct Screen {
    Frame frame;
    std::array<int, panel_count>
        scroll_limit{};          ///< largest useful scroll; 0 for what is not shown
    int page_limit = 0;          ///< the same of the help page
    std::vector<Placed> panels;  ///< that are drawn, and where
    /// The search of a comparison that is marked.
    struct Marked {
        std::uint64_t search = 0;
        telemetry::WorkerState state = telemetry::WorkerState::idle;
    };
    std::optional<Marked> marked;
    bool compares = false;  ///< a comparison is shown, not a search
};

/// Draws everything. Never throws for any size from 1 x 1 on and any snapshot.
Screen render(Size size, const telemetry::Snapshot& snapshot, const View& view);

}  // namespace tessera::dashboard
