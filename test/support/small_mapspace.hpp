// Random Timeloop problems, architectures and constraints whose mapspaces can be enumerated.
#pragma once

#include <random>

#include "timeloop/constraints.hpp"
#include "timeloop/mapspace.hpp"
#include "timeloop/model.hpp"

namespace tessera::testing {

struct SmallMapSpace {
    timeloop::Problem problem;
    timeloop::Architecture architecture;
    timeloop::Constraints constraints;
};

/// Two or three storage levels, fan-outs, bandwidths, blocks and clusters; bounds of at most 8;
/// constraints of every kind now and then.
SmallMapSpace small_mapspace(std::mt19937_64& random);

}  // namespace tessera::testing
