// Why a mapspace holds no valid mapping, found from the constraints alone.
#pragma once

#include <string>
#include <vector>

#include "timeloop/mapspace.hpp"

namespace tessera::timeloop {

/// Demands that no mapping of the space can meet, smallest excess first, one text each: tiles that
/// do not fit a level however the loops are chosen (with the words of every data space that the
/// level has to keep), and spatial factors beyond a fan-out. Each is a proof that no mapping is
/// valid; an empty result proves nothing.
std::vector<std::string> unavoidable_failures(const MapSpace& space);

}  // namespace tessera::timeloop
