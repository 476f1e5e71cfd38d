#pragma once

// Rank variables that the Einsum's tensors cannot tell apart, such as batch and token of a linear
// layer. Where the loops of two of them stand in the same places, costs and conditions depend on
// the products of their tile shapes alone, and one way to write each product is enough.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mapspace/tile_shapes_candidates.hpp"
#include "tessera/mapspace/tile_shapes.hpp"

namespace tessera::mapspace {

/// Tile shapes in the same place of two chains. Of all pairs with the same product the one counts
/// that takes as many prime factors as it can from the first variable: none is left in
/// `top / first` that `second` has.
struct SymmetricSymbols {
    int first = -1, second = -1;
    int top = -1;  ///< what encloses the symmetric variables of the first chain; -1: its bound
    std::int64_t bound = 1;
};

/// Chains that are symmetric variables from their innermost to their outermost symbol, the last one
/// or two of which are fused. Of two only one is a loop with more than one trip. Rows in which
/// these loops stand in one place for all chains, further out or further in, are as good with any
/// other way to write the products of their tile shapes.
struct FusedSymmetries {
    std::vector<std::vector<int>> chains;  ///< innermost first
    std::size_t fused = 1;                 ///< symbols at the end of each chain

    int own(std::size_t chain) const {  ///< the innermost fused symbol
        return chains[chain][chains[chain].size() - fused];
    }
    /// Whether the loops of all chains stand in the same place; `shapes`: by symbol.
    bool in_one_place(std::span<const TileShapeSymbol> symbols, const double* shapes) const;
    /// Whether the row is to be enumerated: with loops in both places every one is.
    bool counts(std::span<const TileShapeSymbol> symbols, const double* shapes) const;
};

/// What find_symmetries finds.
struct Symmetries {
    std::vector<SymmetricSymbols> pairs;  ///< from the innermost outwards
    std::vector<FusedSymmetries> fused;   ///< of one fused symbol per chain, or of two
};

/// Symbols that occur in all formulas of the problem as a product; none if a limit on loops looks
/// at one of them. Fused ones only if `fused`.
Symmetries find_symmetries(const model::FormulaPool& pool, const TileShapeProblem& problem,
                           bool fused);

/// The tables as the enumeration needs them: the way to write a product that counts is allowed if
/// some way is. Tables that see only part of a group are left out.
std::vector<AllowedShapes> allowed_of_products(const std::vector<AllowedShapes>& allowed,
                                               const std::vector<FusedSymmetries>& symmetries);

/// Calls `row` with every way to write the products of one row's symmetric variables that the
/// tables allow; `shapes`: the row's tile shapes by symbol, changed for each call.
void for_each_way(const std::vector<FusedSymmetries>& symmetries,
                  std::span<const TileShapeSymbol> symbols,
                  const std::vector<AllowedShapes>& allowed, std::vector<double>& shapes,
                  DivisorCache& divisors, const std::function<void()>& row);

/// Whether the tile shapes are the pair that counts; `top`: of the symbol or the bound.
bool is_representative(double top, double first, double second);

}  // namespace tessera::mapspace
