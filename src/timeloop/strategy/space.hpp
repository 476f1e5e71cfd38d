// Timeloop's mapspace as search strategies see it.
//
// A point has the digits by which Timeloop numbers mappings: Choice::tmpl is the bypass; the tile
// shapes are, for each dimension, which of the ways to split its bound (MapSpace::factors()); for
// each tiling level, the factoradic rank of its free dimensions; for each tiling level, where its
// loops are split along X and Y. What has one value only is 0.
//
// What strategies call Einsums are parts of a point here: the dimensions, then the storage levels
// with the orders and splits of their blocks. Moves change one part, crossovers take a row of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/other_space.hpp"
#include "timeloop/mapper/pool.hpp"
#include "timeloop/mapspace.hpp"

namespace tessera::timeloop {

/// A level that keeps a data space or not, as one bit of the bypass says.
struct BypassBit {
    int storage = 0, data_space = 0;
};

/// Immutable; threads share it. \pre `space` and `model` outlive it
class StrategySpace : public search::Space,
                      public search::VectorSpace,
                      public search::PartialSpace {
public:
    StrategySpace(const MapSpace& space, const CompiledModel& model);

    std::uint32_t n_einsums() const override {
        return static_cast<std::uint32_t>(dimensions_ + storage_levels_);
    }
    std::uint32_t n_templates(std::uint32_t) const override {
        return static_cast<std::uint32_t>(space_.bypasses().size());
    }
    /// \throws UserError: this mapspace has none
    const mapspace::Template& tmpl(std::uint32_t einsum, std::uint32_t index) const override;
    /// Every point, those that fit no array or memory included.
    std::unique_ptr<search::Enumerator> enumerate() const override;

    const std::vector<std::string>& numbers() const override {
        return names_;
    }
    std::size_t n_bounds() const override {
        return static_cast<std::size_t>(dimensions_);
    }
    void to_numbers(const search::Point& point, std::span<float> numbers) const override;
    /// The ways to split bounds whose trip counts are nearest; loops in the order of their places;
    /// axes and kept data spaces by the nearer value.
    void from_numbers(std::span<const float> numbers, search::Point& point) const override;
    search::Point any_point() const override;
    std::unique_ptr<search::PartialPoint> partial() const override;

    const MapSpace& mapspace() const {
        return space_;
    }
    int dimensions() const {
        return dimensions_;
    }
    int levels() const {
        return static_cast<int>(orders_.size());
    }
    const LevelOrder& order(int level) const {
        return orders_[level];
    }
    /// Where the digits stand in Point::tiles.
    std::size_t rank_at(int level) const {
        return static_cast<std::size_t>(dimensions_ + level);
    }
    std::size_t split_at(int level) const {
        return static_cast<std::size_t>(dimensions_ + levels() + level);
    }
    std::size_t n_digits() const {
        return static_cast<std::size_t>(dimensions_ + 2 * levels());
    }
    /// How many values a digit has.
    std::int64_t count(std::size_t digit) const {
        return counts_[digit];
    }
    bool has(const search::Point& point) const;

    /// The bypass is a number of so many bits.
    int bypass_bits() const {
        return static_cast<int>(bits_.size());
    }
    BypassBit bypass_bit(int bit) const {
        return bits_[bit];
    }

    const std::int32_t* ends(int dimension, std::int64_t option) const {
        return space_.factors()[dimension].end(static_cast<std::size_t>(option), levels());
    }
    /// The way to split a dimension's bound with these ends per tiling level; -1: there is none.
    std::int64_t option(int dimension, const std::int32_t* ends) const;

    /// All dimensions of a level in the order of a rank, and back. `dimensions`: as many as there
    /// are.
    void order_of(int level, std::int64_t rank, std::uint8_t* dimensions) const;
    std::int64_t rank_of(int level, const std::uint8_t* dimensions) const;

    /// The point of a mapping. False: it is none of the mapspace.
    bool encode(const Mapping& mapping, search::Point& point) const;

private:
    std::size_t place(int dimension, const std::int32_t* ends) const;
    bool encode_block(int index, const LoopBlock& block, search::Point& point) const;
    void name_numbers();
    float log2_of(std::int64_t end) const;
    std::int64_t nearest_option(int dimension, std::span<const float> numbers) const;

    const MapSpace& space_;
    const CompiledModel& model_;
    int dimensions_, storage_levels_;
    std::vector<BypassBit> bits_;
    std::vector<LevelOrder> orders_;
    std::vector<std::int64_t> counts_;
    std::vector<std::vector<std::uint32_t>> slots_;  ///< per dimension: options + 1, hashed by ends

    /// Of one tiling level: where its numbers stand.
    struct Block {
        std::size_t trips = 0;   ///< of the first dimension, the others follow
        std::size_t places = 0;  ///< of the free dimensions, in the order of rank 0
        std::size_t split = 0;
    };
    std::vector<std::string> names_;
    std::vector<Block> blocks_;
    std::size_t first_keep_ = 0;  ///< a number for each bit of the bypass
    std::vector<float> log2_;
};

}  // namespace tessera::timeloop
