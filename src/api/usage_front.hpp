// The Pareto set over the usage of memories and other metrics, by searches for the others alone.
//
// Epsilon-constraint method. A search finds the Pareto set of the other metrics among all mappings
// that fit. Of its mappings one uses most of the memory; no mapping that uses as much is better
// than all of these. The next search is for mappings that use less, until none is legal. What one
// of the sets dominates is dropped at the end. As each search is proven, the set is complete.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/library.hpp"

namespace tessera::api {

/// A search for the metrics of `settings`.
using Search =
    std::function<mapper::Result(const model::Problem& problem, const mapper::Options& settings)>;

/// \throws UserError for a name that is given twice or is no memory of limited size, and for a
/// target or gap, which are of one metric
void check_usage(const model::Problem& problem, const base::Budget& budget,
                 const UsageGoals& goals);

/// The set by the first of the other metrics; a limit ends it with what was found, and `reasons`
/// say what is proven. Reports are those of `problem`.
/// \throws PluginError for a mapping that uses more than it may
mapper::Result usage_front(const model::Problem& problem, const model::CostModel& model,
                           const mapper::Options& settings, const UsageGoals& goals,
                           const Search& search);

}  // namespace tessera::api
