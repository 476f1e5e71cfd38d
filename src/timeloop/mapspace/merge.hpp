// Merging the constraints of both sources into one record per tiling level.
#pragma once

#include <string>
#include <vector>

#include "timeloop/mapspace.hpp"

namespace tessera::timeloop {

struct MergedConstraints {
    std::vector<TilingLevel> levels;
    /// Per data space and storage level: 0 bypassed, 1 kept, 2 free.
    std::vector<std::vector<int>> keep;
    double min_parallelism = 0;
    std::vector<std::string> warnings;
    bool residuals = false;  ///< some fixed factor comes with a residual
};

/// \throws UserError, see MapSpace.
MergedConstraints merge_constraints(const Problem& problem, const Architecture& architecture,
                                    const Constraints& constraints);

}  // namespace tessera::timeloop
