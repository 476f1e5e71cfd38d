#include "dashboard/lines.hpp"

#include <algorithm>
#include <cctype>

#include "dashboard/numbers.hpp"

namespace tessera::dashboard {

namespace {

std::string lower(std::string text) {
    for (char& c : text) {
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return text;
}

bool matches(const Line& line, const std::string& filter) {
    std::string text;
    for (const Span& span : line) {
        text += span.text;
    }
    return contains(text, filter);
}

}  // namespace

bool contains(const std::string& text, const std::string& filter) {
    const bool exact = lower(filter) != filter;
    return (exact ? text : lower(text)).find(filter) != std::string::npos;
}

int draw_line(Canvas& canvas, int x, int y, const Line& line) {
    for (const Span& span : line) {
        x = canvas.text(x, y, span.text, span.style);
    }
    return x;
}

int draw_list(Canvas canvas, const List& list, int scroll, const std::string& filter,
              bool from_end) {
    if (!filter.empty()) {
        std::vector<Line> chosen;
        for (int i = 0; i < list.count; ++i) {
            if (Line line = list.line(i); matches(line, filter)) {
                chosen.push_back(std::move(line));
            }
        }
        const auto line = [&](int i) { return chosen[static_cast<std::size_t>(i)]; };
        return draw_list(canvas, {static_cast<int>(chosen.size()), line}, scroll, "", from_end);
    }
    const int height = canvas.height(), limit = std::max(0, list.count - height);
    const int wanted = std::clamp(scroll, 0, limit);
    const int first = from_end ? limit - wanted : wanted;
    for (int y = 0; y < std::min(height, list.count); ++y) {
        draw_line(canvas, 0, y, list.line(first + y));
    }
    if (first > 0) {
        canvas.put(canvas.width() - 1, 0, canvas.symbols().up, style::label);
    }
    if (first + height < list.count) {
        canvas.put(canvas.width() - 1, height - 1, canvas.symbols().down, style::label);
    }
    return limit;
}

int draw_lines(Canvas canvas, const std::vector<Line>& lines, int scroll,
               const std::string& filter) {
    const auto line = [&](int i) { return lines[static_cast<std::size_t>(i)]; };
    return draw_list(canvas, {static_cast<int>(lines.size()), line}, scroll, filter);
}

Table::Table(std::vector<Column> columns, int width)
    : columns_(std::move(columns)), widths_(columns_.size(), 0) {
    std::vector<std::size_t> order(columns_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return columns_[a].importance < columns_[b].importance;
    });
    int used = -1;
    for (const std::size_t i : order) {
        if (used + 1 + columns_[i].width <= width) {
            widths_[i] = columns_[i].width;
            used += 1 + columns_[i].width;
        }
    }
    for (const std::size_t i : order) {
        if (columns_[i].grows && widths_[i] > 0 && width > used) {
            widths_[i] += width - used;
            break;
        }
    }
}

Line Table::line(const std::vector<Span>& cells) const {
    Line result;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (widths_[i] == 0) {
            continue;
        }
        if (!result.empty()) {
            result.push_back({" ", {}});
        }
        // A cell that is too long is cut as code points, so that no character is torn.
        std::u32string glyph_row = glyphs(cells[i].text, false);
        if (static_cast<int>(glyph_row.size()) > widths_[i]) {
            glyph_row.resize(static_cast<std::size_t>(widths_[i]));
            glyph_row.back() = U'…';
        }
        std::string text;
        for (const char32_t glyph : glyph_row) {
            append_utf8(text, glyph);
        }
        result.push_back(
            {columns_[i].left ? pad_right(text, widths_[i]) : pad_left(text, widths_[i]),
             cells[i].style});
    }
    return result;
}

Line Table::header() const {
    std::vector<Span> cells;
    for (const Column& column : columns_) {
        cells.push_back({column.header, style::label});
    }
    return line(cells);
}

Line Table::row(const std::vector<Span>& cells) const {
    return line(cells);
}

}  // namespace tessera::dashboard
