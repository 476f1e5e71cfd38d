// Random numbers that are the same on every machine and for every number of threads.
#pragma once

#include <cstdint>

#include "tessera/base/hash.hpp"

namespace tessera::search {

/// SplitMix64 (Steele, Lea, Flood 2014). Streams of different seeds are independent for our use.
class Rng {
public:
    explicit Rng(std::uint64_t seed = 0) : state_(seed) {}

    std::uint64_t next() {
        state_ += base::golden_ratio;
        return base::mix(state_);
    }
    /// Uniform in [0, n); \pre n > 0.
    std::uint64_t below(std::uint64_t n) {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
    }
    /// Uniform in [0, 1).
    double uniform() {
        return static_cast<double>(next() >> 11) * 0x1p-53;
    }

private:
    std::uint64_t state_;
};

/// The seed of stream `index` of a run.
inline std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t index) {
    Rng mixed(seed ^ (index * 0xd1342543de82ef95ull + 0x2545f4914f6cdd1dull));
    return mixed.next();
}

}  // namespace tessera::search
