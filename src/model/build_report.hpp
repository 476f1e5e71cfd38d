#pragma once

#include "model/analysis/einsum_analysis.hpp"
#include "tessera/model/report.hpp"

namespace tessera::model {

/// The figures of one analysed Einsum with names. Components stand in path order; those that are
/// not on the path but leak follow.
EinsumReport build_report(const EinsumAnalysis& einsum);

}  // namespace tessera::model
