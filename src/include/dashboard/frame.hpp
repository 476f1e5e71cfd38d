// A frame is a screen as a value; a canvas is the part of one that somebody may draw on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dashboard/cell.hpp"
#include "dashboard/symbols.hpp"

namespace tessera::dashboard {

class Frame {
public:
    /// All cells blank. Sizes below one are taken as one.
    explicit Frame(Size size);

    Size size() const {
        return size_;
    }
    /// \throws Bug outside of the frame.
    const Cell& at(int x, int y) const;
    void set(int x, int y, Cell cell);

    /// Lines of UTF-8 without trailing blanks, each ended by a newline.
    std::string text() const;
    /// The same with SGR escapes (256 colours); every line ends in the plain style.
    std::string ansi() const;

    bool operator==(const Frame&) const = default;

    /// Its inks are those for a light background.
    bool light = false;

private:
    std::size_t index(int x, int y) const;

    Size size_;
    std::vector<Cell> cells_;
};

/// xterm-256 index of an ink on a dark or a light background; -1 for the terminal's own colour.
int xterm_color(Ink ink, bool light);

/// A rectangle of a frame with coordinates of its own. What lies outside is cut off, so that a
/// panel cannot spoil its neighbour.
class Canvas {
public:
    /// `area` is cut to the frame.
    Canvas(Frame& frame, Rect area, const Symbols& symbols);

    int width() const {
        return area_.width;
    }
    int height() const {
        return area_.height;
    }
    const Symbols& symbols() const {
        return *symbols_;
    }
    Canvas part(Rect area) const;

    void put(int x, int y, char32_t glyph, Style style = {});
    /// One line of UTF-8; what does not fit into `width` columns (or the canvas) ends in an
    /// ellipsis. \returns the column after the last glyph.
    int text(int x, int y, std::string_view utf8, Style style = {}, int width = 1 << 20);
    /// The same, ending at column `right` (exclusive); nothing if it does not fit.
    void text_right(int right, int y, std::string_view utf8, Style style = {});
    /// A frame of lines around the whole canvas with a title in its top edge. \returns the inside.
    Canvas box(std::string_view title, Style lines, Style title_style);
    /// A horizontal bar of `width` columns filled to `fraction` (0 to 1).
    void bar(int x, int y, int width, double fraction, Style style);
    /// One column per value, the newest at the right, scaled from zero to the largest shown.
    void sparkline(int x, int y, int width, const std::vector<double>& values, Style style);

private:
    Frame* frame_;
    Rect area_;
    const Symbols* symbols_;
};

}  // namespace tessera::dashboard
