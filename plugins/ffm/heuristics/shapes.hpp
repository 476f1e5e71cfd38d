// The tile-shape problem of a template, and what rejections by its constraints are called.
#pragma once

#include <vector>

#include "../explorer.hpp"

namespace tessera::ffm {

/// See mapspace::tile_shape_problem. `reasons`: what its constraints stand for.
mapspace::TileShapeProblem tile_shape_problem(const ExploreContext& c, const TemplateEntry& t,
                                              const model::TemplateFormulas& f,
                                              const mapspace::TabulateContext& table,
                                              std::vector<telemetry::Reason>& reasons);

}  // namespace tessera::ffm
