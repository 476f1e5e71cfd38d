// best_order() that gives up partial schedules that cannot beat an incumbent.
#pragma once

#include "tessera/schedule/dpipe.hpp"

namespace tessera::schedule {

/// As best_order(); a round that is longer than `incumbent_s` is not found: no placements.
Schedule order_below(const Dag& dag, const Overlap& overlap, Binding binding, const Limits& limits,
                     double incumbent_s);

}  // namespace tessera::schedule
