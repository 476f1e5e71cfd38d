// What the person at the terminal chose to see. Changed by keys only (keys.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "dashboard/cell.hpp"
#include "dashboard/symbols.hpp"

namespace tessera::dashboard {

enum class Panel : std::uint8_t {
    summary,
    incumbents,
    workers,
    funnel,
    pareto,
    comparison,
    plugins,
    log,
    mapping,
    costs
};

inline constexpr int panel_count = 10;

/// "Summary"
const char* title(Panel panel);

/// `light`: colours for a light background.
enum class Theme : std::uint8_t { color, light, mono };

/// "colour", "light", "mono"
const char* name(Theme theme);

/// A page over the panels.
enum class Page : std::uint8_t { panels, help, options };

/// A question that the next key answers.
enum class Question : std::uint8_t { none, quit, stop, stop_search };

struct View {
    Panel focus = Panel::summary;
    bool alone = false;  ///< the focused panel takes the whole screen even where more would fit
    Page page = Page::panels;
    Question question = Question::none;
    std::array<int, panel_count> scroll{};  ///< lines; the log counts from its end
    std::string filter;                     ///< only list lines that contain it
    bool typing_filter = false;
    bool paused = false;
    bool mouse = false;
    Theme theme = Theme::color;
    SymbolSet symbols = SymbolSet::block;
    double rate_hz = 4;       ///< frames a second
    bool owner = false;       ///< shown by the searching process itself, not by a viewer
    bool control = false;     ///< stop and checkpoint are allowed
    bool inspecting = false;  ///< one search of a comparison is shown
    std::string message;      ///< answer to the last key, shown at the bottom

    int& scroll_of(Panel panel) {
        return scroll[static_cast<std::size_t>(panel)];
    }
    int scroll_of(Panel panel) const {
        return scroll[static_cast<std::size_t>(panel)];
    }
};

}  // namespace tessera::dashboard
