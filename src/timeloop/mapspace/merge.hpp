// What a mapspace is made of: the constraints of both sources, merged into one record per tiling
// level, and the index factors that they leave.
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

// All ways to split a bound over the tiling levels, in Timeloop's order.

/// Perfect factors. Order: divisors 1, n, then pairs (i, n/i) with i ascending; the outermost free
/// level changes slowest. Fixed levels keep their value; limits filter afterwards.
IndexFactors perfect_factors(std::int64_t bound, int dimension,
                             const std::vector<TilingLevel>& levels);

/// Ruby: a loop at a level with a remainder limit may end before it is complete in its last pass.
/// Inner to outer, the residual follows from the end: with x outstanding iterations, a loop of
/// `end` leaves x / end for the outer levels and makes x % end + 1 steps in its last pass.
IndexFactors ruby_factors(std::int64_t bound, int dimension,
                          const std::vector<TilingLevel>& levels);

}  // namespace tessera::timeloop
