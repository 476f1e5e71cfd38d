// Map:
//   Scale        values to pixels, with ticks
//   ticks        1, 2, 5 times powers of ten, or powers of ten
//   Drawing      frame, series, legend
#include "io/plot_svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/printable.hpp"

namespace tessera::io {

namespace {

constexpr int left = 84, right = 200, top = 40, bottom = 56;
constexpr double infinity = std::numeric_limits<double>::infinity();

// Okabe and Ito's colours, dark enough on white paper.
constexpr const char* colours[] = {"#000000", "#0072b2", "#d55e00", "#009e73",
                                   "#8f4a73", "#8a6d00", "#56748a", "#5a5a5a"};
constexpr const char* dashes[] = {"none", "7 3", "2 2", "9 3 2 3", "5 5", "1 4", "12 4", "3 6"};
constexpr const char* widths[] = {"1.6", "3", "0.8"};
constexpr int legend_row = 18;

/// Colours, dashes and widths of lines. Without colours 24 differ, by dashes and widths.
std::string stroke(std::size_t style, bool faint) {
    const std::size_t round = style / std::size(colours);
    return std::string(" stroke=\"") + (faint ? "#999" : colours[style % std::size(colours)]) +
           "\" stroke-dasharray=\"" + dashes[(style + 3 * round) % std::size(dashes)] +
           "\" stroke-width=\"" + widths[round % std::size(widths)] + "\"";
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    return text;
}

std::string label(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
}

struct Scale {
    bool log = false;
    double low = 0, high = 1;   ///< of the values, or of their logarithms
    double from = 0, to = 1;    ///< pixels
    std::vector<double> ticks;  ///< values

    bool fits(double value) const {
        return std::isfinite(value) && (!log || value > 0);
    }
    double operator()(double value) const {
        const double place = log ? std::log10(value) : value;
        return from + (place - low) / (high - low) * (to - from);
    }
};

void add_ticks(Scale& scale) {
    if (scale.log && scale.high - scale.low >= 1) {
        const double step = std::ceil((scale.high - scale.low) / 8);
        for (double power = std::ceil(scale.low); power <= scale.high; power += step) {
            scale.ticks.push_back(std::pow(10, power));
        }
        return;
    }
    scale.ticks = linear_ticks(scale.log ? std::pow(10, scale.low) : scale.low,
                               scale.log ? std::pow(10, scale.high) : scale.high);
}

Scale scale_of(const std::vector<double>& values, bool log, double from, double to) {
    Scale scale;
    scale.log = log;
    scale.from = from;
    scale.to = to;
    double low = infinity, high = -infinity;
    for (const double value : values) {
        if (scale.fits(value)) {
            const double place = log ? std::log10(value) : value;
            low = std::min(low, place);
            high = std::max(high, place);
        }
    }
    if (low > high) {
        low = 0;
        high = 1;
    }
    const double least = std::max(std::abs(low), 1.0) * 1e-6;
    const double margin = high - low > least ? 0.04 * (high - low)
                          : log              ? 0.3
                                             : 0.5 * std::max(std::abs(low), 1e-300);
    scale.low = low - margin;
    scale.high = high + margin;
    add_ticks(scale);
    return scale;
}

class Drawing {
public:
    explicit Drawing(const Plot& plot) : plot_(plot) {
        std::vector<double> xs, ys;
        for (const PlotSeries& series : plot.series) {
            for (const auto& [x, y] : series.points) {
                xs.push_back(x);
                ys.push_back(y);
            }
            for (const auto& [low, high] : series.band) {
                ys.insert(ys.end(), {low, high});
            }
        }
        const auto named = std::ranges::count_if(
            plot.series, [](const PlotSeries& series) { return !series.name.empty(); });
        height_ = std::max(plot.height, top + bottom + legend_row * static_cast<int>(named));
        x_ = scale_of(xs, plot.x_log, left, plot.width - right);
        y_ = scale_of(ys, plot.y_log, height_ - bottom, top);
    }

    std::string text() {
        const std::string size = std::to_string(plot_.width) + " " + std::to_string(height_);
        svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size + "\" width=\"" +
               std::to_string(plot_.width) + "\" height=\"" + std::to_string(height_) +
               "\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n<title>" +
               xml_text(plot_.title) +
               "</title>\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
        frame();
        bool any = false;
        std::size_t style = 0;
        for (const PlotSeries& series : plot_.series) {
            const std::size_t own = series.faint ? 0 : style++;
            any = draw(series, own) || any;
            legend(series, own);
        }
        if (!any) {
            write(plot_.width / 2.0 - 60, height_ / 2.0, "middle", "no points to draw");
        }
        return svg_ + "</svg>\n";
    }

private:
    void write(double x, double y, const char* anchor, const std::string& text,
               const std::string& more = "") {
        svg_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor +
                "\"" + more + ">" + xml_text(text) + "</text>\n";
    }

    void rule(double x1, double y1, double x2, double y2, const char* colour) {
        svg_ += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
                "\" y2=\"" + number(y2) + "\" stroke=\"" + colour + "\"/>\n";
    }

    void frame() {
        const double x0 = x_.from, x1 = x_.to, y0 = y_.from, y1 = y_.to;
        for (const double tick : x_.ticks) {
            rule(x_(tick), y0, x_(tick), y1, "#ddd");
            write(x_(tick), y0 + 16, "middle", label(tick));
        }
        for (const double tick : y_.ticks) {
            rule(x0, y_(tick), x1, y_(tick), "#ddd");
            write(x0 - 6, y_(tick) + 4, "end", label(tick));
        }
        rule(x0, y0, x1, y0, "#000");
        rule(x0, y0, x0, y1, "#000");
        write((x0 + x1) / 2, top - 16, "middle", plot_.title, " font-size=\"14\"");
        write((x0 + x1) / 2, y0 + 40, "middle", plot_.x_label);
        const double middle = (y0 + y1) / 2;
        write(16, middle, "middle", plot_.y_label,
              " transform=\"rotate(-90 16 " + number(middle) + ")\"");
    }

    void marker(double x, double y, std::size_t style, bool faint) {
        const std::string colour = faint ? "#999" : colours[style % std::size(colours)];
        const double r = faint ? 2 : 4;
        const auto place = [&](double dx, double dy) {
            return number(x + dx * r) + "," + number(y + dy * r) + " ";
        };
        const std::string fill = " fill=\"" + (style % 8 < 4 ? colour : std::string("#fff")) +
                                 "\" stroke=\"" + colour + "\"/>\n";
        switch (style % 4) {
            case 0:
                svg_ += "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"" +
                        number(r) + "\"" + fill;
                return;
            case 1:
                svg_ += "<polygon points=\"" + place(-1, -1) + place(1, -1) + place(1, 1) +
                        place(-1, 1) + "\"" + fill;
                return;
            case 2:
                svg_ += "<polygon points=\"" + place(0, -1.2) + place(1.1, 0.9) + place(-1.1, 0.9) +
                        "\"" + fill;
                return;
            default:
                svg_ += "<polygon points=\"" + place(0, -1.3) + place(1.3, 0) + place(0, 1.3) +
                        place(-1.3, 0) + "\"" + fill;
        }
    }

    void shade(const PlotSeries& series, std::size_t style) {
        std::string lower, upper;
        for (std::size_t i = 0; i < series.band.size() && i < series.points.size(); ++i) {
            const double x = series.points[i].first;
            const auto [low, high] = series.band[i];
            if (x_.fits(x) && y_.fits(low) && y_.fits(high)) {
                const std::string at = number(x_(x)) + ",";
                lower += at + number(y_(low)) + " ";
                upper.insert(0, at + number(y_(high)) + " ");
            }
        }
        if (!lower.empty()) {
            svg_ += "<polygon points=\"" + lower + upper + "\" fill=\"" +
                    colours[style % std::size(colours)] + "\" fill-opacity=\"0.12\"/>\n";
        }
    }

    bool draw(const PlotSeries& series, std::size_t style) {
        shade(series, style);
        std::string path;
        std::vector<std::pair<double, double>> places;
        for (const auto& [x, y] : series.points) {
            if (!x_.fits(x) || !y_.fits(y)) {
                continue;
            }
            if (series.steps && !places.empty()) {
                path += number(x_(x)) + "," + number(places.back().second) + " ";
            }
            places.emplace_back(x_(x), y_(y));
            path += number(places.back().first) + "," + number(places.back().second) + " ";
        }
        if (series.line && places.size() > 1) {
            svg_ += "<polyline fill=\"none\"" + stroke(style, series.faint) + " points=\"" + path +
                    "\"/>\n";
        }
        for (const auto& [x, y] : places) {
            if (series.markers) {
                marker(x, y, style, series.faint);
            }
        }
        return !places.empty();
    }

    void legend(const PlotSeries& series, std::size_t style) {
        constexpr std::size_t longest = 26;
        if (series.name.empty()) {
            return;
        }
        const double x = x_.to + 12, y = y_.to + 6 + legend_++ * legend_row;
        if (series.line) {
            svg_ += "<line x1=\"" + number(x) + "\" y1=\"" + number(y) + "\" x2=\"" +
                    number(x + 26) + "\" y2=\"" + number(y) + "\"" + stroke(style, series.faint) +
                    "/>\n";
        }
        if (series.markers) {
            marker(x + 13, y, style, series.faint);
        }
        const bool cut = series.name.size() > longest;
        write(x + 32, y + 4, "start",
              cut ? series.name.substr(0, longest - 3) + "..." : series.name);
    }

    const Plot& plot_;
    Scale x_, y_;
    std::string svg_;
    int legend_ = 0;
    int height_ = 0;
};

}  // namespace

std::string xml_text(const std::string& text) {
    std::string result;
    for (const char c : base::one_line(text)) {
        switch (c) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '"':
                result += "&quot;";
                break;
            case '\'':
                result += "&#39;";
                break;
            default:
                result += c;
        }
    }
    return result;
}

std::vector<double> linear_ticks(double low, double high) {
    std::vector<double> ticks;
    const double rough = (high - low) / 5, power = std::pow(10, std::floor(std::log10(rough)));
    const double times = rough / power;
    const double step = power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
    for (double tick = std::ceil(low / step) * step; tick <= high * (1 + 1e-12); tick += step) {
        ticks.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
        if (ticks.size() > 20) {
            break;  // the step is lost in the digits of the values
        }
    }
    return ticks;
}

bool suits_log(const std::vector<double>& values) {
    if (values.empty()) {
        return false;
    }
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return *low > 0 && *high / *low >= 8;
}

std::string plot_svg(const Plot& plot) {
    return Drawing(plot).text();
}

}  // namespace tessera::io
