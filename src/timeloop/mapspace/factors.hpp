// All ways to split a bound over the tiling levels, in Timeloop's order.
#pragma once

#include <vector>

#include "timeloop/mapspace.hpp"

namespace tessera::timeloop {

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
