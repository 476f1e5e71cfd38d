// Drawings of many curves.
#include "io/plot_svg.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

using namespace tessera;

namespace {

/// What follows `key` up to `end`, everywhere in the text.
std::multiset<std::string> all_after(const std::string& text, const std::string& key, char end) {
    std::multiset<std::string> found;
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
        const std::size_t from = at + key.size();
        found.insert(text.substr(from, text.find(end, from) - from));
    }
    return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_curve_is_in_the_legend_with_a_line_of_its_own) {
    io::Plot plot;
    for (int i = 0; i < 24; ++i) {
        plot.series.push_back({"curve " + std::to_string(i) + ".", {{1, i}, {2, i + 1}}});
    }
    const std::string svg = io::plot_svg(plot);
    double lowest = 0;
    for (int i = 0; i < 24; ++i) {
        BOOST_TEST(svg.find(">curve " + std::to_string(i) + ".<") != std::string::npos);
    }
    for (const std::string& y : all_after(svg, " y=\"", '"')) {
        lowest = std::max(lowest, std::stod(y));
    }
    const std::string height = *all_after(svg, "\" height=\"", '"').rbegin();
    BOOST_TEST(lowest < std::stod(height));
    // Lines differ even where no colour is seen.
    std::set<std::string> strokes;
    for (const std::string& line : all_after(svg, "<polyline fill=\"none\" stroke=\"", '>')) {
        const std::size_t dashes = line.find("stroke-dasharray");
        strokes.insert(line.substr(dashes, line.find(" points") - dashes));
    }
    BOOST_TEST(strokes.size() == 24);
}
