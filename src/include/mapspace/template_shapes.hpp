// What a template says about its tile shapes, as the tile-shape explorer reads it. Everything here
// follows from path, template and options alone; costs, capacities and fan-outs come from a cost
// model's formulas.
#pragma once

#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/mapspace/tile_shapes.hpp"

namespace tessera::mapspace {

/// One entry per symbol of the template: bound, neighbours in its chain, which values are tried.
/// `partial_inner_tiles`: see MapSpaceOptions.
std::vector<TileShapeSymbol> tile_shape_symbols(const arch::Path& path, const Template& tmpl,
                                                bool partial_inner_tiles = false);

/// Limits of the options on how many loops run more than once; those that cannot be exceeded are
/// left out, as are loops whose tile shape is the constant 1.
std::vector<LoopLimit> loop_limits(const arch::Path& path, const Template& tmpl,
                                   const MapSpaceOptions& options);

/// A loop that a holder moves with, or with a prologue, has more than one trip (templates without
/// it stand for the rest), and its first tile lies within the tensor. Over `uneven` variables it
/// may stand for loops with prologues, by the average of their tiles.
std::vector<TileShapeConstraint> line_buffer_limits(const arch::Path& path, const Template& tmpl,
                                                    workload::RankVariableMask uneven = 0);

/// Trip count of the loop at `node` over the template's symbols. Formulas live in the current pool.
model::Formula trip_formula(const arch::Path& path, const Template& tmpl, int node);

}  // namespace tessera::mapspace
