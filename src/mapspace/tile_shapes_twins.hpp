#pragma once

// Rank variables that the Einsum's tensors cannot tell apart, such as batch and token of a linear
// layer. Where the loops of two of them stand in the same places, costs and conditions depend on
// the products of their tile shapes alone, and one way to write each product is enough.

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/mapspace/tile_shapes.hpp"

namespace tessera::mapspace {

/// Tile shapes in the same place of two chains. Of all pairs with the same product the one counts
/// that takes as many prime factors as it can from the first variable: none is left in
/// `top / first` that `second` has.
struct TwinSymbols {
    int first = -1, second = -1;
    int top = -1;  ///< what encloses the twins of the first chain; -1: its bound
    std::int64_t bound = 1;
};

/// Pairs of unfused symbols that occur in all formulas of the problem as a product, from the
/// innermost outwards; none if a limit on loops looks at one of them.
std::vector<TwinSymbols> find_twins(const model::FormulaPool& pool,
                                    const TileShapeProblem& problem);

/// Whether the tile shapes are the pair that counts; `top`: of the symbol or the bound.
bool is_first_of_twins(double top, double first, double second);

}  // namespace tessera::mapspace
