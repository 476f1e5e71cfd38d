// A random stream that is the same on every machine: the standard's distributions differ between
// libraries, this does not.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::oracle {

/// splitmix64.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    int below(int n) {
        return static_cast<int>(next() % static_cast<std::uint64_t>(n));
    }
    bool chance(int percent) {
        return below(100) < percent;
    }
    template <class T>
    const T& pick(const std::vector<T>& items) {
        return items[static_cast<std::size_t>(below(static_cast<int>(items.size())))];
    }

private:
    std::uint64_t state_;
};

}  // namespace tessera::oracle
