// An infeasible subset for people: each constraint with its place and both sides.
#pragma once

#include <string>
#include <vector>

#include "feasibility.hpp"

namespace tessera::mapspace::infeasible {

/// `dropped`: the constraints that are not in the subset.
std::vector<std::string> lines_of(const Feasibility& problem, const InfeasibleSubset& subset,
                                  const NamedConstraints& dropped);

/// "1 value", "16 values"
std::string values_text(std::int64_t values);

/// Why no tile shapes at all meet the loop bound: ", but n has 16 values"; empty if some do.
std::string trips_beyond_reach(const workload::EinsumView& einsum, const arch::LoopBound& bound,
                               const MapSpaceOptions& options);

}  // namespace tessera::mapspace::infeasible
