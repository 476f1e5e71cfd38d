#include "tessera/transfusion/problem.hpp"

#include <cmath>

#include "tessera/base/error.hpp"

namespace tessera::transfusion {

namespace {

constexpr double MiB = 1024.0 * 1024.0, GiB = 1024.0 * MiB;
constexpr std::int64_t largest_size = std::int64_t{1} << 40;

void check_size(const char* what, std::int64_t value) {
    if (value < 1 || value > largest_size) {
        throw UserError(std::string(what) + " is " + std::to_string(value) +
                        "; expected 1 to 2^40");
    }
}

void check_rate(const char* what, double value) {
    if (!std::isfinite(value) || value <= 0) {
        throw UserError(std::string(what) + " must be a positive number");
    }
}

template <class T>
const T& by_name(const std::vector<T>& all, const char* what, const std::string& name) {
    std::string known;
    for (const T& one : all) {
        if (one.name == name) {
            return one;
        }
        known += (known.empty() ? "" : ", ") + one.name;
    }
    throw UserError(std::string("no ") + what + " named " + name + "; known: " + known);
}

}  // namespace

void check(const Problem& problem) {
    const Accelerator& accelerator = problem.accelerator;
    const Transformer& model = problem.model;
    check_size("edge of the 2D array", accelerator.edge);
    check_size("number of lanes of the 1D array", accelerator.lanes);
    check_rate("buffer size (bytes)", accelerator.buffer_bytes);
    check_rate("DRAM bandwidth (bytes/s)", accelerator.dram_bytes_per_s);
    check_rate("clock (Hz)", accelerator.clock_hz);
    check_size("number of heads", model.heads);
    check_size("head dimension", model.head_dim);
    check_size("hidden size", model.hidden);
    check_size("batch", problem.batch);
    check_size("number of tokens", problem.tokens);
    if (problem.tokens % accelerator.edge != 0) {
        throw UserError(std::to_string(problem.tokens) +
                        " tokens; the closed forms need a multiple of the array's edge, " +
                        std::to_string(accelerator.edge));
    }
}

const std::vector<Accelerator>& accelerators() {
    // Table 3 and the published code; bandwidths are in GiB/s there, whatever the paper's unit. Its
    // table of energies has those of buffer lines the other way round than its results, in which a
    // line of the larger buffer costs more. Of edge-64's buffer nothing is published: as edge's.
    constexpr double large_read_j = 12512.760572e-12, large_write_j = 15751.460572e-12;
    constexpr double small_read_j = 5859.926552e-12, small_write_j = 7881.676552e-12;
    static const std::vector<Accelerator> all = {
        {"cloud", 256, 256, 16 * MiB, 400 * GiB, 940e6, large_read_j, large_write_j},
        {"edge", 16, 256, 5 * MiB, 30 * GiB, 940e6, small_read_j, small_write_j},
        {"edge-32", 32, 256, 5 * MiB, 30 * GiB, 940e6, small_read_j, small_write_j},
        {"edge-64", 64, 256, 8 * MiB, 30 * GiB, 940e6, small_read_j, small_write_j},
    };
    return all;
}

const std::vector<Transformer>& transformers() {
    static const std::vector<Transformer> all = {
        {"BERT", 12, 64, 3072, Activation::gelu, encoder},
        {"TrXL", 16, 64, 4096, Activation::relu, decoder},
        {"T5", 8, 64, 2048, Activation::relu, encoder_and_decoder},
        {"XLM", 16, 128, 8192, Activation::gelu, encoder_and_decoder},
        {"Llama3", 32, 128, 16384, Activation::silu, decoder},
    };
    return all;
}

const std::vector<std::int64_t>& lengths() {
    static const std::vector<std::int64_t> all = {1024, 4096, 16384, 65536, 262144, 1048576};
    return all;
}

std::string length_name(std::int64_t tokens) {
    const std::int64_t k = 1024;
    if (tokens % (k * k) == 0) {
        return std::to_string(tokens / (k * k)) + "M";
    }
    return tokens % k == 0 ? std::to_string(tokens / k) + "K" : std::to_string(tokens);
}

const Accelerator& accelerator(const std::string& name) {
    return by_name(accelerators(), "accelerator", name);
}

const Transformer& transformer(const std::string& name) {
    return by_name(transformers(), "transformer", name);
}

}  // namespace tessera::transfusion
