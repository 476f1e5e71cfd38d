// Lists and tables: lines of styled pieces, scrolled as a whole.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dashboard/frame.hpp"

namespace tessera::dashboard {

struct Span {
    std::string text;
    Style style;
};

using Line = std::vector<Span>;

/// \returns the column after the line.
int draw_line(Canvas& canvas, int x, int y, const Line& line);

/// What a filter leaves: case matters if it has capitals. An empty one leaves all.
bool contains(const std::string& text, const std::string& filter);

/// A list of `count` lines; `line(i)` makes one. Only what is seen is made, as long as there is no
/// filter.
struct List {
    int count = 0;
    std::function<Line(int)> line;
};

/// Draws the list from line `scroll` on (`from_end`: the last ones, `scroll` lines earlier), with
/// arrows at the right edge where more is hidden. `filter`: only lines that contain it; case
/// matters if it has capitals. \returns the largest useful scroll.
int draw_list(Canvas canvas, const List& list, int scroll, const std::string& filter,
              bool from_end = false);
int draw_lines(Canvas canvas, const std::vector<Line>& lines, int scroll,
               const std::string& filter = "");

/// Columns that are shown as far as the width allows, the important ones first. One blank between.
class Table {
public:
    struct Column {
        std::string header;
        int width;       ///< at least
        int importance;  ///< 0: the last to go
        bool left = false;
        bool grows = false;  ///< takes what is left
    };

    Table(std::vector<Column> columns, int width);
    Line header() const;
    /// One cell per column, also for those not shown.
    Line row(const std::vector<Span>& cells) const;

private:
    Line line(const std::vector<Span>& cells) const;

    std::vector<Column> columns_;
    std::vector<int> widths_;  ///< 0: not shown
};

}  // namespace tessera::dashboard
