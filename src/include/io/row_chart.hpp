// Rows of segments along a common axis as one SVG drawing: stacked bars, or spans of time. Segments
// differ by pattern as well as by colour.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::io {

struct ChartSegment {
    double from = 0, to = 0;
    std::size_t style = 0;  ///< index into RowChart::legend
    std::string text;       ///< shown by a pointer on it
};

struct ChartRow {
    std::string label;
    std::vector<ChartSegment> segments;
    std::string note;  ///< at the right of the row
};

struct RowChart {
    std::string title;
    std::string unit;                 ///< of the axis; empty: plain numbers
    std::vector<std::string> legend;  ///< what each style means; empty texts are left out
    std::vector<ChartRow> rows;
    double least_high = 0;  ///< the axis goes at least so far
    bool percent = false;   ///< the axis is a share
};

/// Names are foreign text and escaped. Without rows: a note.
std::string row_chart_svg(const RowChart& chart);

/// "a" from 0, the next from its end: the segments of a stacked bar; zero values are left out.
std::vector<ChartSegment> stacked(const std::vector<double>& values,
                                  const std::vector<std::string>& texts);

}  // namespace tessera::io
