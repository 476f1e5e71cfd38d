// Expected words of one rank. Which of them are rounded up is Sparseloop's choice.
#include "sparsity/format.hpp"

#include <cmath>

namespace tessera::sparsity {

namespace {

struct Named {
    const char* lower;
    const char* upper;
    Format format;
};
constexpr Named names[] = {{"uop", "UOP", Format::uncompressed_offset_pairs},
                           {"cp", "CP", Format::coordinate_payload},
                           {"b", "B", Format::bitmask},
                           {"rle", "RLE", Format::run_length},
                           {"ub", "UB", Format::uncompressed_bitmask}};

}  // namespace

std::optional<Format> format_named(std::string_view name) {
    for (const Named& known : names) {
        if (name == known.lower || name == known.upper) {
            return known.format;
        }
    }
    return std::nullopt;
}

std::string name_of(Format format) {
    for (const Named& known : names) {
        if (known.format == format) {
            return known.lower;
        }
    }
    return "";
}

bool is_compressed(Format format) {
    return format != Format::uncompressed_offset_pairs && format != Format::uncompressed_bitmask;
}

RankWords rank_words(Format format, std::uint64_t fibers, std::uint64_t shape, double fiber_empty,
                     double coordinate_empty) {
    const auto width = static_cast<double>(shape);
    if (format == Format::uncompressed_bitmask) {
        const auto all = static_cast<double>(fibers * shape);
        return {all, all};
    }
    const double held = static_cast<double>(fibers) * (1 - fiber_empty);
    const double coordinates = width * (1 - coordinate_empty);
    switch (format) {
        case Format::uncompressed_offset_pairs:
            return {0, held * static_cast<double>(shape + 1)};
        case Format::bitmask:
            return {held * width, held * std::ceil(coordinates)};
        case Format::run_length:
            return {coordinates * held, coordinates * held};
        default:
            return {std::ceil(coordinates) * held, std::ceil(coordinates) * held};
    }
}

}  // namespace tessera::sparsity
