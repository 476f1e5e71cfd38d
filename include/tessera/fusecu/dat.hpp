// What DAT, the tile optimiser that FuseCU is compared with, counts and allows: tiles that divide
// their ranks, and outputs that are read before they are added to.
#pragma once

#include "tessera/fusecu/matmul.hpp"

namespace tessera::fusecu {

/// The divisor tiles of fewest accesses. An output of n passes counts 2n - 1 times: each pass but
/// the first reads it. Each tile is at least min_tile, or its rank if that is shorter. Nothing if
/// none fits. In the product of the ranks' numbers of divisors. Throws std::invalid_argument for a
/// size out of range or a min_tile below 1. Any thread.
[[nodiscard]] std::optional<MatmulTiling> dat_matmul(const Sizes& sizes, std::int64_t buffer_words,
                                                     std::int64_t min_tile = 16);

/// Accesses of a fused pair as DAT counts them: A, B, D and E once each, if some divisor tile of M
/// of at least min_tile fits: B whole beside tiles of A and C, then D whole beside tiles of C and
/// E. That B must stay while D is there is not counted, so the true traffic can be larger. Nothing
/// if none fits. Throws as dat_matmul.
[[nodiscard]] std::optional<std::int64_t> dat_pair_words(const PairSizes& sizes,
                                                         std::int64_t buffer_words,
                                                         std::int64_t min_tile = 16);

}  // namespace tessera::fusecu
