// How many words a rank of a compressed tensor takes beside its values. A rank is a set of fibers;
// a coordinate of a fiber leads to a subtile below it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::sparsity {

enum class Format : std::uint8_t {
    uncompressed_offset_pairs,  ///< uop: where the fiber of every coordinate begins and ends
    coordinate_payload,         ///< cp: a coordinate and a payload for each that is not empty
    bitmask,                    ///< b: a bit per coordinate, a payload for each that is not empty
    run_length,                 ///< rle: the run of empty coordinates before each payload
    uncompressed_bitmask,       ///< ub: a bit and a payload per coordinate
};

/// "uop", "cp", "b", "rle", "ub"; capitals are read, too.
std::optional<Format> format_named(std::string_view name);
std::string name_of(Format format);
/// Whether coordinates that hold nothing take no payload.
bool is_compressed(Format format);

struct RankWords {
    double metadata = 0, payload = 0;
};

/// Of a rank of at most `fibers` fibers of `shape` coordinates. `fiber_empty`, `coordinate_empty`:
/// how probable it is that a fiber, a coordinate's subtile, holds nothing.
RankWords rank_words(Format format, std::uint64_t fibers, std::uint64_t shape, double fiber_empty,
                     double coordinate_empty);

}  // namespace tessera::sparsity
