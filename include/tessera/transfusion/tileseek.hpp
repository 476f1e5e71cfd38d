// TileSeek: Monte Carlo tree search for the outer tiles of TransFusion (its Sec. 5), and the
// optimum by enumeration beside it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "tessera/transfusion/model.hpp"

namespace tessera::transfusion {

/// Bytes that each phase needs on the chip under these outer tiles (Table 2 of the paper).
/// \pre tiles divide what they tile
std::array<double, phase_count> buffer_bytes(const Problem& problem, const OuterTiles& tiles);

/// Every count divides what it tiles (b: batch, d: width, m and p: tokens / edge, s: hidden / edge)
/// and every phase fits the buffer.
bool legal(const Problem& problem, const OuterTiles& tiles);

/// What is minimised: energy of a layer (DRAM, buffer and arithmetic), latency of the stack, or
/// their product.
enum class Objective : std::uint8_t { energy, latency, edp };

/// In J, s or J s, as evaluate() finds with method transfusion.
double objective_value(const Problem& problem, const OuterTiles& tiles, Objective objective);

struct TileSeekOptions {
    Objective objective = Objective::energy;
    int evaluations = 400;     ///< leaves whose cost is asked for
    double exploration = 1.4;  ///< factor of the upper confidence bound
    std::uint64_t seed = 0;
    const std::atomic<bool>* stop = nullptr;  ///< set: ends with the best so far
};

struct TileSeekResult {
    OuterTiles tiles;
    double value = 0;
    int evaluations = 0;
    int best_at = 0;         ///< the evaluation that found the tiles, from 1
    bool exhausted = false;  ///< the whole tree was visited: the result is the optimum
};

/// One choice per level of the tree, in the order b, p, m, d, s; prefixes are shared. A choice is
/// cut if Table 2 cannot hold with the least on-chip tiles for what is open. Reward of a leaf:
/// least cost so far / its cost. Each iteration adds one node and completes it at random; what was
/// visited whole is not visited again. Deterministic for a seed. Thread-safe. \throws
/// NoLegalMapping if no tiles fit; UserError if the hidden size is no multiple of the edge;
/// LimitReached if it was stopped before it found any.
TileSeekResult tileseek(const Problem& problem, const TileSeekOptions& options = {});

/// The same with a cost of the caller's own: the objective of `options` is not read. An infinite
/// cost is an illegal leaf, of reward 0. \throws what `cost` throws, and NoLegalMapping if no leaf
/// was legal
TileSeekResult tileseek(const Problem& problem, const TileSeekOptions& options,
                        const std::function<double(const OuterTiles&)>& cost);

/// The best of all legal outer tiles; of equal ones the first in the order of the tree. `stop`: as
/// TileSeekOptions::stop. \throws as tileseek()
TileSeekResult enumerate_tiles(const Problem& problem, Objective objective,
                               const std::atomic<bool>* stop = nullptr);

}  // namespace tessera::transfusion
