// Map:
//   patterns     a fill for each style: colour and hatching
//   Chart        legend on top, rows, axis below
#include "io/row_chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "base/printable.hpp"
#include "base/units.hpp"
#include "io/plot_svg.hpp"

namespace tessera::io {

namespace {

constexpr double width = 760, left = 150, right = 150, row_height = 22, bar_height = 14;
constexpr std::size_t longest_label = 20, longest_note = 22;

// Okabe and Ito's colours; the hatching differs where their greys are close.
constexpr const char* colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                   "#56b4e9", "#d55e00", "#f0e442", "#999999"};
constexpr const char* hatches[] = {"",
                                   "M0 8L8 0",
                                   "M4 0V8",
                                   "M0 0L8 8",
                                   "M0 4H8",
                                   "M0 8L8 0M0 0L8 8",
                                   "M2 2h1M6 6h1M6 2h1M2 6h1",
                                   "M0 4H8M4 0V8"};
constexpr std::size_t styles = std::size(colours);

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

std::string cut(const std::string& text, std::size_t most) {
    return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

std::string pattern(std::size_t style) {
    const std::string id = "hatch" + std::to_string(style);
    return "<pattern id=\"" + id + "\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">" +
           "<rect width=\"8\" height=\"8\" fill=\"" + colours[style] + "\"/><path d=\"" +
           hatches[style] + "\" stroke=\"#000\" stroke-width=\"0.8\" fill=\"none\"/></pattern>\n";
}

class Chart {
public:
    explicit Chart(const RowChart& chart) : c_(chart), high_(chart.least_high) {
        for (const ChartRow& row : c_.rows) {
            for (const ChartSegment& segment : row.segments) {
                high_ = std::isfinite(segment.to) ? std::max(high_, segment.to) : high_;
            }
        }
        high_ = high_ > 0 ? high_ : 1;
    }

    std::string text() {
        write(width / 2, 18, "middle", c_.title, " font-size=\"14\"");
        y_ = 32;
        legend();
        const double top = y_;
        grid(top);
        for (const ChartRow& row : c_.rows) {
            draw(row);
        }
        if (c_.rows.empty()) {
            write(width / 2, y_ + 14, "middle", "nothing to draw", "");
            y_ += row_height;
        }
        axis();
        const std::string size = number(width) + " " + number(y_);
        std::string all = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size +
                          "\" width=\"" + number(width) + "\" height=\"" + number(y_) +
                          "\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n<title>" +
                          xml_text(c_.title) + "</title>\n<defs>\n";
        for (std::size_t style = 0; style < std::min(styles, c_.legend.size()); ++style) {
            all += pattern(style);
        }
        return all + "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + svg_ +
               "</svg>\n";
    }

private:
    void write(double x, double y, const char* anchor, const std::string& text,
               const std::string& more) {
        svg_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor +
                "\"" + more + ">" + xml_text(text) + "</text>\n";
    }

    double place(double value) const {
        return left + value / high_ * (width - left - right);
    }

    void legend() {
        double x = 12;
        for (std::size_t style = 0; style < c_.legend.size(); ++style) {
            const std::string name = cut(c_.legend[style], 28);
            if (name.empty()) {
                continue;
            }
            const double w = 22 + 6.8 * static_cast<double>(name.size()) + 16;
            if (x + w > width && x > 12) {
                x = 12;
                y_ += 18;
            }
            svg_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y_) +
                    "\" width=\"16\" height=\"12\" stroke=\"#333\" fill=\"url(#hatch" +
                    std::to_string(style % styles) + ")\"/>\n";
            write(x + 22, y_ + 11, "start", name, "");
            x += w;
        }
        y_ += c_.legend.empty() ? 0 : 24;
    }

    void grid(double top) {
        const double bottom =
            top + std::max<double>(1, static_cast<double>(c_.rows.size())) * row_height;
        for (const double tick : linear_ticks(0, high_)) {
            svg_ += "<line x1=\"" + number(place(tick)) + "\" y1=\"" + number(top) + "\" x2=\"" +
                    number(place(tick)) + "\" y2=\"" + number(bottom) + "\" stroke=\"#ddd\"/>\n";
        }
    }

    void draw(const ChartRow& row) {
        write(left - 8, y_ + 14, "end", cut(row.label, longest_label), "");
        for (const ChartSegment& segment : row.segments) {
            if (!std::isfinite(segment.from) || !std::isfinite(segment.to)) {
                continue;
            }
            const double from = place(segment.from), to = place(segment.to);
            svg_ += "<rect x=\"" + number(from) + "\" y=\"" + number(y_ + 3) + "\" width=\"" +
                    number(std::max(0.5, to - from)) + "\" height=\"" + number(bar_height) +
                    "\" stroke=\"#333\" stroke-width=\"0.5\" fill=\"url(#hatch" +
                    std::to_string(segment.style % styles) + ")\"><title>" +
                    xml_text(segment.text) + "</title></rect>\n";
        }
        write(width - right + 8, y_ + 14, "start", cut(row.note, longest_note), "");
        y_ += row_height;
    }

    void axis() {
        svg_ += "<line x1=\"" + number(left) + "\" y1=\"" + number(y_) + "\" x2=\"" +
                number(width - right) + "\" y2=\"" + number(y_) + "\" stroke=\"#000\"/>\n";
        for (const double tick : linear_ticks(0, high_)) {
            write(place(tick), y_ + 16, "middle",
                  c_.percent ? base::percent(tick) : base::quantity(tick, c_.unit), "");
        }
        y_ += 26;
    }

    const RowChart& c_;
    double high_;
    double y_ = 0;
    std::string svg_;
};

}  // namespace

std::string row_chart_svg(const RowChart& chart) {
    return Chart(chart).text();
}

std::vector<ChartSegment> stacked(const std::vector<double>& values,
                                  const std::vector<std::string>& texts) {
    std::vector<ChartSegment> result;
    double from = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] > 0) {
            result.push_back({from, from + values[i], i, i < texts.size() ? texts[i] : ""});
            from += values[i];
        }
    }
    return result;
}

}  // namespace tessera::io
