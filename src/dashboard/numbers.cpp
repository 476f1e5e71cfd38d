#include "dashboard/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/units.hpp"
#include "dashboard/symbols.hpp"

namespace tessera::dashboard {

namespace {

std::string printed(const char* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

}  // namespace

std::string count(double value) {
    if (!std::isfinite(value)) {
        return "    -";
    }
    if (std::fabs(value) < 999.5) {
        const bool whole = value == std::floor(value) || std::fabs(value) >= 99.95;
        return pad_left(printed(whole                       ? "%.0f"
                                : std::fabs(value) >= 9.995 ? "%.1f"
                                                            : "%.2f",
                                value),
                        5);
    }
    static constexpr char prefixes[] = "kMGTPE";
    double scaled = value;
    for (const char* prefix = prefixes; *prefix; ++prefix) {
        scaled /= 1000;
        const double size = std::fabs(scaled);
        if (size < 999.5) {
            const char* format = size >= 99.95 ? "%.0f" : size >= 9.995 ? "%.1f" : "%.2f";
            return pad_left(printed(format, scaled) + *prefix, 5);
        }
    }
    return pad_left(printed("%.0e", value), 5);
}

std::string percent(double fraction) {
    if (!std::isfinite(fraction)) {
        return "-";
    }
    const double value = fraction * 100, size = std::fabs(value);
    if (size >= 9999.5) {
        return value > 0 ? ">9999%" : "<-9999%";
    }
    const char* format = size >= 99.95 ? "%.0f%%" : size >= 1 || value == 0 ? "%.1f%%" : "%.2f%%";
    return printed(format, value);
}

std::string quantity(double value, const std::string& unit) {
    if (!std::isfinite(value)) {
        return "-";
    }
    if (!base::takes_prefixes(unit)) {
        return base::amount(value, unit);
    }
    static constexpr char prefixes[] = "fpnum kMGTP";
    double scaled = value / 1e-15;
    int index = 0;
    while (std::fabs(scaled) >= 999.95 && index < 10) {
        scaled /= 1000;
        ++index;
    }
    if (std::fabs(scaled) < 0.9995 || std::fabs(scaled) >= 999.95) {
        return base::quantity(value, unit);
    }
    const double size = std::fabs(scaled);
    const std::string digits = printed(size < 9.9995   ? "%.3f"
                                       : size < 99.995 ? "%.2f"
                                                       : "%.1f",
                                       scaled);
    return digits + " " + (prefixes[index] == ' ' ? "" : std::string(1, prefixes[index])) + unit;
}

std::string short_number(double value) {
    return std::isfinite(value) ? printed(std::fabs(value) < 1e100 ? "%.2e" : "%.0e", value) : "-";
}

std::string clock(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0) {
        return "--:--:--";
    }
    const auto whole = static_cast<long long>(std::min(seconds, 1e12));
    char text[64];
    std::snprintf(text, sizeof text, "%02lld:%02lld:%02lld", whole / 3600 % 24, whole / 60 % 60,
                  whole % 60);
    return whole >= 86400 ? std::to_string(whole / 86400) + "d " + text : text;
}

std::string duration(double seconds) {
    return seconds < 60 ? quantity(seconds, "s") : clock(seconds);
}

std::string age(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0) {
        return "-";
    }
    const auto whole = static_cast<long long>(std::min(seconds, 1e12));
    return whole < 60          ? std::to_string(whole) + "s"
           : whole < 3600      ? std::to_string(whole / 60) + "m"
           : whole < 86400     ? std::to_string(whole / 3600) + "h"
           : whole < 86400000L ? std::to_string(whole / 86400) + "d"
                               : ">2y";
}

std::string memory(double bytes) {
    return base::memory(bytes);
}

std::string pad_left(const std::string& utf8, int width) {
    const int missing = width - columns(utf8);
    return missing > 0 ? std::string(static_cast<std::size_t>(missing), ' ') + utf8 : utf8;
}

std::string pad_right(const std::string& utf8, int width) {
    const int missing = width - columns(utf8);
    return missing > 0 ? utf8 + std::string(static_cast<std::size_t>(missing), ' ') : utf8;
}

}  // namespace tessera::dashboard
