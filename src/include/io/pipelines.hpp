// Pipelines of a report as charts: one line per compute, time to the right.
#pragma once

#include <string>

#include "io/json_text.hpp"
#include "tessera/model/report.hpp"

namespace tessera::io {

/// For people; "" without pipelines. Times are those of all rounds together.
std::string pipelines_text(const model::Report& report);

/// A complete SVG document of pipeline number `index`.
std::string pipeline_svg(const model::Report& report, std::size_t index);

/// [{latency_s, einsums: {name: {unit, stage, start_s, end_s}}}]
Json pipelines_json(const model::Report& report);

}  // namespace tessera::io
