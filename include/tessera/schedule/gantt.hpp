// A round of a schedule as a chart: one line per unit, time to the right.
#pragma once

#include <string>

#include "tessera/schedule/dag.hpp"

namespace tessera::schedule {

/// Text of about `columns` characters per line: the chart with one letter per task, then a list of
/// the letters with unit, stage, start and end in seconds. Control characters of names are shown
/// as '?'.
std::string gantt_text(const Dag& dag, const Schedule& schedule, int columns = 80);

/// A complete SVG document; names are escaped.
std::string gantt_svg(const Dag& dag, const Schedule& schedule, const std::string& title);

}  // namespace tessera::schedule
