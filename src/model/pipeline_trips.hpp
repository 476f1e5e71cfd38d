// Loops of a part, for time and room of pipelines alike.
#pragma once

#include <vector>

#include "tessera/model/pipelines.hpp"

namespace tessera::model {

/// Number of iterations per node, 1 for nodes that are no loops.
std::vector<double> node_trips(const Part& part);

}  // namespace tessera::model
