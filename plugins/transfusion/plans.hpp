// The groups of a fused layer: which loops stand around the Einsums of a phase, and what stays on
// the chip. Who plans adds what runs at once and on which compute.
#pragma once

#include "groups.hpp"
#include "tessera/transfusion/model.hpp"

namespace tessera::transfusion {

/// \throws UserError if the method runs attention in three passes and the layer in one, or the
/// other way round.
void check_cascade(const Layer& layer, Method method);

/// `BK` and `BV` for tiles of `m` key tiles; `own`: further loops of each.
GroupPlan keys_and_values_plan(const Layer& layer, std::int64_t m, std::vector<LoopPlan> own);

/// `Q` for the tile of `outer`, which stays on the chip.
GroupPlan query_plan(std::vector<LoopPlan> outer, std::vector<LoopPlan> own);

/// `outer` loops, then tiles of `heads` heads, then, in one pass, tiles of keys. Intermediates stay
/// in the buffer; unless it stands `alone`, so do the query and what attention gives.
GroupPlan attention_plan(const Layer& layer, std::vector<LoopPlan> outer, std::int64_t heads,
                         bool alone);

GroupPlan norm_plan(const Layer& layer, std::vector<LoopPlan> outer);

/// Tiles of `s` hidden units.
GroupPlan feed_forward_plan(const Layer& layer, std::vector<LoopPlan> outer, std::int64_t s);

/// FuseMax puts what runs over all keys of a tile on the 2D array, FLAT the products; the rest goes
/// on the 1D array.
SharedBinding fixed_binding(const Layer& layer, Method method);

}  // namespace tessera::transfusion
