// One matrix product whose words cost differently: the lattice of matmul.cpp with another sum.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lattice.hpp"

namespace tessera::fusecu {

namespace {

void check_cost(double cost) {
    if (!std::isfinite(cost) || cost < 0) {
        throw std::invalid_argument("a word costs " + std::to_string(cost) +
                                    "; expected a finite number of at least 0");
    }
}

/// `passes[d]` over rank d at the tensor that lacks it; 1 for the stationary one.
double cost_of(const Sizes& d, const Sizes& passes, const WordCosts& costs) {
    const auto words = [&](std::size_t lacks) {
        return static_cast<double>(d[(lacks + 1) % 3] * d[(lacks + 2) % 3]);
    };
    const auto n = [&](std::size_t lacks) { return static_cast<double>(passes[lacks]); };
    return words(2) * n(2) * costs.a + words(0) * n(0) * costs.b +
           words(1) * (n(1) * costs.c_write + (n(1) - 1) * costs.c_read);
}

}  // namespace

std::optional<WeightedTiling> exact_weighted_matmul(const Sizes& sizes, std::int64_t buffer_words,
                                                    const WordCosts& costs) {
    std::for_each(sizes.begin(), sizes.end(), check_size);
    for (const double cost : {costs.a, costs.b, costs.c_write, costs.c_read}) {
        check_cost(cost);
    }
    std::optional<WeightedTiling> best;
    for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t a = (c + 1) % 3;
        for (std::int64_t t_a = sizes[a]; t_a > 0; t_a = next_tile(sizes[a], t_a)) {
            Best one(sizes, buffer_words);
            one.show_widest(c, a, (c + 2) % 3, t_a);
            if (!one.best()) {
                continue;
            }
            const MatmulTiling& t = *one.best();
            Sizes passes{};
            for (std::size_t r = 0; r < 3; ++r) {
                passes[r] = r == c ? 1 : ceil_div(sizes[r], t.tile[r]);
            }
            const double cost = cost_of(sizes, passes, costs);
            if (!best || cost < best->cost ||
                (cost == best->cost && t.used_words < best->tiling.used_words)) {
                best = WeightedTiling{t, cost};
            }
        }
    }
    return best;
}

}  // namespace tessera::fusecu
