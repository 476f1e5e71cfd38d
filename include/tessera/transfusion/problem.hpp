// What TransFusion's evaluation runs: transformer layers on an accelerator with two arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::transfusion {

inline constexpr double buffer_line_words = 256;

/// A 2D array of multiply-add units beside a 1D array, one on-chip buffer, DRAM (Table 3).
struct Accelerator {
    std::string name;
    std::int64_t edge = 0;   ///< the 2D array has edge x edge units
    std::int64_t lanes = 0;  ///< of the 1D array
    double buffer_bytes = 0;
    double dram_bytes_per_s = 0;
    double clock_hz = 0;
    double buffer_read_j = 0, buffer_write_j = 0;  ///< per line of buffer_line_words
};

enum class Activation : std::uint8_t { relu, gelu, silu };

/// How often each phase runs. A decoder attends twice and has three norms.
struct Stack {
    double layers = 1;  ///< projections and feed-forwards
    double attentions = 1, norms = 2;
};
inline constexpr Stack encoder = {1, 1, 2}, decoder = {1, 2, 3}, encoder_and_decoder = {2, 3, 5};

/// One layer of a transformer, 16-bit words. The width of the model is heads x head_dim.
struct Transformer {
    std::string name;
    std::int64_t heads = 0, head_dim = 0, hidden = 0;
    Activation activation = Activation::relu;
    Stack stack = encoder;

    std::int64_t width() const {
        return heads * head_dim;
    }
};

/// Keys are as many as queries.
struct Problem {
    Accelerator accelerator;
    Transformer model;
    std::int64_t batch = 64;
    std::int64_t tokens = 0;
};

/// \throws UserError unless all sizes are between 1 and 2^40, rates are positive and finite, and
/// `tokens` is a multiple of the array's edge.
void check(const Problem& problem);

/// cloud, edge (Table 3), and the larger edges edge-32 and edge-64 of the paper's sensitivity
/// study.
const std::vector<Accelerator>& accelerators();
/// BERT, TrXL, T5, XLM, Llama3, as published: Llama3 without grouped queries and gate.
const std::vector<Transformer>& transformers();
/// 1K to 1M tokens: 1024 x 4^i.
const std::vector<std::int64_t>& lengths();
/// 1024 -> "1K", 1048576 -> "1M".
std::string length_name(std::int64_t tokens);

/// By name. \throws UserError naming the known ones.
const Accelerator& accelerator(const std::string& name);
const Transformer& transformer(const std::string& name);

}  // namespace tessera::transfusion
