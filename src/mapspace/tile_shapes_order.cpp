#include <algorithm>
#include <tuple>

#include "mapspace/tile_shapes_engine.hpp"

// Order of enumeration. The result does not depend on it, the work does:
//   - a symbol comes after its inner neighbour, so that its candidates are few;
//   - fused symbols are keys for ever and multiply the rows: last;
//   - a symbol that completes its chain leaves no key behind: before one that does not;
//   - few candidates before many.

namespace tessera::mapspace {

double expected_candidates(const TileShapeSymbol& symbol, DivisorTable& table) {
    if (!divides_outer(symbol.choice)) {
        return std::max(1.0, static_cast<double>(symbol.bound) / 2.0);
    }
    if (symbol.inner < 0) {
        return static_cast<double>(table.divisors().size());
    }
    double mean = 1.0;  // pairs of divisors d | e over divisors
    for (const int exponent : table.prime_exponents()) {
        mean *= (exponent + 2) / 2.0;
    }
    return mean;
}

std::vector<int> tile_shape_order(std::span<const TileShapeSymbol> symbols, DivisorCache& cache) {
    std::vector<int> order;
    std::uint32_t known = 0;
    while (order.size() < symbols.size()) {
        int best = -1;
        std::tuple<bool, bool, double, int> best_rank;
        for (std::size_t s = 0; s < symbols.size(); ++s) {
            const TileShapeSymbol& symbol = symbols[s];
            if ((known >> s & 1u) || (symbol.inner >= 0 && !(known >> symbol.inner & 1u))) {
                continue;
            }
            const bool leaves_key = symbol.outer >= 0 && !(known >> symbol.outer & 1u);
            const std::tuple rank(symbol.fused, leaves_key,
                                  expected_candidates(symbol, cache.of(symbol.bound)),
                                  static_cast<int>(s));
            if (best < 0 || rank < best_rank) {
                best = static_cast<int>(s);
                best_rank = rank;
            }
        }
        order.push_back(best);
        known |= 1u << best;
    }
    return order;
}

}  // namespace tessera::mapspace
