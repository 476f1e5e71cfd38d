// FuseCU's principles against the exact tiles of one matrix product, by regime of the buffer, and
// how many of each are found in a second.
//
//   bench/fusecu [products per regime]     default: 20000
//
// Ranks are 32 to 4096, uniform in their logarithm; D is the smallest rank, T the smallest tensor.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

#include "tessera/fusecu.hpp"

namespace {

using namespace tessera::fusecu;

struct Case {
    Sizes sizes{};
    std::int64_t buffer_words = 0;
};

constexpr const char* regimes[] = {"tiny: to D^2/4", "small: to D^2/2", "medium: to T", "to 1.05 T",
                                   "large: above"};

std::vector<Case> cases(std::size_t regime, int count) {
    std::mt19937_64 random(7 + regime);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<Case> all(static_cast<std::size_t>(count));
    for (Case& one : all) {
        for (std::int64_t& size : one.sizes) {
            size = static_cast<std::int64_t>(std::exp2(5 + 7 * unit(random)));
        }
        Sizes sorted = one.sizes;
        std::sort(sorted.begin(), sorted.end());
        const auto square = static_cast<double>(sorted[0] * sorted[0]);
        const auto tensor = static_cast<double>(sorted[0] * sorted[1]);
        const double share = unit(random);
        const double words[] = {square / 4 * (0.02 + 0.98 * share), square * (0.25 + 0.25 * share),
                                square / 2 * std::pow(2 * tensor / square, share),
                                tensor * (1 + 0.05 * share), tensor * (1.05 + 2 * share)};
        one.buffer_words = std::max<std::int64_t>(16, static_cast<std::int64_t>(words[regime]));
    }
    return all;
}

using Solver = std::function<std::optional<MatmulTiling>(const Case&)>;

// Tiles that divide their ranks; outputs count once per pass.
std::optional<MatmulTiling> divisors(const Case& one) {
    std::optional<MatmulTiling> best;
    for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t a = (c + 1) % 3, b = (c + 2) % 3;
        const Sizes& d = one.sizes;
        for (std::int64_t t_a = 1; t_a <= d[a]; ++t_a) {
            if (d[a] % t_a != 0 || t_a >= one.buffer_words) {
                continue;
            }
            std::int64_t t_b = std::min(d[b], (one.buffer_words - t_a) / (t_a + 1));
            while (t_b > 0 && d[b] % t_b != 0) {
                --t_b;
            }
            if (t_b == 0) {
                continue;
            }
            const std::int64_t words =
                d[a] * d[b] + d[b] * d[c] * (d[a] / t_a) + d[a] * d[c] * (d[b] / t_b);
            if (!best || words < best->traffic_words) {
                best = MatmulTiling{};
                best->traffic_words = words;
            }
        }
    }
    return best;
}

void show(const char* regime, const char* rule, const std::vector<Case>& all,
          const Solver& solver) {
    int exact = 0;
    double sum = 0, worst = 0;
    for (const Case& one : all) {
        const auto least =
            static_cast<double>(exact_matmul(one.sizes, one.buffer_words)->traffic_words);
        const auto found = solver(one);
        const double gap =
            found ? static_cast<double>(found->traffic_words) / least - 1 : std::nan("");
        exact += gap == 0 ? 1 : 0;
        sum += gap;
        worst = std::max(worst, gap);
    }
    const auto count = static_cast<double>(all.size());
    std::printf("%-16s %-11s %8.1f %9.3f %8.1f\n", regime, rule, 100 * exact / count,
                100 * sum / count, 100 * worst);
}

void show_speed(const char* rule, const Solver& solver) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<Case> all(4096);
    for (Case& one : all) {
        for (std::int64_t& size : one.sizes) {
            size = static_cast<std::int64_t>(std::exp2(5 + 9 * unit(random)));
        }
        one.buffer_words = static_cast<std::int64_t>(std::exp2(10 + 14 * unit(random)));
    }
    const auto from = std::chrono::steady_clock::now();
    std::int64_t count = 0, words = 0;
    double seconds = 0;
    while (seconds < 1) {
        for (const Case& one : all) {
            const auto found = solver(one);
            words += found ? found->used_words : 0;
        }
        count += static_cast<std::int64_t>(all.size());
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    }
    std::printf("%-11s %12.0f per second, ranks 32 to 16384 (mean footprint %.0f words)\n", rule,
                static_cast<double>(count) / seconds,
                static_cast<double>(words) / static_cast<double>(count));
}

}  // namespace

int main(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 20000;
    if (count < 1 || count > 10000000) {
        std::fprintf(stderr, "fusecu: the number of products must be 1 to 10000000\n");
        return 2;
    }
    const auto polish = [](std::int64_t width) {
        return
            [width](const Case& one) { return polish_matmul(one.sizes, one.buffer_words, width); };
    };
    const Solver literal = [](const Case& one) {
        return literal_matmul(one.sizes, one.buffer_words);
    };
    const Solver principles = [](const Case& one) {
        return principles_matmul(one.sizes, one.buffer_words);
    };
    const Solver exact = [](const Case& one) { return exact_matmul(one.sizes, one.buffer_words); };
    std::printf("%-16s %-11s %8s %9s %8s\n", "buffer", "rule", "exact %", "mean +%", "max +%");
    for (std::size_t regime = 0; regime < 5; ++regime) {
        const std::vector<Case> all = cases(regime, count);
        show(regimes[regime], "literal", all, literal);
        show(regimes[regime], "principles", all, principles);
        show(regimes[regime], "polish 1", all, polish(1));
        show(regimes[regime], "polish 4", all, polish(4));
        show(regimes[regime], "divisors", {all.begin(), all.begin() + (count + 9) / 10}, divisors);
    }
    show_speed("literal", literal);
    show_speed("principles", principles);
    show_speed("polish 1", polish(1));
    show_speed("exact", exact);
    return 0;
}
