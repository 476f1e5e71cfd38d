// From the rows of joined states back to the pmappings that they are made of.
#pragma once

#include <vector>

#include "mapspace/join_state.hpp"
#include "tessera/mapspace/join.hpp"

namespace tessera::mapspace::detail {

/// A step of a joined mapping: its plan, and the row of the right group.
struct TracedStep {
    const JoinPlan* plan = nullptr;
    std::uint32_t group = 0, row = 0;
};

/// Loop orders and shared prefixes of the pmappings behind the steps, the first one first.
std::vector<JoinedEinsum> traced(const std::vector<TracedStep>& steps);

}  // namespace tessera::mapspace::detail
