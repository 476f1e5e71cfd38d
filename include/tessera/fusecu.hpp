// FuseCU: tile sizes of matrix products, and the processor arrays of its evaluation.
#pragma once

#include "tessera/fusecu/arrays.hpp"  // IWYU pragma: export
#include "tessera/fusecu/dat.hpp"     // IWYU pragma: export
#include "tessera/fusecu/matmul.hpp"  // IWYU pragma: export
