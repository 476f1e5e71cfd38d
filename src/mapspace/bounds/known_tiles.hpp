#pragma once

// Which tile shapes a convex bound takes one by one: those of the windows of convolutions.

#include <functional>
#include <span>
#include <vector>

#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/formula_pool.hpp"

namespace tessera::mapspace {

/// Tile shapes that are known.
struct KnownTiles {
    model::SymbolSet symbols;
    std::vector<double> values;  ///< by symbol
};

/// Symbols of few values that stand in what formulas take away, of all in which something is.
/// Their values are divisors of a bound.
model::SymbolSet symbols_of_cases(const model::FormulaPool& pool,
                                  std::span<const TileShapeSymbol> symbols,
                                  std::span<const TileShapeConstraint> constraints,
                                  std::span<const model::Formula> quantities);

/// All values that these symbols may have together.
void for_each_case(std::span<const TileShapeSymbol> symbols, const model::SymbolSet& of_cases,
                   const std::function<void(const KnownTiles&)>& sink);

}  // namespace tessera::mapspace
