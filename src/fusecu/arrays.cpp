// Traffic and time of one layer on the five arrays. An array keeps a tile of the stationary tensor
// in its registers and streams the third rank past it.
#include "tessera/fusecu/arrays.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "lattice.hpp"

namespace tessera::fusecu {

namespace {

constexpr std::int64_t side = 128;  // of one of the four arrays; also the cycles to fill it
constexpr std::int64_t unit_count = 4;
constexpr std::int64_t largest_size = 65536;

struct Shape {
    std::int64_t rows, columns;
};

struct Cost {
    std::int64_t words = std::numeric_limits<std::int64_t>::max();
    std::int64_t cycles = std::numeric_limits<std::int64_t>::max();

    void or_else(const Cost& other) {
        words = std::min(words, other.words);
        cycles = std::min(cycles, other.cycles);
    }
};

// A product with one tensor stationary: that tensor is rows x columns, `stream` the third rank.
struct Stationary {
    std::int64_t rows, columns, stream;

    // The stationary tensor moves once, the others once per column or row of tiles.
    [[nodiscard]] std::int64_t words(const Shape& tile) const {
        return rows * columns + rows * stream * ceil_div(columns, tile.columns) +
               columns * stream * ceil_div(rows, tile.rows);
    }
    [[nodiscard]] std::int64_t tiles(const Shape& tile) const {
        return ceil_div(rows, tile.rows) * ceil_div(columns, tile.columns);
    }
};

// Four arrays side by side. A tensor of fewer tiles than arrays is copied so that all have work.
Cost on_four(const Stationary& one) {
    const Shape tile{side, side};
    const std::int64_t tiles = one.tiles(tile);
    const std::int64_t copies = tiles < unit_count ? unit_count / tiles : 1;
    return {one.words(tile) + one.rows * one.columns * (copies - 1),
            ceil_div(tiles, unit_count) * (one.stream + std::min({side, one.rows, one.columns}))};
}

Cost on_one_of(const std::vector<Shape>& shapes, const Stationary& one) {
    Cost best;
    for (const Shape& tile : shapes) {
        best.or_else({one.words(tile), one.tiles(tile) * (one.stream + side)});
    }
    return best;
}

// The paper names the first three; its figures show 64-deep arrays for heads of 64.
const std::vector<Shape>& cu_shapes() {
    static const std::vector<Shape> shapes = {
        {256, 256}, {128, 512}, {512, 128}, {64, 1024}, {1024, 64}};
    return shapes;
}

const std::vector<Shape>& planaria_shapes() {
    static const std::vector<Shape> shapes = [] {
        std::vector<Shape> all;
        for (std::int64_t rows = 16; rows <= processing_elements / 16; rows *= 2) {
            all.push_back({rows, processing_elements / rows});
        }
        return all;
    }();
    return shapes;
}

// C[M,L] = A[M,K] B[K,L].
Cost product(Array array, std::int64_t m, std::int64_t k, std::int64_t l) {
    const Stationary weights{k, l, m}, outputs{m, l, k};
    Cost best;
    switch (array) {
        case Array::gemmini:
            best.or_else(on_four(outputs));
            [[fallthrough]];
        case Array::tpu_v4i:
            best.or_else(on_four(weights));
            break;
        case Array::planaria:
            return on_one_of(planaria_shapes(), weights);
        case Array::unfcu:
        case Array::fusecu:
            best = on_one_of(cu_shapes(), weights);
            best.or_else(on_one_of(cu_shapes(), outputs));
    }
    return best;
}

// One head, scores[tokens, tokens] = Q[tokens, depth] K^T, times V[tokens, depth].
Cost fused_attention(std::int64_t tokens, std::int64_t depth) {
    Cost best;
    // Tile fusion: a tile of the scores stays while depth streams past it twice.
    for (const Shape& tile : cu_shapes()) {
        const std::int64_t down = ceil_div(tokens, tile.rows);
        const std::int64_t across = ceil_div(tokens, tile.columns);
        best.or_else({2 * tokens * depth * (down + across),
                      down * across * (2 * depth + std::min(depth, side))});
    }
    // Column fusion: half of the array holds rows of Q, half the same rows of the result; a column
    // of scores goes from one to the other.
    const std::int64_t rows = processing_elements / 2 / depth;
    if (rows > 0) {
        const std::int64_t passes = ceil_div(tokens, rows);
        best.or_else({2 * tokens * depth * (1 + passes), passes * (tokens + side)});
    }
    return best;
}

Cost attention(Array array, std::int64_t tokens, std::int64_t depth) {
    const Cost scores = product(array, tokens, depth, tokens);
    const Cost values = product(array, tokens, tokens, depth);
    Cost best{scores.words + values.words, scores.cycles + values.cycles};
    if (array == Array::fusecu) {
        best.or_else(fused_attention(tokens, depth));
    }
    return best;
}

}  // namespace

const char* name(Array array) noexcept {
    switch (array) {
        case Array::tpu_v4i:
            return "TPUv4i";
        case Array::gemmini:
            return "Gemmini";
        case Array::planaria:
            return "Planaria";
        case Array::unfcu:
            return "UnfCU";
        case Array::fusecu:
            break;
    }
    return "FuseCU";
}

const std::vector<Model>& models() {
    static const std::vector<Model> all = {
        {"Bert", 12, 1024, 768},   {"GPT-2", 12, 2048, 768},       {"Blenderbot", 16, 256, 1024},
        {"XLM", 16, 1024, 2048},   {"DeBERTa-v2", 24, 1024, 1536}, {"LLaMA2", 32, 4096, 4096},
        {"ALBERT", 64, 1024, 4096}};
    return all;
}

LayerCost layer_cost(const Model& model, Array array) {
    for (const std::int64_t size : {model.heads, model.tokens, model.width}) {
        if (size < 1 || size > largest_size) {
            throw std::invalid_argument("heads, tokens and width must be 1 to 65536; one is " +
                                        std::to_string(size));
        }
    }
    if (model.width % model.heads != 0) {
        throw std::invalid_argument("width " + std::to_string(model.width) +
                                    " is not a multiple of " + std::to_string(model.heads) +
                                    " heads");
    }
    const std::int64_t depth = model.width / model.heads;
    const Cost projection = product(array, model.tokens, model.width, model.width);
    const Cost head = attention(array, model.tokens, depth);
    const std::int64_t multiplications = 3 * model.tokens * model.width * model.width +
                                         2 * model.tokens * model.tokens * model.width;
    LayerCost cost;
    cost.traffic_words = 3 * projection.words + model.heads * head.words;
    cost.cycles = 3 * projection.cycles + model.heads * head.cycles;
    cost.utilisation =
        static_cast<double>(multiplications) /
        (static_cast<double>(processing_elements) * static_cast<double>(cost.cycles));
    return cost;
}

}  // namespace tessera::fusecu
