// The mapspace with branches that run at once (docs/pipelines.md, section 6).
#pragma once

#include "tessera/mapper/mapper.hpp"

namespace tessera::ffm {

/// Searches in turn, lets the branches of what is found overlap as well as they can, and bounds
/// what any mapping with pipelines reaches. \throws UserError for models, metrics and conventions
/// without pipelines
mapper::Result map_with_pipelines(const model::Problem& problem, const model::CostModel& model,
                                  const mapper::Options& options);

}  // namespace tessera::ffm
