// Which fused tile shapes of a template let it meet pmappings that are known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>

#include "mapspace/tabulate.hpp"
#include "tessera/mapspace/tile_shapes.hpp"

namespace tessera::mapspace {

/// How the rows of some groups hold one tensor, see Compatibility.
using CompatibilitySet = std::unordered_set<std::uint64_t>;

/// Adds how the rows hold `tensor` (numbered as in the group).
void add_compatibility(const PmappingGroup& group, int tensor, CompatibilitySet& to);

/// Fused tile shapes with which the template holds `tensor` (local index) with a compatibility that
/// is `known`. No symbols and nothing allowed: it never does. nullopt: it always does, there are
/// too many combinations, or the compatibility of the tensor is more than loops with perfect tile
/// shapes. Thread rule: pure.
std::optional<AllowedShapes> allowed_shapes(const TabulateContext& context, const Template& tmpl,
                                            std::span<const TileShapeSymbol> symbols, int tensor,
                                            const CompatibilitySet& known);

}  // namespace tessera::mapspace
