// Tile shapes of products and of fused pairs on one buffer, over the rank variables of Einsums: the
// lattice of tessera/fusecu/matmul.hpp for ranks that are several variables, and for divisors
// alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "product.hpp"
#include "tessera/fusecu/matmul.hpp"

namespace tessera::fusecu_mapper {

/// One way to tile a group.
struct Tile {
    std::vector<std::int64_t> shape;  ///< per variable of the group
    std::int64_t size = 1;            ///< product of the shape
    std::int64_t passes = 1;
};

/// Tiles of which none has fewer passes and no more elements than another; by size. `partial`: last
/// tiles may be partial; else shapes divide.
std::vector<Tile> tiles_of(const Group& group, bool partial);

enum class Rule { principles, polish, exact };

/// Tiles of a product; that of rank `innermost` is 1, its loop stands innermost, and the tensor
/// without it stays.
struct Tiling {
    std::size_t innermost = 1;       ///< 0 M, 1 K, 2 L
    std::array<Tile, 3> tile;        ///< of the two other ranks
    std::int64_t traffic_words = 0;  ///< one batch; outputs once per pass
    std::int64_t used_words = 0;
    int nra_class = 1;  ///< how many tensors move once
};

/// The tiles of the rule that fit; with Rule::exact those of least traffic, and of these those of
/// the smallest footprint. Nothing: none fits. \pre two inputs
std::optional<Tiling> best_tiling(const Product& product, std::int64_t buffer_words, Rule rule,
                                  bool partial);

/// Tiles of a fused pair, as fusecu::PairTiling.
struct FusedTiling {
    Tile m, l;
    bool m_outer = true, retains_k = false, retains_n = false;
    std::int64_t traffic_words = 0, used_words = 0;
};

/// Ranks of a pair (M x K)(K x L)(L x N).
struct PairRanks {
    const Group& m;
    std::int64_t k = 0;
    const Group& l;
    std::int64_t n = 0;
};

/// The pair of least traffic, one batch. Nothing: none fits.
std::optional<FusedTiling> best_pair(const PairRanks& ranks, std::int64_t buffer_words,
                                     fusecu::Capacity capacity, bool partial);

}  // namespace tessera::fusecu_mapper
