#pragma once

#include <string>
#include <vector>

#include "timeloop/read.hpp"

namespace tessera::timeloop {

/// Replaces an architecture of version 0.4 given as `nodes` by the chain of levels that Timeloop's
/// Python front end makes of it, and the constraints attached to the nodes by a list
/// `architecture_constraints`. Does nothing to any other document.
///
/// Rules, outermost node first: the fan-out of a node takes effect below it, and a level
/// `inter_NAME_spatial` that keeps nothing stands for it; attributes of a container pass to the
/// nodes after it; of the branches of a `!Parallel` each keeps its own data spaces and bypasses
/// the others; constraint macros are written out; loops known to have one iteration go innermost
/// in permutations. \throws UserError
void flatten_nodes(Document& document);

}  // namespace tessera::timeloop
