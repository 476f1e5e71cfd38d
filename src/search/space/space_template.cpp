// Questions about given tile shapes of a compiled template: which fused loops run and how often,
// whether the tile shapes nest and keep to the limits.
#include <algorithm>
#include <cmath>

#include "search/space_data.hpp"
#include "tessera/base/divisors.hpp"

namespace tessera::search {

using base::divides;
using mapspace::TileChoice;

double fused_trips(const TemplateData& t, std::size_t fused, const double* values) {
    const FusedLoop& loop = t.fused[fused];
    const int outer_symbol = loop.outer >= 0 ? t.fused[loop.outer].symbol : -1;
    const double outer = loop.outer < 0      ? static_cast<double>(loop.bound)
                         : outer_symbol >= 0 ? values[outer_symbol]
                                             : 1.0;
    return std::ceil(outer / (loop.symbol >= 0 ? values[loop.symbol] : 1.0));
}

std::uint32_t running_loops(const TemplateData& t, const double* values) {
    std::uint32_t running = 0;
    for (std::size_t k = 0; k < t.fused.size(); ++k) {
        running |= fused_trips(t, k, values) > 1 ? 1u << k : 0u;
    }
    return running;
}

void trips_of(const TemplateData& t, std::uint32_t running, const double* values,
              std::vector<std::int64_t>& out) {
    out.clear();
    for (std::size_t k = 0; k < t.fused.size(); ++k) {
        if (running >> k & 1u) {
            out.push_back(static_cast<std::int64_t>(fused_trips(t, k, values)));
        }
    }
}

const Pattern* find_pattern(const TemplateData& t, std::uint32_t running) {
    const auto at = std::lower_bound(
        t.patterns.begin(), t.patterns.end(), running,
        [](const Pattern& pattern, std::uint32_t loops) { return pattern.loops < loops; });
    return at != t.patterns.end() && at->loops == running ? &*at : nullptr;
}

bool meets_loop_limits(const TemplateData& t, const double* values) {
    for (const mapspace::LoopLimit& limit : t.loop_limits) {
        int running = 0;
        for (const mapspace::LoopLimit::Loop& loop : limit.loops) {
            const double outer =
                loop.outer >= 0 ? values[loop.outer] : static_cast<double>(loop.bound);
            running += outer > values[loop.own] ? 1 : 0;
        }
        if (running > limit.limit) {
            return false;
        }
    }
    return true;
}

int wrong_tile_shape(const TemplateData& t, const double* values) {
    for (std::size_t i = 0; i < t.symbols.size(); ++i) {
        const mapspace::TileShapeSymbol& s = t.symbols[i];
        const double outer = s.outer >= 0 ? values[s.outer] : static_cast<double>(s.bound);
        const double own = values[i];
        if (!(own >= 1) || own > outer) {
            return static_cast<int>(i);
        }
        switch (s.choice) {
            case TileChoice::divisors:
                // What divides an outer one of this kind divides what that divides.
                if (!divides(own, outer) ||
                    (s.outer >= 0 && t.symbols[s.outer].choice != TileChoice::divisors &&
                     !divides(own, static_cast<double>(s.bound)))) {
                    return static_cast<int>(i);
                }
                break;
            case TileChoice::divisors_of_outer:
                if (!divides(own, outer)) {
                    return static_cast<int>(i);
                }
                break;
            case TileChoice::partial_outermost: {
                const std::vector<double>& tiles = t.partial_tiles[i];
                if (outer == static_cast<double>(s.bound)
                        ? !std::binary_search(tiles.begin(), tiles.end(), own)
                        : !divides(own, outer)) {
                    return static_cast<int>(i);
                }
                break;
            }
            case TileChoice::one_per_trip_count: {
                const double inner = s.inner >= 0 ? values[s.inner] : 1.0;
                const bool multiple =
                    s.inner >= 0 && t.symbols[s.inner].choice != TileChoice::one_per_trip_count;
                const double smaller = own - (multiple ? inner : 1.0);
                if (smaller >= inner && std::ceil(outer / smaller) == std::ceil(outer / own)) {
                    return static_cast<int>(i);
                }
                break;
            }
            default:
                break;
        }
    }
    return -1;
}

}  // namespace tessera::search
