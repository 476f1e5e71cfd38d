#include "tessera/schedule/gantt.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/printable.hpp"

namespace tessera::schedule {

namespace {

constexpr double row_height = 44, chart_width = 900, left_margin = 70, top_margin = 40;

char letter(std::size_t index) {
    static const std::string letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+*";
    return letters[index % letters.size()];
}

std::string number(const char* format, double value) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

std::vector<Placement> by_time(const Schedule& schedule) {
    std::vector<Placement> sorted = schedule.placements;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Placement& a, const Placement& b) { return a.start_s < b.start_s; });
    return sorted;
}

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

double busy_s(const Schedule& schedule, int unit) {
    double sum = 0;
    for (const Placement& placed : schedule.placements) {
        sum += placed.unit == unit ? placed.end_s - placed.start_s : 0;
    }
    return sum;
}

std::string xml(const std::string& text) {
    std::string result;
    for (const char c : base::one_line(text)) {
        result += c == '&'   ? "&amp;"
                  : c == '<' ? "&lt;"
                  : c == '>' ? "&gt;"
                  : c == '"' ? "&quot;"
                             : std::string(1, c);
    }
    return result;
}

std::string bar(const Dag& dag, const Schedule& schedule, const Placement& placed, double scale) {
    const double x = left_margin + placed.start_s * scale;
    const double y = top_margin + row_height * placed.unit;
    const double width = (placed.end_s - placed.start_s) * scale;
    const int stage = schedule.overlap.stage.at(placed.task);
    const std::string name = xml(dag.tasks.at(placed.task).name);
    std::string text = "<g><title>" + name + ", stage " + std::to_string(stage) + ": " +
                       number("%.6g", placed.start_s) + " s to " + number("%.6g", placed.end_s) +
                       " s</title><rect x=\"" + number("%.2f", x) + "\" y=\"" +
                       number("%.2f", y + 4) + "\" width=\"" + number("%.2f", width) +
                       "\" height=\"" + number("%.2f", row_height - 8) + "\" fill=\"hsl(" +
                       std::to_string(placed.task * 137 % 360) + ",60%," +
                       std::to_string(stage % 2 ? 78 : 62) + "%)\" stroke=\"#333\"/>";
    if (width > 8.0 * static_cast<double>(dag.tasks[placed.task].name.size())) {
        text += "<text x=\"" + number("%.2f", x + width / 2) + "\" y=\"" +
                number("%.2f", y + row_height / 2 + 4) + "\" text-anchor=\"middle\">" + name +
                "</text>";
    }
    return text + "</g>\n";
}

}  // namespace

std::string gantt_text(const Dag& dag, const Schedule& schedule, int columns) {
    std::size_t margin = 4;
    for (const std::string& unit : dag.units) {
        margin = std::max(margin, base::one_line(unit).size());
    }
    const int width = std::max(10, columns - static_cast<int>(margin) - 10);
    const double scale = schedule.interval_s > 0 ? width / schedule.interval_s : 0;
    const std::vector<Placement> sorted = by_time(schedule);
    std::string text;
    for (std::size_t unit = 0; unit < dag.units.size(); ++unit) {
        std::string line(static_cast<std::size_t>(width), '.');
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            if (sorted[i].unit == static_cast<int>(unit)) {
                // The task that is running at the middle of each column.
                const auto column = [&](double time_s) {
                    return std::clamp(static_cast<int>(std::ceil(time_s * scale - 0.5)), 0, width);
                };
                for (int x = column(sorted[i].start_s); x < column(sorted[i].end_s); ++x) {
                    line[static_cast<std::size_t>(x)] = letter(i);
                }
            }
        }
        const double share = schedule.interval_s > 0
                                 ? busy_s(schedule, static_cast<int>(unit)) / schedule.interval_s
                                 : 0;
        text += padded(base::one_line(dag.units[unit]), margin) + " |" + line + "| " +
                number("%3.0f %%", 100 * share) + "\n";
    }
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const Placement& placed = sorted[i];
        text += std::string("  ") + letter(i) + " " +
                padded(base::one_line(dag.tasks.at(placed.task).name), 8) + " " +
                padded(base::one_line(dag.units.at(placed.unit)), margin) + " stage " +
                std::to_string(schedule.overlap.stage.at(placed.task)) + "  " +
                number("%.6g", placed.start_s) + " .. " + number("%.6g", placed.end_s) + " s\n";
    }
    return text + "  round " + number("%.6g", schedule.interval_s) + " s\n";
}

std::string gantt_svg(const Dag& dag, const Schedule& schedule, const std::string& title) {
    const double height = top_margin + row_height * static_cast<double>(dag.units.size()) + 30;
    const double scale = schedule.interval_s > 0 ? chart_width / schedule.interval_s : 0;
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                      number("%.0f", left_margin + chart_width + 20) + "\" height=\"" +
                      number("%.0f", height) +
                      "\" font-family=\"sans-serif\" font-size=\"12\">\n<text x=\"10\" y=\"20\" "
                      "font-weight=\"bold\">" +
                      xml(title) + "</text>\n";
    for (std::size_t unit = 0; unit < dag.units.size(); ++unit) {
        svg += "<text x=\"10\" y=\"" +
               number("%.2f", top_margin + row_height * (static_cast<double>(unit) + 0.5) + 4) +
               "\">" + xml(dag.units[unit]) + "</text>\n";
    }
    for (const Placement& placed : by_time(schedule)) {
        svg += bar(dag, schedule, placed, scale);
    }
    return svg + "<text x=\"" + number("%.0f", left_margin) + "\" y=\"" +
           number("%.2f", height - 10) + "\">0 s</text>\n<text x=\"" +
           number("%.0f", left_margin + chart_width) + "\" y=\"" + number("%.2f", height - 10) +
           "\" text-anchor=\"end\">" + number("%.6g", schedule.interval_s) + " s</text>\n</svg>\n";
}

}  // namespace tessera::schedule
