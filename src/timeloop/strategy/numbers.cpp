// Points of Timeloop's mapspace as numbers (tessera/search/vector.hpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "timeloop/strategy/space.hpp"

namespace tessera::timeloop {

void StrategySpace::name_numbers() {
    const Problem& problem = space_.problem();
    const Architecture& architecture = space_.architecture();
    std::int64_t largest = 1;
    for (const Dimension& dimension : problem.dimensions) {
        names_.push_back("bound " + dimension.name);
        largest = std::max(largest, dimension.bound);
    }
    constexpr std::int64_t most_known = 1 << 16;
    for (std::int64_t end = 0; end <= std::min(largest, most_known); ++end) {
        log2_.push_back(std::log2(static_cast<float>(std::max<std::int64_t>(end, 1))));
    }
    for (int index = 0; index < levels(); ++index) {
        const TilingLevel& level = space_.levels()[index];
        const std::string where = " mapping " + architecture.storage[level.storage].name + " ";
        Block block;
        block.trips = names_.size();
        for (const Dimension& dimension : problem.dimensions) {
            names_.push_back((level.spatial ? "spread" : "trips") + where + dimension.name);
        }
        block.places = names_.size();
        const LevelOrder& order = orders_[index];
        for (int i = 0; i < order.free && order.free > 1; ++i) {
            const int d = order.dimensions[static_cast<std::size_t>(order.front + i)];
            names_.push_back((level.spatial ? "place spread" : "place") + where +
                             problem.dimensions[d].name);
        }
        block.split = names_.size();
        if (order.splits > 1) {
            names_.push_back("split mapping " + architecture.storage[level.storage].name);
        }
        blocks_.push_back(block);
    }
    first_keep_ = names_.size();
    for (int bit = 0; bit < bypass_bits(); ++bit) {
        const BypassBit what = bypass_bit(bit);
        names_.push_back("keep mapping " + architecture.storage[what.storage].name + " " +
                         problem.data_spaces[what.data_space].name);
    }
}

float StrategySpace::log2_of(std::int64_t end) const {
    return end < static_cast<std::int64_t>(log2_.size()) ? log2_[static_cast<std::size_t>(end)]
                                                         : std::log2(static_cast<float>(end));
}

void StrategySpace::to_numbers(const search::Point& point, std::span<float> numbers) const {
    for (int d = 0; d < dimensions_; ++d) {
        numbers[d] = log2_of(space_.problem().dimensions[d].bound);
        const std::int32_t* const ends = this->ends(d, point.tiles[d]);
        for (int index = 0; index < levels(); ++index) {
            numbers[blocks_[index].trips + static_cast<std::size_t>(d)] = log2_of(ends[index]);
        }
    }
    std::array<std::uint8_t, 32> now{};
    for (int index = 0; index < levels(); ++index) {
        const LevelOrder& order = orders_[index];
        order_of(index, point.tiles[rank_at(index)], now.data());
        for (int i = 0; i < order.free && order.free > 1; ++i) {
            const auto at = std::find(now.begin(), now.end(),
                                      order.dimensions[static_cast<std::size_t>(order.front + i)]);
            numbers[blocks_[index].places + static_cast<std::size_t>(i)] =
                static_cast<float>(at - now.begin() - order.front) /
                static_cast<float>(order.free - 1);
        }
        if (order.splits > 1) {
            numbers[blocks_[index].split] = static_cast<float>(point.tiles[split_at(index)]) /
                                            static_cast<float>(order.splits - 1);
        }
    }
    for (int bit = 0; bit < bypass_bits(); ++bit) {
        numbers[first_keep_ + static_cast<std::size_t>(bit)] =
            (point.choices.front().tmpl >> bit & 1U) != 0 ? 1.0F : 0.0F;
    }
}

std::int64_t StrategySpace::nearest_option(int dimension, std::span<const float> numbers) const {
    std::int64_t best = 0;
    float least = std::numeric_limits<float>::infinity();
    for (std::int64_t option = 0; option < count(static_cast<std::size_t>(dimension)); ++option) {
        const std::int32_t* const ends = this->ends(dimension, option);
        float sum = 0;
        for (int index = 0; index < levels() && sum < least; ++index) {
            const float off = log2_of(ends[index]) -
                              numbers[blocks_[index].trips + static_cast<std::size_t>(dimension)];
            sum += off * off;
        }
        if (sum < least) {
            least = sum;
            best = option;
        }
    }
    return best;
}

void StrategySpace::from_numbers(std::span<const float> numbers, search::Point& point) const {
    point.choices.assign(1, {});
    point.tiles.assign(n_digits(), 0);
    for (int d = 0; d < dimensions_; ++d) {
        point.tiles[d] = nearest_option(d, numbers);
    }
    for (int index = 0; index < levels(); ++index) {
        const LevelOrder& order = orders_[index];
        if (order.free > 1) {
            auto now = order.dimensions;
            const auto first = order.dimensions.begin() + order.front;
            const auto place_of = [&](std::uint8_t d) {
                const auto i = std::find(first, first + order.free, d) - first;
                return numbers[blocks_[index].places + static_cast<std::size_t>(i)];
            };
            std::stable_sort(
                now.begin() + order.front, now.begin() + order.front + order.free,
                [&](std::uint8_t a, std::uint8_t b) { return place_of(a) < place_of(b); });
            point.tiles[rank_at(index)] = rank_of(index, now.data());
        }
        if (order.splits > 1) {
            const auto most = static_cast<float>(order.splits - 1);
            point.tiles[split_at(index)] = static_cast<std::int64_t>(
                std::lround(std::clamp(numbers[blocks_[index].split] * most, 0.0F, most)));
        }
    }
    for (int bit = 0; bit < bypass_bits(); ++bit) {
        if (numbers[first_keep_ + static_cast<std::size_t>(bit)] > 0.5F) {
            point.choices.front().tmpl |= 1U << bit;
        }
    }
}

}  // namespace tessera::timeloop
