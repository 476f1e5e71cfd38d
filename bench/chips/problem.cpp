#include "problem.hpp"

namespace bench::chips {

Problem draw(std::uint64_t seed) {
    Random random(seed);
    const int bits = random.pick({8, 16});
    Problem problem;
    problem.chip = draw_chip(random, bits);
    problem.workload = draw_workload(random, bits);
    const auto title = [&](Text& text) {
        text.yaml = "# Drawn by bench/chips, seed " + std::to_string(seed) + ": " + text.kind +
                    ".\n" + text.yaml;
    };
    title(problem.chip);
    title(problem.workload);
    return problem;
}

}  // namespace bench::chips
