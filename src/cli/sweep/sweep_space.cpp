// Map:
//   split()          commas and colons outside brackets
//   range()          FROM:TO:STEP
//   sweep_values(), sweep_axis()
//   grid_of(), zip_of(): combinations
#include "sweep_space.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "tessera/base/error.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::cli {

namespace {

constexpr const char* forms =
    "values as 1,2,4 or a range FROM:TO:STEP or FROM:TO:*FACTOR, for example 1:1024:*2";

[[noreturn]] void refuse(const std::string& option, const std::string& text,
                         const std::string& what) {
    throw UserError(option + ": '" + text + "' is not understood: " + what + " (expected " + forms +
                    ")");
}

/// At `separator` outside brackets and quotes.
std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    int depth = 0;
    char quote = 0;
    for (const char c : text) {
        if (quote != 0) {
            quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else {
            depth += std::string("([{").find(c) != std::string::npos;
            depth -= std::string(")]}").find(c) != std::string::npos;
        }
        if (c == separator && depth == 0 && quote == 0) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t");
    const std::size_t last = text.find_last_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

double number(const std::string& text, const std::string& option, const std::string& whole) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
        refuse(option, whole, "'" + text + "' in the range is no number");
    }
    return value;
}

std::vector<std::string> range(const std::vector<std::string>& parts, const std::string& option,
                               const std::string& whole) {
    const double from = number(parts[0], option, whole), to = number(parts[1], option, whole);
    const bool factor = parts.size() == 3 && !parts[2].empty() && parts[2].front() == '*';
    const double step =
        parts.size() < 3 ? 1 : number(parts[2].substr(factor ? 1 : 0), option, whole);
    if (factor ? !(step > 1 && from > 0 && to >= from) : !(step != 0 && (to - from) / step >= 0)) {
        refuse(option, whole,
               factor ? "FROM must be above 0, TO not below it, the factor above 1"
                      : "the step does not lead from FROM to TO");
    }
    constexpr double rounding = 1e-9;  // 0:1:0.1 has eleven values
    std::vector<std::string> values;
    for (std::size_t i = 0;; ++i) {
        const auto n = static_cast<double>(i);
        const double value = factor ? from * std::pow(step, n) : from + n * step;
        const bool past = factor ? value > to * (1 + rounding) : (value - to) / step > rounding;
        if (past) {
            return values;
        }
        if (values.size() == most_sweep_points) {
            refuse(option, whole, "it has more than 100000 values");
        }
        values.push_back(spec::number_text(value));
    }
}

void check_size(double n) {
    if (n > static_cast<double>(most_sweep_points)) {
        throw UserError("the sweep has more than 100000 points; give fewer values");
    }
}

/// Axes of several values and those of one. \throws UserError if one is given twice
SweepSpace sorted_axes(const std::vector<SweepAxis>& axes, const char* order) {
    SweepSpace space;
    space.order = order;
    std::set<std::string> seen;
    for (const SweepAxis& axis : axes) {
        if (!seen.insert(axis.name).second) {
            throw UserError(std::string(axis.setting ? "--set " : "-D ") + axis.name +
                            " is given twice; several values are separated by commas");
        }
        (axis.values.size() == 1 ? space.fixed : space.axes).push_back(axis);
    }
    return space;
}

}  // namespace

std::vector<std::string> sweep_values(const std::string& text, const std::string& option) {
    std::vector<std::string> values;
    for (const std::string& item : split(text, ',')) {
        const std::string value = trimmed(item);
        if (value.empty()) {
            refuse(option, text, "a value is missing");
        }
        const std::vector<std::string> parts = split(value, ':');
        if (parts.size() > 3) {
            refuse(option, text, "'" + value + "' has too many colons");
        }
        if (parts.size() == 1) {
            values.push_back(value);
            continue;
        }
        const std::vector<std::string> more = range(parts, option, text);
        values.insert(values.end(), more.begin(), more.end());
    }
    return values;
}

SweepAxis sweep_axis(const std::string& text, bool setting) {
    const char* const option = setting ? "--set" : "--define";
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
        throw UserError(std::string(option) + ": '" + text + "' is not understood (expected " +
                        (setting ? "PATH=VALUES, for example --set arch.GlobalBuffer.size=1e6,2e6)"
                                 : "NAME=VALUES, for example -D TOKENS=1024,2048)"));
    }
    SweepAxis axis{text.substr(0, equals), setting, {}};
    axis.values = sweep_values(text.substr(equals + 1), (setting ? "--set " : "-D ") + axis.name);
    if (setting) {
        spec::section_of({axis.name, ""});
    }
    return axis;
}

api::Choice SweepSpace::choice(std::size_t point) const {
    api::Choice result;
    const auto add = [&](const SweepAxis& axis, const std::string& value) {
        if (axis.setting) {
            result.settings.push_back({axis.name, value});
        } else {
            result.defines[axis.name] = value;
        }
    };
    for (const SweepAxis& axis : fixed) {
        add(axis, axis.values.front());
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
        add(axes[i], points[point][i]);
    }
    return result;
}

SweepSpace grid_of(const std::vector<SweepAxis>& axes) {
    SweepSpace space = sorted_axes(axes, "grid");
    double n = 1;
    for (const SweepAxis& axis : space.axes) {
        n *= static_cast<double>(axis.values.size());
        check_size(n);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        std::vector<std::string> point(space.axes.size());
        std::size_t rest = i;
        for (std::size_t a = space.axes.size(); a-- > 0;) {
            const std::vector<std::string>& values = space.axes[a].values;
            point[a] = values[rest % values.size()];
            rest /= values.size();
        }
        space.points.push_back(std::move(point));
    }
    return space;
}

SweepSpace zip_of(const std::vector<SweepAxis>& axes) {
    SweepSpace space = sorted_axes(axes, "zip");
    const std::size_t n = space.axes.empty() ? 1 : space.axes.front().values.size();
    check_size(static_cast<double>(n));
    space.points.resize(n);
    for (const SweepAxis& axis : space.axes) {
        if (axis.values.size() != n) {
            throw UserError("--zip: " + space.axes.front().name + " has " + std::to_string(n) +
                            " values and " + axis.name + " has " +
                            std::to_string(axis.values.size()) +
                            "; give each as many, or one for all points");
        }
        for (std::size_t i = 0; i < n; ++i) {
            space.points[i].push_back(axis.values[i]);
        }
    }
    return space;
}

}  // namespace tessera::cli
