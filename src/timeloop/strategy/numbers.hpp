// Points of Timeloop's mapspace as numbers (tessera/search/vector.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/search/space.hpp"
#include "timeloop/mapspace.hpp"

namespace tessera::timeloop {

class StrategySpace;

/// Immutable; threads share it.
class PointNumbers {
public:
    explicit PointNumbers(const StrategySpace& space);

    const std::vector<std::string>& names() const {
        return names_;
    }
    void write(const search::Point& point, std::span<float> numbers) const;
    /// The ways to split bounds whose trip counts are nearest; loops in the order of their places;
    /// axes and kept data spaces by the nearer value.
    void read(std::span<const float> numbers, search::Point& point) const;

private:
    /// Of one tiling level: where its numbers stand.
    struct Block {
        std::size_t trips = 0;   ///< of the first dimension, the others follow
        std::size_t places = 0;  ///< of the free dimensions, in the order of rank 0
        std::size_t split = 0;
    };
    float log2_of(std::int64_t end) const;
    std::int64_t nearest_option(int dimension, std::span<const float> numbers) const;

    const StrategySpace& space_;
    std::vector<std::string> names_;
    std::vector<Block> blocks_;
    std::size_t first_keep_ = 0;  ///< a number for each bit of the bypass
    std::vector<float> log2_;
};

}  // namespace tessera::timeloop
