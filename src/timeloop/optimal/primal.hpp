// A first incumbent before the spatial choices are listed, which takes seconds where there are
// many.
#pragma once

#include "timeloop/optimal/stage.hpp"

namespace tessera::timeloop {

/// Simple mappings of full arrays, then draws, improved step by step. Offers what it finds.
void find_first_mapping(Pool& pool, const Stage& stage);

}  // namespace tessera::timeloop
