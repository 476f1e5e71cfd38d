// What is drawn around and instead of the panels.
#pragma once

#include "dashboard/frame.hpp"
#include "dashboard/view.hpp"
#include "telemetry/snapshot.hpp"

namespace tessera::dashboard {

/// What runs at the left, its state and time at the right.
void draw_header(Canvas canvas, const telemetry::Snapshot& snapshot, const View& view);
/// A question, a message, or at least five keys.
void draw_footer(Canvas canvas, const telemetry::Snapshot& snapshot, const View& view);
/// Objective, gap, age of the incumbent, rate and failures, in this order, as far as there is room;
/// the last line tells the size that is needed.
void draw_too_small(Canvas canvas, const telemetry::Snapshot& snapshot, const View& view);

/// \returns the largest useful scroll (View::scroll of the focused panel is used).
int draw_help(Canvas canvas, const View& view);
int draw_options(Canvas canvas, const View& view);

}  // namespace tessera::dashboard
