#include <algorithm>
#include <cstdio>

#include "parts.hpp"
#include "problem.hpp"

namespace bench::chips {

namespace {

Scale draw_scale(Random& random, int bits) {
    Scale scale;
    scale.server = random.chance(50);
    scale.bits = bits;
    scale.clock_hz = scale.server ? random.pick({0.7e9, 0.94e9, 1e9, 1.05e9, 1.4e9})
                                  : random.pick({0.2e9, 0.4e9, 0.5e9, 0.8e9, 1e9});
    scale.leaks = random.chance(35);
    scale.vector_unit = random.chance(55);
    return scale;
}

std::string main_memory(const Scale& scale, Random& random) {
    const double bytes_per_s = scale.server
                                   ? random.pick({256e9, 512e9, 614e9, 900e9, 1200e9, 2e12})
                                   : random.pick({8.5e9, 12.8e9, 25.6e9, 34e9, 51.2e9});
    const double j_per_bit =
        scale.server ? random.pick({3.9e-12, 3.9e-12, 7e-12}) : random.pick({4e-12, 8e-12, 15e-12});
    const int bits_per_action = random.pick({1, 64, 256});
    const double per_s = bytes_per_s * 8 / bits_per_action;
    Lines lines{std::string("name: ") + (scale.server ? "HBM" : "DRAM"), "size: inf"};
    if (bits_per_action > 1) {
        lines.push_back("bits_per_action: " + std::to_string(bits_per_action));
    }
    lines.push_back("actions:");
    lines.push_back(action("read", j_per_bit * bits_per_action, per_s));
    lines.push_back(action("write", j_per_bit * bits_per_action, per_s));
    lines.push_back("tensors: {keep: ~Intermediates, may_keep: All}");
    return node("Memory", lines);
}

/// What the first buffer keeps, and what the ones further in do.
std::string outer_tensors(const Scale& scale, Random& random) {
    const std::string outer = scale.server ? "HBM" : "DRAM";
    const int style = random.below(100);
    return style < 50   ? "{keep: ~" + outer + ", may_keep: All}"
           : style < 70 ? "{keep: All}"
           : style < 80 ? "{keep: input | output}"
           : style < 90 ? "{keep: input | output, may_keep: All}"
                        : "{may_keep: All}";
}

std::string inner_tensors(Random& random) {
    return random.pick({"{may_keep: All}", "{may_keep: All}", "{keep: All}",
                        "{keep: input | output}", "{keep: input | output}", "{keep: weight}",
                        "{keep: input}", "{keep: weight, may_keep: All}"});
}

/// Bits per second that feed so many elements by a value each, in a power of two.
double feed(double elements, const Scale& scale, Random& random) {
    double bits_per_cycle = 64;
    while (bits_per_cycle < elements * scale.bits) {
        bits_per_cycle *= 2;
    }
    return bits_per_cycle * random.pick({0.5, 1.0, 1.0, 2.0, 4.0}) * scale.clock_hz;
}

/// KiB of the on-chip memories from the outside to the inside.
std::vector<int> sizes(int levels, const Scale& scale, Random& random) {
    std::vector<int> kib{scale.server ? random.pick({1024, 4096, 8192, 16384, 24576, 32768, 65536})
                                      : random.pick({64, 108, 128, 256, 512, 1024, 2048})};
    for (int i = 1; i < levels; ++i) {
        kib.push_back(std::max(32, kib.back() / random.pick({2, 4, 4, 8, 16})));
    }
    return kib;
}

std::string vector_unit(const Scale& scale, Random& random) {
    const int lanes = random.pick({16, 32, 64, 128, 256});
    const double energy_j = random.pick({0.0, 0.2e-12, 0.5e-12});
    std::string inner =
        node("Compute", {"name: VectorUnit", "enabled: len(All) <= 2",
                         "spatial:", "- {name: lane, fanout: " + std::to_string(lanes) + "}",
                         "actions:", action("compute", energy_j, scale.clock_hz)});
    for (std::size_t at = 0; at != std::string::npos; at = inner.find("\n  ", at)) {
        inner.insert(at == 0 ? 0 : at + 1, "  ");
        at += 2;
    }
    return "  - !Fork\n    nodes:\n" + inner;
}

std::string core_dimension(int cores, Random& random) {
    return "- {name: core, fanout: " + std::to_string(cores) +
           random.pick({"", "", ", may_reuse: Nothing", ", may_reuse: input"}) + "}";
}

const std::vector<std::string>& names(std::size_t levels) {
    static const std::vector<std::vector<std::string>> all{
        {"GlobalBuffer"}, {"GlobalBuffer", "LocalBuffer"}, {"L3", "L2", "L1"}};
    return all[levels - 1];
}

}  // namespace

Text draw_chip(Random& random, int bits_per_value) {
    Scale scale = draw_scale(random, bits_per_value);
    const std::string outermost = main_memory(scale, random);
    const int levels = random.pick({1, 1, 1, 1, 1, 1, 2, 2, 2, 3});
    const std::vector<int> kib = sizes(levels, scale, random);
    const int cores = random.chance(levels > 1 ? 60 : 20) ? random.pick({2, 4, 4, 8, 16}) : 1;
    const Array array = draw_array(random, scale);
    std::string text = "arch:\n  nodes:\n" + outermost;
    std::string kind = array.style + " " + std::to_string(array.rows) + "x" +
                       std::to_string(array.columns) + " x" + std::to_string(cores) + ",";
    const int width = random.pick({1, 64, 128, 256});
    for (std::size_t i = 0; i < kib.size(); ++i) {
        const bool parted = cores > 1 && i == 1;  // from here on each core has its own
        Buffer buffer;
        buffer.name = names(kib.size())[i];
        buffer.bytes = kib[i] * 1024.0;
        buffer.bits_per_action = width;
        if (parted) {
            buffer.more = {"spatial:", core_dimension(cores, random)};
        }
        buffer.bits_per_s = feed(array.rows * (i == 0 ? cores : 1), scale, random);
        if (i > 0 && random.chance(40)) {
            buffer.bits_per_s = 0;
        }
        buffer.tensors = i == 0 ? outer_tensors(scale, random) : inner_tensors(random);
        text += memory(buffer, scale, random);
        kind += " " + std::to_string(kib[i]) + " KiB " + buffer.tensors;
        if (i == 0 && scale.vector_unit) {
            text += vector_unit(scale, random);
        }
        if (i == 0 && cores > 1 && kib.size() == 1) {
            text += node("Container", {"name: Core", "spatial:", core_dimension(cores, random)});
        }
    }
    kind += std::string(scale.vector_unit ? ", vector unit" : "") + (scale.leaks ? ", leaks" : "");
    return {kind, text + array.yaml};
}

}  // namespace bench::chips
