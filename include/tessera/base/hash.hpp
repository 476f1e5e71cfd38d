// Mixing numbers, for tables and for streams of random numbers. Thread rule: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tessera::base {

/// What SplitMix64 adds from number to number: 2^64 over the golden ratio.
inline constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15ull;

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the result depends on all of
/// `z`; different numbers stay different.
constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/// Of a row of whole numbers, their order included. Not secure: rows can be made to collide.
template <class Number>
constexpr std::uint64_t hash_row(const Number* numbers, std::size_t n,
                                 std::uint64_t start = golden_ratio) {
    std::uint64_t h = start;
    for (std::size_t i = 0; i < n; ++i) {
        h ^= static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<Number>>(numbers[i])) +
             (h << 6) + (h >> 2);
        h *= 0xff51afd7ed558ccdull;
        h ^= h >> 32;
    }
    return h;
}

/// Of vectors and arrays of whole numbers, for unordered maps.
struct HashOfRow {
    template <class Row>
    std::size_t operator()(const Row& row) const {
        return static_cast<std::size_t>(hash_row(row.data(), row.size()));
    }
};

}  // namespace tessera::base
