// Ordinary chips and workloads, as an architect would write them, drawn from a seed. A seed is the
// same text on every machine.
//
//   problem.cpp        one of each, and the width of their values
//   chip.cpp           memories, arrays, vector unit
//   array.cpp          what the processing elements share and hold
//   workload.cpp       the kinds, and how their Einsums are written down
//   transformer.cpp    layers, decode, attention, chains of matrix products
//   convolution.cpp    residual, bottleneck and depthwise-separable blocks
#pragma once

#include <cstdint>
#include <string>

#include "random.hpp"

namespace bench::chips {

/// YAML with its kind in a few words.
struct Text {
    std::string kind, yaml;
};

Text draw_chip(Random& random, int bits_per_value);
Text draw_workload(Random& random, int bits_per_value);

struct Problem {
    Text chip, workload;
};

Problem draw(std::uint64_t seed);

}  // namespace bench::chips
