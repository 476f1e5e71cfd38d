// Which panel goes where: a function of the size and of what is focused.
//
//   below 40 x 10          no panel: a line of status and the size needed (too_small)
//   header  1 line         what runs, its state and time
//   body                   tiles of at least 38 x 9, in order of importance, as many as fit; the
//                          focused panel alone if it is not the summary and not all fit or it is
//                          not among them, or if the user wants it alone
//   footer  1 line         keys, questions, messages
#pragma once

#include <vector>

#include "dashboard/cell.hpp"
#include "dashboard/view.hpp"

namespace tessera::dashboard {

inline constexpr Size smallest{40, 10};

struct Placed {
    Panel panel;
    Rect area;
};

struct Layout {
    bool too_small = false;
    std::vector<Placed> panels;
    Rect header, footer;
};

/// All panels, the most important first.
std::vector<Panel> all_panels();

/// `panels`: those that have something to show, the most important first. `compares`: the
/// comparison takes the lower part, and the others one row above, where there is room.
Layout layout(Size size, const View& view, const std::vector<Panel>& panels = all_panels(),
              bool compares = false);

}  // namespace tessera::dashboard
