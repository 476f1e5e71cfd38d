#pragma once

// Formulas in which some symbols are known.

#include <span>

#include "tessera/model/formula_pool.hpp"

namespace tessera::mapspace {

/// `f` where the symbols of `fixed` have these positive values (by symbol).
model::Formula with_values(model::FormulaPool& pool, const model::Formula& f,
                           const model::SymbolSet& fixed, std::span<const double> values);

}  // namespace tessera::mapspace
