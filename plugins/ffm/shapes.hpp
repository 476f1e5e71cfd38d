// The tile-shape problem of a template.
#pragma once

#include <vector>

#include "explore.hpp"
#include "tessera/mapspace/tile_shapes.hpp"

namespace tessera::ffm {

/// Energy and latency, as far as the metric wants them.
std::vector<model::Formula> costs(const ExploreContext& c, const model::TemplateFormulas& f);

/// Objectives: costs, then the bits in use of every tracked memory. `reasons`: what its constraints
/// stand for.
mapspace::TileShapeProblem tile_shape_problem(const ExploreContext& c, const TemplateEntry& t,
                                              const model::TemplateFormulas& f,
                                              const mapspace::TabulateContext& table,
                                              std::vector<telemetry::Reason>& reasons);

/// Least bits a template needs of each memory that it overfills even then.
std::vector<CapacityNeed> least_needs(const arch::Path& path, const model::TemplateFormulas& f);

mapspace::TabulateContext table_context(const ExploreContext& c, const arch::Path& path);

}  // namespace tessera::ffm
