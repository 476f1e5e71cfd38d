// The five processor arrays of FuseCU's evaluation and its seven models: what an attention layer
// moves between the registers of the array and the buffer, and how long it takes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::fusecu {

/// All have 4 x 128 x 128 processing elements; each holds one word of the stationary tensor.
/// TPUv4i: weights stationary on four arrays of 128 x 128. Gemmini: weights or outputs. Planaria:
/// weights on one array of any power-of-two shape of at least 16. UnfCU: weights or outputs on one
/// array of 256 x 256, 128 x 512, 64 x 1024 or the transposed. FuseCU: also fuses the two products
/// of attention.
enum class Array { tpu_v4i, gemmini, planaria, unfcu, fusecu };

inline constexpr std::array<Array, 5> arrays = {Array::tpu_v4i, Array::gemmini, Array::planaria,
                                                Array::unfcu, Array::fusecu};
inline constexpr std::int64_t processing_elements = std::int64_t{4} * 128 * 128;

[[nodiscard]] const char* name(Array array) noexcept;

/// A transformer of the paper's Table II. `width` is a multiple of `heads`.
struct Model {
    std::string name;
    std::int64_t heads = 1, tokens = 1, width = 1;
};

/// Table II, in its order.
[[nodiscard]] const std::vector<Model>& models();

/// One sequence through one layer: the projections to queries, keys and values, and per head
/// queries times keys and scores times values. Output projection and FFN are not part of it.
struct LayerCost {
    std::int64_t traffic_words =
        0;                    // between registers and buffer, with the tiles of least traffic
    std::int64_t cycles = 0;  // with the tiles of least time; they can be others
    double utilisation = 0;   // multiplications per cycle and processing element
};

/// Throws std::invalid_argument unless tokens, width and heads are 1 to 65536 and heads divides
/// width. Any thread.
[[nodiscard]] LayerCost layer_cost(const Model& model, Array array);

}  // namespace tessera::fusecu
