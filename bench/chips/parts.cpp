#include "parts.hpp"

#include <cmath>
#include <cstdio>

namespace bench::chips {

std::string number(double value) {
    int exponent = 0;
    while (value != 0 && value < 1) {
        value *= 1000;
        exponent -= 3;
    }
    while (value >= 1000) {
        value /= 1000;
        exponent += 3;
    }
    char text[40];
    std::snprintf(text, sizeof text, exponent == 0 ? "%.3g" : "%.3ge%d", value, exponent);
    return text;
}

std::string action(const std::string& name, double energy_j, double per_s) {
    return "  - {name: " + name + ", energy: " + number(energy_j) +
           ", throughput: " + (per_s == 0 ? "inf" : number(per_s)) + "}";
}

std::string node(const std::string& kind, const Lines& lines) {
    std::string text = "  - !" + kind + "\n";
    for (const std::string& line : lines) {
        text += "    " + line + "\n";
    }
    return text;
}

std::string memory(const Buffer& buffer, const Scale& scale, Random& random) {
    constexpr double unit_bytes = 512 * 1024, unit_j_per_bit = 0.1e-12;
    const double energy_j =
        unit_j_per_bit * std::sqrt(buffer.bytes / unit_bytes) * buffer.bits_per_action;
    const double per_s = buffer.bits_per_s / buffer.bits_per_action;
    Lines lines{"name: " + buffer.name};
    lines.insert(lines.end(), buffer.more.begin(), buffer.more.end());
    char size[40];
    std::snprintf(size, sizeof size, "size: %.0f  # bits", buffer.bytes * 8);
    lines.push_back(size);
    if (buffer.bits_per_action != 1) {
        lines.push_back("bits_per_action: " + std::to_string(buffer.bits_per_action));
    }
    if (scale.leaks) {
        lines.push_back("leak_power: " + number(20e-3 * buffer.bytes / 1048576));
    }
    if (per_s != 0 && random.chance(30)) {
        lines.push_back("total_latency: max(a.n_calls / a.throughput for a in actions)");
    }
    lines.push_back("actions:");
    lines.push_back(action("read", energy_j, per_s));
    lines.push_back(action("write", energy_j * random.pick({1.0, 1.1, 1.2}), per_s));
    lines.push_back("tensors: " + buffer.tensors);
    return node("Memory", lines);
}

}  // namespace bench::chips
