// Tile sizes of matrix products on one buffer, after FuseCU: the exact minimum of the words moved
// between the buffer and the level above, and the principles in closed form. One product, a fused
// pair, a chain. All functions are pure: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

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

/// What moving one word costs, any unit. An output of n passes is written n times and, before all
/// passes but the first, read again: `c_read` of 0 counts outputs as exact_matmul does, of
/// `c_write` as DAT does (2n - 1).
struct WordCosts {
    double a = 1, b = 1, c_write = 1, c_read = 0;
};

struct WeightedTiling {
    MatmulTiling tiling;
    double cost = 0;
};

/// The tiling of least cost among all tile sizes and loop orders. The cost is a sum of terms that
/// grow with the passes over one rank, so the lattice of exact_matmul holds the optimum. Nothing,
/// and throws, as exact_matmul; std::invalid_argument for a cost that is negative or not finite.
[[nodiscard]] std::optional<WeightedTiling> exact_weighted_matmul(const Sizes& sizes,
                                                                  std::int64_t buffer_words,
                                                                  const WordCosts& costs);

/// The best tiling of principles 1 to 3 (square tile of the smallest tensor; smallest rank untiled;
/// smallest tensor untiled), of those that fit. In constant time. Otherwise as exact_matmul.
[[nodiscard]] std::optional<MatmulTiling> principles_matmul(const Sizes& sizes,
                                                            std::int64_t buffer_words);

/// The one principle that the paper's thresholds choose (Sec. III-A4): the square tile up to
/// D_min^2/4 words, the better of it and principle 2 up to D_min^2/2, principle 2 up to the size of
/// the smallest tensor, principle 3 above. Where the chosen one does not fit, the one before it.
[[nodiscard]] std::optional<MatmulTiling> literal_matmul(const Sizes& sizes,
                                                         std::int64_t buffer_words);

/// The best of the tilings whose passes over a rank are within `width` of the square tile's, 1, 2
/// or 3, or those of principle 2; for all stationary tensors. In O(width). Otherwise as
/// exact_matmul; std::invalid_argument for a width below 0 or above max_polish_width.
inline constexpr std::int64_t max_polish_width = 1024;
[[nodiscard]] std::optional<MatmulTiling> polish_matmul(const Sizes& sizes,
                                                        std::int64_t buffer_words,
                                                        std::int64_t width);

/// How many tensors move only once (the paper's Single-, Two-, Three-NRA): 1, 2 or 3.
[[nodiscard]] int nra_class(const Sizes& sizes, const MatmulTiling& tiling);

/// Sizes of M, K, L, N in C[M,L] = A[M,K] B[K,L], E[M,N] = C[M,L] D[L,N].
using PairSizes = std::array<std::int64_t, 4>;

/// What the buffer of a fused pair holds at once, beside the tile of C and what is retained: the
/// other tiles of one product at a time (`shared`), or those of both (`coresident`, for products
/// that run as a pipeline).
enum class Capacity { shared, coresident };

/// Tiles of a fused pair. The tile loops over M and L are common; inside them come a loop over K,
/// then one over N, with tiles of 1. The retained tensors stay through the inner of the common
/// loops with all of K or N: A and E if `m_outer`, else B and D.
struct PairTiling {
    std::int64_t tile_m = 0, tile_l = 0;
    bool m_outer = true;
    bool retains_k = false, retains_n = false;  // A or B, with all of K; E or D, with all of N
    std::int64_t traffic_words = 0;             // of A, B, D and E; C costs nothing
    std::int64_t used_words = 0;
};

/// The fused tiling of fewest words moved; of equal ones that of the smallest footprint. Nothing if
/// none fits. In O(sqrt(M)). Throws as exact_matmul.
[[nodiscard]] std::optional<PairTiling> exact_pair(const PairSizes& sizes,
                                                   std::int64_t buffer_words, Capacity capacity);

/// When a pair is fused. Principle 4: if the optimum of each product by itself is of the same NRA
/// class. Exact: always. A pair that the rule lets fuse is fused where that moves fewer words.
enum class FuseRule { never, principle_4, exact };

/// One product of a chain, or two that are fused.
struct ChainStep {
    std::size_t first = 0;  // the number of the (first) product
    std::optional<MatmulTiling> single;
    std::optional<PairTiling> pair;  // exactly one of the two is there
    std::int64_t traffic_words = 0;
};

struct Chain {
    std::vector<ChainStep> steps;
    std::int64_t traffic_words = 0;
};

inline constexpr std::size_t max_chain_length = 4096;

/// The chain X_i[M, D_i] = X_{i-1}[M, D_{i-1}] W_i[D_{i-1}, D_i], i = 1 to D's size - 1, of fewest
/// words moved if only neighbours are fused, two at a time; by dynamic programming. Nothing if a
/// product does not fit. Throws std::invalid_argument for a size out of range, or fewer than one or
/// more than max_chain_length products.
[[nodiscard]] std::optional<Chain> best_chain(std::int64_t m, const std::vector<std::int64_t>& d,
                                              std::int64_t buffer_words, Capacity capacity,
                                              FuseRule rule);

}  // namespace tessera::fusecu
