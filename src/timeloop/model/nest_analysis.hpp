// The loop nest executed as Timeloop executes it, iteration by iteration with its extrapolations:
// the as-written analysis that the compiled one is compared with.
#pragma once

#include "nest_result.hpp"
#include "timeloop/model.hpp"

namespace tessera::timeloop {

/// \pre a Machine accepts problem and architecture.
NestResult analyse_nest(const Problem& problem, const Architecture& architecture,
                        const FlatMapping& flat, const ModelOptions& options);

}  // namespace tessera::timeloop
