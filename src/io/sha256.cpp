#include "io/sha256.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tessera::io {

namespace {

// The constants are the first 32 bits of the fractional parts of the square (state) and cube
// (rounds) roots of the first primes.
std::uint32_t fraction(long double value) {
    return static_cast<std::uint32_t>((value - std::floor(value)) * 4294967296.0L);
}

struct Constants {
    std::array<std::uint32_t, 64> round{};
    std::array<std::uint32_t, 8> state{};

    Constants() {
        std::size_t found = 0;
        for (int candidate = 2; found < 64; ++candidate) {
            bool prime = true;
            for (int divisor = 2; divisor * divisor <= candidate; ++divisor) {
                prime = prime && candidate % divisor != 0;
            }
            if (prime) {
                round[found] = fraction(std::cbrt(static_cast<long double>(candidate)));
                if (found < 8) {
                    state[found] = fraction(std::sqrt(static_cast<long double>(candidate)));
                }
                ++found;
            }
        }
    }
};

void block(const Constants& constants, const unsigned char* bytes,
           std::array<std::uint32_t, 8>& state) {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i) {
        w[i] = static_cast<std::uint32_t>(bytes[4 * i]) << 24 |
               static_cast<std::uint32_t>(bytes[4 * i + 1]) << 16 |
               static_cast<std::uint32_t>(bytes[4 * i + 2]) << 8 | bytes[4 * i + 3];
    }
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                  ((e & f) ^ (~e & g)) + constants.round[i] + w[i];
        const std::uint32_t two =
            (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + one;
        d = c;
        c = b;
        b = a;
        a = one + two;
    }
    const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) {
        state[i] += added[i];
    }
}

}  // namespace

std::string sha256(std::string_view bytes) {
    static const Constants constants;
    std::string padded(bytes);
    padded += static_cast<char>(0x80);
    while (padded.size() % 64 != 56) {
        padded += '\0';
    }
    const std::uint64_t bits = static_cast<std::uint64_t>(bytes.size()) * 8;
    for (int shift = 56; shift >= 0; shift -= 8) {
        padded += static_cast<char>(bits >> shift & 0xff);
    }
    std::array<std::uint32_t, 8> state = constants.state;
    for (std::size_t at = 0; at < padded.size(); at += 64) {
        block(constants, reinterpret_cast<const unsigned char*>(padded.data()) + at, state);
    }
    std::string result;
    for (const std::uint32_t word : state) {
        for (int shift = 28; shift >= 0; shift -= 4) {
            result += "0123456789abcdef"[word >> shift & 15];
        }
    }
    return result;
}

}  // namespace tessera::io
