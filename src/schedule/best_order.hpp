// best_order() that gives up partial schedules that cannot beat an incumbent.
#pragma once

#include "tessera/schedule/dpipe.hpp"

namespace tessera::schedule {

/// As best_order(); a round that is longer than `incumbent_s` is not found: no placements.
/// `left`: placements that may still be tried, of which it takes what it needs.
Schedule order_below(const Dag& dag, const Overlap& overlap, Binding binding, const Limits& limits,
                     double incumbent_s, std::size_t& left);

}  // namespace tessera::schedule
