#include "timeloop/linear_map.hpp"

#include <algorithm>
#include <cstdlib>

namespace tessera::timeloop {

LinearMap::LinearMap(const Problem& problem, int data_space) {
    // Compared values are sums of at most a handful of offsets, each below the rank's extent.
    constexpr double room = 32, largest = 2e18;
    double radix = 1;
    for (const std::vector<Term>& rank : problem.data_spaces[data_space].ranks) {
        std::vector<Addend> addends;
        double extent = 1;
        for (const Term& term : rank) {
            const std::int64_t magnitude = std::abs(term.value);
            addends.push_back({term.dimension, term.value, magnitude});
            extent += static_cast<double>(magnitude) *
                      static_cast<double>(problem.dimensions[term.dimension].bound - 1);
            valid_ = valid_ && radix < largest;
            if (valid_) {
                step_[term.dimension] += static_cast<std::int64_t>(radix) * term.value;
            }
        }
        ranks_.push_back(std::move(addends));
        // A power of two, so that every radix is an exact integer.
        double digit = 1;
        while (digit < room * extent) {
            digit *= 2;
        }
        radix *= digit;
    }
    valid_ = valid_ && radix < largest;
}

std::uint64_t LinearMap::extents(const DimensionValues& tile, std::int64_t* result) const {
    std::uint64_t product = 1;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        std::int64_t extent = 1;
        for (const Addend& addend : ranks_[r]) {
            extent += addend.magnitude * (tile[addend.dimension] - 1);
        }
        result[r] = extent;
        product *= static_cast<std::uint64_t>(extent);
    }
    return product;
}

std::uint64_t LinearMap::residue(const std::int64_t* extents, std::uint64_t words, int dimension,
                                 std::int64_t steps) const {
    std::uint64_t kept = 1;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        std::int64_t moved = 0;
        for (const Addend& addend : ranks_[r]) {
            moved += addend.dimension == dimension ? addend.value * steps : 0;
        }
        kept *= static_cast<std::uint64_t>(std::max<std::int64_t>(0, extents[r] - std::abs(moved)));
    }
    return words - kept;
}

}  // namespace tessera::timeloop
