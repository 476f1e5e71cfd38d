// Grouped bars as a table (CSV) and as a picture (SVG).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

inline std::string number(const char* format, double value) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

/// One value per group and series. Names are the program's own: nothing is escaped.
struct BarChart {
    std::string file, title;  ///< the file without its ending
    std::vector<std::string> series;
    struct Group {
        std::string name;
        std::vector<double> values;
    };
    std::vector<Group> groups;

    std::string csv() const {
        std::string text = "group";
        for (const std::string& one : series) {
            text += "," + one;
        }
        for (const Group& group : groups) {
            text += "\n" + group.name;
            for (const double value : group.values) {
                text += number(",%.6g", value);
            }
        }
        return text + "\n";
    }

    std::string svg() const {
        constexpr double bar = 12, height = 220, left = 50, top = 50;
        const double step = bar * static_cast<double>(series.size()) + 16;
        double highest = 0;
        for (const Group& group : groups) {
            highest =
                std::max(highest, *std::max_element(group.values.begin(), group.values.end()));
        }
        const double scale = highest > 0 ? height / highest : 0;
        const double width = left + step * static_cast<double>(groups.size()) + 20;
        std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                           number("%.0f", std::max(width, 520.0)) + "\" height=\"" +
                           number("%.0f", top + height + 40) +
                           "\" font-family=\"sans-serif\" font-size=\"11\">\n<text x=\"10\" "
                           "y=\"18\" font-weight=\"bold\">" +
                           title + "</text>\n";
        for (std::size_t i = 0; i < series.size(); ++i) {
            const std::string x = number("%.0f", 10 + 125.0 * static_cast<double>(i));
            text += "<rect x=\"" + x + "\" y=\"26\" width=\"10\" height=\"10\" fill=\"" +
                    colour(i) + "\"/><text x=\"" + x + "\" dx=\"14\" y=\"35\">" + series[i] +
                    "</text>\n";
        }
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const double x = left + step * static_cast<double>(g);
            for (std::size_t i = 0; i < groups[g].values.size(); ++i) {
                const double value = groups[g].values[i];
                text += "<rect x=\"" + number("%.1f", x + bar * static_cast<double>(i)) +
                        "\" y=\"" + number("%.2f", top + height - value * scale) +
                        "\" width=\"11\" height=\"" + number("%.2f", value * scale) + "\" fill=\"" +
                        colour(i) + "\"><title>" + series[i] + ", " + groups[g].name + ": " +
                        number("%.4g", value) + "</title></rect>\n";
            }
            text += "<text x=\"" + number("%.1f", x + step / 2 - 8) + "\" y=\"" +
                    number("%.0f", top + height + 16) + "\" text-anchor=\"middle\">" +
                    groups[g].name + "</text>\n";
        }
        return text + "<text x=\"8\" y=\"" + number("%.0f", top + 8) + "\">" +
               number("%.3g", highest) + "</text><text x=\"8\" y=\"" +
               number("%.0f", top + height) + "\">0</text>\n</svg>\n";
    }

    /// \throws std::runtime_error if a file cannot be written
    void write(const std::string& folder) const {
        for (const bool picture : {false, true}) {
            const std::string path = folder + "/" + file + (picture ? ".svg" : ".csv");
            std::ofstream out(path);
            out << (picture ? svg() : csv());
            if (!out.flush()) {
                throw std::runtime_error("cannot write " + path);
            }
        }
    }

private:
    static std::string colour(std::size_t index) {
        return "hsl(" + std::to_string(index * 137 % 360) + ",55%,50%)";
    }
};

}  // namespace bench
