// A hash of rows of whole numbers, for tables in which a wrong guess costs only time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::search {

/// Sums up products that do not wait for each other.
class RowHash {
public:
    explicit RowHash(std::uint64_t start) : sum_(start * factor) {}

    /// Of fractions only the whole part counts.
    template <class Number>
    void add(const Number* values, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            next_ += factor;
            sum_ += static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i])) * (next_ | 1);
        }
    }
    std::uint64_t sum() const {
        return sum_;
    }
    /// In [0, size).
    std::size_t place(std::size_t size) const {
        const std::uint64_t mixed = (sum_ ^ (sum_ >> 32)) * 0xd6e8feb86659fd93ull;
        return static_cast<std::size_t>((mixed >> 32) % size);
    }

private:
    static constexpr std::uint64_t factor = 0x9e3779b97f4a7c15ull;
    std::uint64_t sum_, next_ = 0;
};

}  // namespace tessera::search
