// Tile sizes of one matrix product on one buffer, after FuseCU: the exact minimum of the words
// moved between the buffer and the level above, and the principles in closed form.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace tessera::fusecu {

/// The ranks of C[M,L] = sum over K of A[M,K] * B[K,L].
enum class Rank { m, k, l };

/// The largest size of a rank: words moved fit 64 bits.
inline constexpr std::int64_t max_rank_size = std::int64_t{1} << 20;

/// Sizes of the ranks M, K, L in elements, in that order; each from 1 to max_rank_size.
using Sizes = std::array<std::int64_t, 3>;

/// A tiling and what it moves. `innermost` is the rank of the innermost tile loop; the tensor
/// without this rank is stationary (K: the output C, L: A, M: B).
struct MatmulTiling {
    Sizes tile{};
    Rank innermost = Rank::k;
    std::int64_t traffic_words = 0;  // outputs count once per pass, as inputs do
    std::int64_t used_words = 0;     // one tile of each tensor
};

/// Words that one tile of each tensor takes (the paper's Eq. 2).
[[nodiscard]] std::int64_t footprint_words(const Sizes& tile) noexcept;

/// The tiling of fewest words moved among all tile sizes and loop orders; of equal ones that of the
/// smallest footprint. Nothing if not even tiles of one element fit (fewer than 3 words). In
/// O(sqrt(largest rank)). Throws std::invalid_argument for a size out of range. Any thread.
[[nodiscard]] std::optional<MatmulTiling> exact_matmul(const Sizes& sizes,
                                                       std::int64_t buffer_words);

/// The best tiling of principles 1 to 3 (square tile of the smallest tensor; smallest rank untiled;
/// smallest tensor untiled), of those that fit. In constant time. Otherwise as exact_matmul.
[[nodiscard]] std::optional<MatmulTiling> principles_matmul(const Sizes& sizes,
                                                            std::int64_t buffer_words);

}  // namespace tessera::fusecu
