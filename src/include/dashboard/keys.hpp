// What keys do: a pure function from view and key to view and request.
#pragma once

#include <cstdint>

#include "dashboard/render.hpp"
#include "dashboard/view.hpp"

namespace tessera::dashboard {

struct Key {
    enum class Kind : std::uint8_t {
        character,
        up,
        down,
        page_up,
        page_down,
        home,
        end,
        tab,
        back_tab,
        enter,
        escape,
        backspace,
        f1,
        f2,
        f10,
        click,       ///< at x, y
        wheel_up,    ///< at x, y
        wheel_down,  ///< at x, y
    };
    Kind kind = Kind::character;
    char32_t character = 0;
    int x = 0, y = 0;
};

/// What the loop around the view has to do after a key.
enum class Request : std::uint8_t {
    none,
    close,  ///< end the view; the search goes on
    stop,   ///< ask the search to stop
    checkpoint,
    export_frame,
    redraw,       ///< paint every cell anew (Ctrl-L)
    inspect,      ///< show Screen::marked of a comparison alone
    overview,     ///< show the comparison again
    stop_search,  ///< ask Screen::marked to stop
    page_before,  ///< searches of the instance and seed before
    page_after,
};

/// `screen`: what is shown now. Every key means the same in every panel.
Request react(View& view, Key key, const Screen& screen);

}  // namespace tessera::dashboard
