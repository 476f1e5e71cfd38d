// The arithmetic of a pipeline: how long its rounds take, and how many tiles are in flight
// (docs/pipelines.md, P6, P7 and P10). Thread rule: pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tessera::model {

/// More branches are not tried at once.
inline constexpr std::size_t most_branches = 24;

/// Seconds of all rounds. `busy_s`: stage-major, how long each component works in all `count`
/// iterations for the branches of a stage. Stage s takes part in rounds s .. s + count - 1.
/// `alone`: the last column is none of a component, but how long the slowest branch of the stage
/// takes by itself, which no round is below.
double rounds_s(double count, int stages, int components, const double* busy_s, bool alone = false);

/// Tiles of a buffer that are in use at once: its users are `apart` rounds from the first to the
/// last; it has a new tile every `rounds_of_tile` rounds, `tiles` from filling to draining.
inline double tiles_in_flight(double apart, double rounds_of_tile, double tiles) {
    return std::min(std::ceil(apart / rounds_of_tile) + 1, tiles);
}

}  // namespace tessera::model
