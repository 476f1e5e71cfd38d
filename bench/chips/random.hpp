// A stream of random numbers that is the same on every machine: the standard fixes what the engine
// gives, not what its distributions make of it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

namespace bench::chips {

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    /// 0 to n - 1.
    int below(int n) {
        return static_cast<int>(engine_() % static_cast<std::uint64_t>(n));
    }
    bool chance(int percent) {
        return below(100) < percent;
    }
    template <class T>
    T pick(std::initializer_list<T> items) {
        return items.begin()[below(static_cast<int>(items.size()))];
    }
    std::string pick(std::initializer_list<const char*> items) {
        return items.begin()[below(static_cast<int>(items.size()))];
    }

private:
    std::mt19937_64 engine_;
};

}  // namespace bench::chips
