// Curves and points as one SVG drawing that needs nothing else: no script, no font, no colour to be
// understood (lines differ by dashes, points by their form).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tessera::io {

struct PlotSeries {
    std::string name;
    std::vector<std::pair<double, double>> points;  ///< those that are not finite are left out
    bool line = true, markers = true;
    bool steps = false;  ///< a value holds until the next
    bool faint = false;  ///< background: grey and small
    /// Two values of y for each point, between which the drawing is shaded; empty: none.
    std::vector<std::pair<double, double>> band = {};
};

struct Plot {
    std::string title, x_label, y_label;
    bool x_log = false, y_log = false;  ///< values that are not positive are left out
    std::vector<PlotSeries> series;
    int width = 720, height = 420;  ///< pixels; a long legend makes it higher
};

/// Names are foreign text and escaped. Without any point: the frame and a note.
std::string plot_svg(const Plot& plot);

/// &, <, >, quotes and control characters made harmless in XML and HTML.
std::string xml_text(const std::string& text);

/// About five round values from `low` to `high`: 1, 2 or 5 times a power of ten apart.
std::vector<double> linear_ticks(double low, double high);

/// Whether values span so much that equal factors tell more than equal differences.
bool suits_log(const std::vector<double>& values);

}  // namespace tessera::io
