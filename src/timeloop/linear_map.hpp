// Points of a data space as one integer: the ranks are digits of a mixed radix wide enough that
// sums and differences of a few offsets stay apart. Offsets add and compare as plain integers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/timeloop/problem.hpp"

namespace tessera::timeloop {

inline constexpr int max_dimensions_compiled = 16;
using DimensionValues = std::array<std::int64_t, max_dimensions_compiled>;

class LinearMap {
public:
    /// `valid` is false if the digits do not fit into one integer.
    LinearMap(const Problem& problem, int data_space);

    bool valid() const {
        return valid_;
    }
    /// What one step of a dimension adds to the integer; 0 if it does not move the tile.
    std::int64_t step(int dimension) const {
        return step_[dimension];
    }
    int ranks() const {
        return static_cast<int>(ranks_.size());
    }
    /// Extents of the box over `tile` steps of each dimension, per rank; returns their product.
    std::uint64_t extents(const DimensionValues& tile, std::int64_t* result) const;
    /// Words of a box with `extents` that its translation by `steps` of `dimension` does not hold.
    std::uint64_t residue(const std::int64_t* extents, std::uint64_t words, int dimension,
                          std::int64_t steps) const;

private:
    struct Addend {
        int dimension;
        std::int64_t value, magnitude;
    };
    std::vector<std::vector<Addend>> ranks_;
    std::array<std::int64_t, max_dimensions_compiled> step_{};
    bool valid_ = true;
};

}  // namespace tessera::timeloop
