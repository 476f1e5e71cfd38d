#pragma once

// A set of tile-shape symbols of one template.

#include <bit>
#include <cstdint>

namespace tessera::model {

/// Largest number of tile-shape symbols of one template. A three-dimensional convolution with batch
/// (nine rank variables) on five memories and two arrays has fewer than 80.
inline constexpr int kMaxSymbols = 128;

/// Iterates from the lowest symbol to the highest. Members are 0 <= symbol < kMaxSymbols: whoever
/// makes symbols checks their number first.
class SymbolSet {
public:
    constexpr SymbolSet() = default;
    /// The set of one symbol; of none if it is negative.
    static constexpr SymbolSet of(int symbol) {
        SymbolSet out;
        if (symbol >= 0) {
            out.words_[symbol >> 6] = std::uint64_t{1} << (symbol & 63);
        }
        return out;
    }
    /// Symbols 8 * byte to 8 * byte + 7 by the bits of `members`.
    constexpr void set_byte(int byte, std::uint64_t members) {
        words_[byte >> 3] |= members << (8 * (byte & 7));
    }
    constexpr std::uint32_t byte(int byte) const {
        return static_cast<std::uint32_t>(words_[byte >> 3] >> (8 * (byte & 7)) & 0xff);
    }

    constexpr bool has(int symbol) const {
        return words_[symbol >> 6] >> (symbol & 63) & 1u;
    }
    constexpr bool empty() const {
        return (words_[0] | words_[1]) == 0;
    }
    constexpr int count() const {
        return std::popcount(words_[0]) + std::popcount(words_[1]);
    }
    /// Lowest member; the set must not be empty.
    constexpr int first() const {
        return words_[0] != 0 ? std::countr_zero(words_[0]) : 64 + std::countr_zero(words_[1]);
    }
    /// One more than the highest member; 0 if there is none.
    constexpr int end_symbol() const {
        return words_[1] != 0 ? 128 - std::countl_zero(words_[1])
                              : 64 - std::countl_zero(words_[0]);
    }
    constexpr bool contains(const SymbolSet& other) const {
        return (other - *this).empty();
    }
    constexpr bool meets(const SymbolSet& other) const {
        return !(other & *this).empty();
    }

    friend constexpr bool operator==(const SymbolSet&, const SymbolSet&) = default;
    friend constexpr SymbolSet operator|(SymbolSet a, const SymbolSet& b) {
        return a |= b;
    }
    friend constexpr SymbolSet operator&(SymbolSet a, const SymbolSet& b) {
        a.words_[0] &= b.words_[0];
        a.words_[1] &= b.words_[1];
        return a;
    }
    /// Members of `a` that are none of `b`.
    friend constexpr SymbolSet operator-(SymbolSet a, const SymbolSet& b) {
        a.words_[0] &= ~b.words_[0];
        a.words_[1] &= ~b.words_[1];
        return a;
    }
    constexpr SymbolSet& operator|=(const SymbolSet& b) {
        words_[0] |= b.words_[0];
        words_[1] |= b.words_[1];
        return *this;
    }

    class Iterator {
    public:
        constexpr Iterator(std::uint64_t low, std::uint64_t high) : low_(low), high_(high) {}
        constexpr int operator*() const {
            return low_ != 0 ? std::countr_zero(low_) : 64 + std::countr_zero(high_);
        }
        constexpr Iterator& operator++() {
            (low_ != 0 ? low_ : high_) &= (low_ != 0 ? low_ : high_) - 1;
            return *this;
        }
        friend constexpr bool operator==(const Iterator&, const Iterator&) = default;

    private:
        std::uint64_t low_, high_;
    };
    constexpr Iterator begin() const {
        return {words_[0], words_[1]};
    }
    constexpr Iterator end() const {
        return {0, 0};
    }

private:
    std::uint64_t words_[2] = {0, 0};
};

static_assert(kMaxSymbols == 128, "SymbolSet has two words");

}  // namespace tessera::model
