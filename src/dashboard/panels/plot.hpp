// Points and step lines on a grid finer than cells: 2x4 dots of braille, 2x2 quadrants, or 1x1.
#pragma once

#include <cstdint>
#include <vector>

#include "dashboard/frame.hpp"

namespace tessera::dashboard {

class Plot {
public:
    /// Covers the whole canvas. draw() puts it there.
    explicit Plot(Canvas canvas);

    /// Dots; (0, 0) is the lower left one.
    int width() const {
        return canvas_.width() * across_;
    }
    int height() const {
        return canvas_.height() * up_;
    }
    /// Dots outside are left out. `ascii`: the character for it where there is one dot per cell.
    void dot(int x, int y, Style style, char32_t ascii = U'*');
    void horizontal(int from, int to, int y, Style style, char32_t ascii = U'-');
    void vertical(int x, int from, int to, Style style, char32_t ascii = U'|');
    void draw();
    /// A whole glyph over the cell of a dot; after draw().
    void mark(int x, int y, char32_t glyph, Style style);

private:
    struct Dots {
        std::uint8_t bits = 0;
        char32_t ascii = U'*';
        Style style;
    };

    Canvas canvas_;
    int across_, up_;
    std::vector<Dots> cells_;
};

/// Maps values to dots, linearly or by logarithm.
class Scale {
public:
    /// Values `low` to `high` fall on dots 0 to `dots` - 1. An empty interval is widened.
    Scale(double low, double high, int dots, bool logarithmic = false);
    /// Values outside fall on the nearest end.
    int operator()(double value) const;
    double low() const {
        return low_;
    }
    double high() const {
        return high_;
    }

private:
    double low_, high_;
    int dots_;
    bool logarithmic_;
};

}  // namespace tessera::dashboard
