#include "io/units.hpp"

#include <cmath>
#include <cstdio>
#include <iterator>

namespace tessera::io {

namespace {

std::string printed(const char* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

}  // namespace

std::string quantity(double value, const std::string& unit) {
    if (unit.empty()) {
        return printed("%.6g", value);
    }
    if (value == 0 || !std::isfinite(value)) {
        return printed("%g", value) + " " + unit;
    }
    static const char* const prefixes[] = {"f", "p", "n", "u", "m", "", "k", "M", "G", "T", "P"};
    int index = static_cast<int>(std::floor(std::log10(std::abs(value)) / 3)) + 5;
    index = index < 0 ? 0 : index > 10 ? 10 : index;
    double scaled = value / std::pow(1000.0, index - 5);
    // 999.96 would be printed as 1000.
    if (std::abs(scaled) >= 999.95 && index < 10) {
        ++index;
        scaled /= 1000;
    }
    return printed("%.4g", scaled) + " " + prefixes[index] + unit;
}

std::string plain(double value, const std::string& unit) {
    return printed("%.6g", value) + (unit.empty() ? "" : " " + unit);
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

}  // namespace tessera::io
