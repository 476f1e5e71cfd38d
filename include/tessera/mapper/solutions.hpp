// Sets of solutions that no other solution is at least as good as.
#pragma once

#include <vector>

#include "tessera/mapper/mapper.hpp"

namespace tessera::mapper {

/// Adds `solution` to `known`, unless one of them is as good by every metric (of one: none is
/// better, see order.hpp); removes those that it is as good as. `known` stays sorted by the first
/// metric: one solution, the best, for one metric; the Pareto set for several. Reports must be
/// filled in.
void keep_if_better(std::vector<Solution>& known, const Solution& solution,
                    const std::vector<Metric>& metrics);

/// For a mapper that does not begin with given mappings: Options::start takes part in what it
/// returns, with a line of Result::reasons if one of them is better by the first metric.
void keep_starts(Result& result, const Options& options);

}  // namespace tessera::mapper
