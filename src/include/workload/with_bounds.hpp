// A workload of other size: the same Einsums, other bounds of the rank variables.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tessera/workload/workload.hpp"

namespace tessera::workload {

/// `bounds`: one per rank variable of the workload, in its order. None: a bound below 1 or too
/// large, too many points, or tensors whose sizes do not follow from the bounds alone (the file
/// limits them by `rank_sizes`).
std::optional<Workload> with_bounds(const Workload& workload, std::span<const std::int64_t> bounds);

}  // namespace tessera::workload
