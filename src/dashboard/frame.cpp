#include "dashboard/frame.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.hpp"

namespace tessera::dashboard {

namespace {

std::string sgr(Style style, bool light) {
    std::string codes = "\033[0";
    codes += style.attributes & bold ? ";1" : "";
    codes += style.attributes & dim ? ";2" : "";
    codes += style.attributes & reverse ? ";7" : "";
    const int color = xterm_color(style.ink, light);
    return codes + (color < 0 ? "" : ";38;5;" + std::to_string(color)) + "m";
}

}  // namespace

int xterm_color(Ink ink, bool light) {
    static constexpr int on_dark[ink_count] = {-1, 247, 214, 74, 36, 227, 32, 166, 175};
    static constexpr int on_light[ink_count] = {-1, 240, 130, 31, 28, 94, 18, 161, 90};
    return (light ? on_light : on_dark)[static_cast<int>(ink)];
}

Frame::Frame(Size size)
    : size_{std::max(1, size.width), std::max(1, size.height)},
      cells_(static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(size_.height)) {}

std::size_t Frame::index(int x, int y) const {
    if (x < 0 || y < 0 || x >= size_.width || y >= size_.height) {
        throw Bug("a cell outside of the frame was drawn");
    }
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(size_.width) +
           static_cast<std::size_t>(x);
}

const Cell& Frame::at(int x, int y) const {
    return cells_[index(x, y)];
}

void Frame::set(int x, int y, Cell cell) {
    cells_[index(x, y)] = cell;
}

std::string Frame::text() const {
    std::string result;
    for (int y = 0; y < size_.height; ++y) {
        std::string line;
        std::size_t keep = 0;
        for (int x = 0; x < size_.width; ++x) {
            append_utf8(line, at(x, y).glyph);
            keep = at(x, y).glyph == U' ' ? keep : line.size();
        }
        result.append(line, 0, keep);
        result += '\n';
    }
    return result;
}

std::string Frame::ansi() const {
    std::string result;
    for (int y = 0; y < size_.height; ++y) {
        Style style;
        for (int x = 0; x < size_.width; ++x) {
            if (at(x, y).style != style) {
                style = at(x, y).style;
                result += sgr(style, light);
            }
            append_utf8(result, at(x, y).glyph);
        }
        result += style == Style{} ? "\n" : "\033[0m\n";
    }
    return result;
}

Canvas::Canvas(Frame& frame, Rect area, const Symbols& symbols)
    : frame_(&frame), area_(area), symbols_(&symbols) {
    area_.x = std::clamp(area.x, 0, frame.size().width);
    area_.y = std::clamp(area.y, 0, frame.size().height);
    area_.width = std::clamp(area.width, 0, frame.size().width - area_.x);
    area_.height = std::clamp(area.height, 0, frame.size().height - area_.y);
}

Canvas Canvas::part(Rect area) const {
    const int x = std::clamp(area.x, 0, width()), y = std::clamp(area.y, 0, height());
    return {*frame_,
            {area_.x + x, area_.y + y, std::clamp(area.width, 0, width() - x),
             std::clamp(area.height, 0, height() - y)},
            *symbols_};
}

void Canvas::put(int x, int y, char32_t glyph, Style style) {
    if (x >= 0 && y >= 0 && x < width() && y < height()) {
        frame_->set(area_.x + x, area_.y + y, {glyph, style});
    }
}

int Canvas::text(int x, int y, std::string_view utf8, Style style, int room) {
    const std::u32string line = glyphs(utf8, symbols_->set == SymbolSet::ascii);
    const int fits = std::min(room, width() - x);
    const int length = static_cast<int>(line.size());
    for (int i = 0; i < std::min(length, fits); ++i) {
        const bool cut = length > fits && i == fits - 1;
        put(x + i, y, cut ? symbols_->ellipsis : line[static_cast<std::size_t>(i)], style);
    }
    return x + std::max(0, std::min(length, fits));
}

void Canvas::text_right(int right, int y, std::string_view utf8, Style style) {
    const int length = columns(utf8);
    if (right - length >= 0 && right <= width()) {
        text(right - length, y, utf8, style);
    }
}

Canvas Canvas::box(std::string_view title, Style lines, Style title_style) {
    const int right = width() - 1, bottom = height() - 1;
    for (int x = 1; x < right; ++x) {
        put(x, 0, symbols_->horizontal, lines);
        put(x, bottom, symbols_->horizontal, lines);
    }
    for (int y = 1; y < bottom; ++y) {
        put(0, y, symbols_->vertical, lines);
        put(right, y, symbols_->vertical, lines);
    }
    put(0, 0, symbols_->top_left, lines);
    put(right, 0, symbols_->top_right, lines);
    put(0, bottom, symbols_->bottom_left, lines);
    put(right, bottom, symbols_->bottom_right, lines);
    if (width() > 6) {
        text(1, 0, " " + std::string(title) + " ", title_style, width() - 2);
    }
    return part({1, 1, width() - 2, height() - 2});
}

void Canvas::bar(int x, int y, int columns, double fraction, Style style) {
    const int steps = static_cast<int>(symbols_->bar.size());
    const double limited = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
    int filled = static_cast<int>(std::floor(limited * columns * steps + 1e-9));
    for (int i = 0; i < columns && filled > 0; ++i) {
        const int part = std::min(filled, steps);
        put(x + i, y, symbols_->bar[static_cast<std::size_t>(part - 1)], style);
        filled -= part;
    }
}

void Canvas::sparkline(int x, int y, int columns, const std::vector<double>& values, Style style) {
    const int count = std::min(columns, static_cast<int>(values.size()));
    const double top = count > 0 ? *std::max_element(values.end() - count, values.end()) : 0;
    const int levels = static_cast<int>(symbols_->spark.size()) - 1;
    for (int i = 0; i < count && top > 0 && std::isfinite(top); ++i) {
        const double value = values[values.size() - static_cast<std::size_t>(count - i)];
        int level = value > 0 ? static_cast<int>(std::ceil(value / top * levels)) : 0;
        level = std::clamp(level, 0, levels);
        put(x + i, y, symbols_->spark[static_cast<std::size_t>(level)], style);
    }
}

}  // namespace tessera::dashboard
