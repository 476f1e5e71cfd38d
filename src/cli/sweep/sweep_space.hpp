// The points of a sweep: which values of the specs take which values, and in what order.
#pragma once

#include <string>
#include <vector>

#include "api/problem_family.hpp"

namespace tessera::cli {

/// One value of the specs that is varied.
struct SweepAxis {
    std::string name;      ///< of a variable, or a path (spec::Setting)
    bool setting = false;  ///< a path
    std::vector<std::string> values;
};

/// More are refused.
inline constexpr std::size_t most_sweep_points = 100'000;

struct SweepSpace {
    std::string order;                             ///< grid, zip or file
    std::vector<SweepAxis> axes;                   ///< of a file: with the values in it, each once
    std::vector<SweepAxis> fixed;                  ///< of one value each
    std::vector<std::vector<std::string>> points;  ///< a value of each axis

    api::Choice choice(std::size_t point) const;
};

/// "1,2,4", "0:100:25" (both ends included), "1:1024:*2"; commas and colons in brackets or quotes
/// belong to a value. `option`: what it is the value of, for messages, as "-D N". \throws UserError
std::vector<std::string> sweep_values(const std::string& text, const std::string& option);

/// "NAME=VALUES" of -D or --set. \throws UserError
SweepAxis sweep_axis(const std::string& text, bool setting);

/// Every combination; the last axis changes fastest. Axes of one value are fixed. \throws UserError
SweepSpace grid_of(const std::vector<SweepAxis>& axes);
/// The i-th values together. \throws UserError if axes are of different lengths
SweepSpace zip_of(const std::vector<SweepAxis>& axes);
/// From a file: CSV with a line of names (*.csv), else a YAML list of maps. A name with a dot is a
/// path. \throws UserError with the place
SweepSpace points_of(const std::string& file, const std::vector<SweepAxis>& fixed);

}  // namespace tessera::cli
