// The parts of stats.txt that sparse designs have in a layout of their own. The stream has its
// floating point format already.
#pragma once

#include <iosfwd>

#include "timeloop/architecture.hpp"
#include "timeloop/model.hpp"

namespace tessera::timeloop {

void write_sparse_arithmetic(std::ostream& out, const ArithmeticStats& stats);
void write_sparse_specs(std::ostream& out, const StorageLevel& level, const LevelStats& stats,
                        Dialect dialect);
/// One data space in one level.
void write_sparse_space(std::ostream& out, const DataSpaceStats& stats,
                        const SparseSpaceStats& sparse, double scale, Dialect dialect);

}  // namespace tessera::timeloop
