// Crossover of attributes: a child has of each Einsum the template of one parent, and of each rank
// variable the tile shapes of either.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/search/space.hpp"

namespace tessera::search {

/// Which attributes come from the mate.
enum class Attributes : std::uint8_t {
    uniform,  ///< each of them every other time (Mind Mappings)
    one       ///< the tile shapes of one rank variable, or the template (GAMMA)
};

/// The symbols of a template over one rank variable, from the outside in.
inline std::vector<std::size_t> chain_of(const mapspace::Template& tmpl, int rank_variable) {
    std::vector<std::size_t> chain;
    for (std::size_t s = 0; s < tmpl.symbols.size(); ++s) {
        if (tmpl.symbols[s].rank_variable == rank_variable && tmpl.symbols[s].outer < 0) {
            for (int at = static_cast<int>(s); at >= 0;
                 at = tmpl.symbols[static_cast<std::size_t>(at)].inner) {
                chain.push_back(static_cast<std::size_t>(at));
            }
        }
    }
    return chain;
}

/// The tile shapes of one Einsum.
struct EinsumTiles {
    const mapspace::Template* tmpl = nullptr;
    const std::int64_t* tiles = nullptr;
};

/// Tile shapes of `from` over one rank variable into `tiles` of the template `to`. Nothing changes
/// where they are not so many, or in another template are partial.
inline void take_chain(const EinsumTiles& from, const mapspace::Template& to, int rank_variable,
                       std::int64_t* tiles) {
    const std::vector<std::size_t> source = chain_of(*from.tmpl, rank_variable);
    const std::vector<std::size_t> target = chain_of(to, rank_variable);
    const auto value = [&](std::size_t i) { return from.tiles[source[i]]; };
    bool fits = source.size() == target.size();
    for (std::size_t i = 1; fits && from.tmpl != &to && i < source.size(); ++i) {
        fits = value(i - 1) % value(i) == 0;
    }
    for (std::size_t i = 0; fits && i < source.size(); ++i) {
        tiles[target[i]] = value(i);
    }
}

/// `parent` with attributes of one Einsum of `mate`. The child is a point of the space and need not
/// be legal. \pre `space` has templates, both are points of it
inline Point cross_attributes(const Space& space, const Point& parent, const Point& mate,
                              std::uint32_t einsum, Attributes which, Rng& rng) {
    const auto first = [&](const Point& point) {
        std::size_t n = 0;
        for (std::uint32_t e = 0; e < einsum; ++e) {
            n += space.tmpl(e, point.choices[e].tmpl).symbols.size();
        }
        return n;
    };
    const std::size_t own_first = first(parent), other_first = first(mate);
    const EinsumTiles own{&space.tmpl(einsum, parent.choices[einsum].tmpl),
                          parent.tiles.data() + own_first};
    const EinsumTiles other{&space.tmpl(einsum, mate.choices[einsum].tmpl),
                            mate.tiles.data() + other_first};
    int n_variables = 0;
    for (const mapspace::Template* tmpl : {own.tmpl, other.tmpl}) {
        for (const auto& symbol : tmpl->symbols) {
            n_variables = std::max(n_variables, symbol.rank_variable + 1);
        }
    }
    // The template is one attribute, the tile shapes over each rank variable are one.
    const auto chosen = static_cast<int>(rng.below(static_cast<std::uint64_t>(n_variables) + 1));
    const auto from_mate = [&](int attribute) {
        return which == Attributes::one ? attribute == chosen : rng.below(2) == 0;
    };
    const bool swapped = from_mate(n_variables);
    const EinsumTiles& base = swapped ? other : own;
    const EinsumTiles& giver = swapped ? own : other;
    std::vector<std::int64_t> tiles(base.tiles, base.tiles + base.tmpl->symbols.size());
    for (int v = 0; v < n_variables; ++v) {
        if (from_mate(v) != swapped) {
            take_chain(giver, *base.tmpl, v, tiles.data());
        }
    }
    Point child = parent;
    child.choices[einsum] = (swapped ? mate : parent).choices[einsum];
    const auto at = child.tiles.begin() + static_cast<std::ptrdiff_t>(own_first);
    child.tiles.erase(at, at + static_cast<std::ptrdiff_t>(own.tmpl->symbols.size()));
    child.tiles.insert(child.tiles.begin() + static_cast<std::ptrdiff_t>(own_first), tiles.begin(),
                       tiles.end());
    return child;
}

}  // namespace tessera::search
