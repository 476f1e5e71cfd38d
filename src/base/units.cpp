#include "base/units.hpp"

#include <cmath>
#include <cstdio>
#include <iterator>

namespace tessera::base {

namespace {

std::string printed(const char* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

/// What is counted is printed in full below it.
constexpr double largest_plain = 9999.5;

struct Scaled {
    std::string digits, prefix;
};

/// Without a prefix where none fits.
Scaled scaled_by_thousands(double value) {
    static const char* const prefixes[] = {"y", "z", "a", "f", "p", "n", "u", "m", "",
                                           "k", "M", "G", "T", "P", "E", "Z", "Y"};
    constexpr int none = 8, last = 16;
    if (value == 0 || !std::isfinite(value)) {
        return {number(value), ""};
    }
    int index = none + static_cast<int>(std::floor(std::log10(std::abs(value)) / 3));
    double digits = value / std::pow(1000.0, index - none);
    // 999.96 would be printed as 1000.
    if (std::abs(digits) >= 999.95) {
        ++index;
        digits /= 1000;
    }
    if (index < 0 || index > last) {
        return {number(value), ""};
    }
    return {number(digits), prefixes[index]};
}

}  // namespace

bool takes_prefixes(const std::string& unit) {
    return unit == "J" || unit == "s" || unit == "J s" || unit == "W" || unit == "/s";
}

std::string quantity(double value, const std::string& unit) {
    if (!takes_prefixes(unit)) {
        return amount(value, unit);
    }
    const Scaled scaled = scaled_by_thousands(value);
    return scaled.digits + " " + scaled.prefix + unit;
}

std::string amount(double value, const std::string& noun) {
    const std::string after = noun.empty() ? "" : " " + noun;
    if (std::abs(value) < largest_plain) {
        return number(value) + after;
    }
    const Scaled scaled = scaled_by_thousands(value);
    return scaled.digits + (scaled.prefix.empty() ? "" : " " + scaled.prefix) + after;
}

std::string number(double value) {
    return printed("%.4g", value);
}

std::string counted(std::uint64_t n, const std::string& noun, const std::string& nouns) {
    return std::to_string(n) + " " + (n == 1 ? noun : nouns.empty() ? noun + "s" : nouns);
}

std::string percent(double fraction) {
    return printed("%.4g", fraction * 100) + " %";
}

std::string size(double bits) {
    if (!std::isfinite(bits)) {
        return "unlimited";
    }
    if (bits < 1024 * 8 && std::fmod(bits, 8) != 0) {
        return printed("%.4g", bits) + " bit";
    }
    static const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    std::size_t unit = 0;
    double value = bits / 8;
    while (value >= 1024 && unit + 1 < std::size(units)) {
        value /= 1024;
        ++unit;
    }
    return printed("%.4g", value) + " " + units[unit];
}

std::string memory(double bytes) {
    return printed("%.1f", bytes / (1024.0 * 1024.0)) + " MiB";
}

}  // namespace tessera::base
