#include "timeloop/strategy/space.hpp"

#include <algorithm>
#include <bit>

#include "tessera/base/error.hpp"
#include "tessera/base/hash.hpp"
#include "timeloop/strategy/partial.hpp"

namespace tessera::timeloop {
namespace {

/// Bypasses are numbered so that each free pair of level and data space is a bit.
std::vector<BypassBit> bits_of(const std::vector<std::vector<DataSpaceMask>>& bypasses) {
    std::vector<BypassBit> bits;
    for (std::size_t one = 1; one < bypasses.size(); one *= 2) {
        BypassBit bit;
        while (bypasses[one][bit.storage] == bypasses[0][bit.storage]) {
            ++bit.storage;
        }
        bit.data_space = std::countr_zero(bypasses[one][bit.storage] ^ bypasses[0][bit.storage]);
        bits.push_back(bit);
    }
    return bits;
}

/// Counts through all digits, the first one fastest.
class Odometer : public search::Enumerator {
public:
    explicit Odometer(const StrategySpace& space) : space_(space) {
        next_.choices.resize(1);
        next_.tiles.assign(space.n_digits(), 0);
        for (std::size_t i = 0; i < space.n_digits(); ++i) {
            left_ = left_ && space.count(i) > 0;
        }
    }
    bool next(search::Point& point) override {
        if (!left_) {
            return false;
        }
        point = next_;
        left_ = advance();
        return true;
    }

private:
    bool advance() {
        for (std::size_t i = 0; i < next_.tiles.size(); ++i) {
            if (++next_.tiles[i] < space_.count(i)) {
                return true;
            }
            next_.tiles[i] = 0;
        }
        return ++next_.choices.front().tmpl < space_.n_templates(0);
    }

    const StrategySpace& space_;
    search::Point next_;
    bool left_ = true;
};

}  // namespace

StrategySpace::StrategySpace(const MapSpace& space, const CompiledModel& model)
    : space_(space),
      model_(model),
      dimensions_(static_cast<int>(space.problem().dimensions.size())),
      storage_levels_(space.architecture().levels()),
      bits_(bits_of(space.bypasses())) {
    for (const TilingLevel& level : space.levels()) {
        orders_.push_back(order_of_level(level, dimensions_));
    }
    for (const IndexFactors& factors : space.factors()) {
        counts_.push_back(static_cast<std::int64_t>(factors.count));
    }
    for (const LevelOrder& order : orders_) {
        counts_.push_back(static_cast<std::int64_t>(order.count));
    }
    for (const LevelOrder& order : orders_) {
        counts_.push_back(static_cast<std::int64_t>(order.splits));
    }
    for (int d = 0; d < dimensions_; ++d) {
        const std::size_t count = space.factors()[d].count;
        std::vector<std::uint32_t>& slots =
            slots_.emplace_back(std::bit_ceil(2 * count + 1), std::uint32_t{0});
        for (std::size_t option = 0; option < count; ++option) {
            std::size_t at = place(d, ends(d, static_cast<std::int64_t>(option)));
            while (slots[at] != 0) {
                at = (at + 1) & (slots.size() - 1);
            }
            slots[at] = static_cast<std::uint32_t>(option + 1);
        }
    }
    name_numbers();
}

const mapspace::Template& StrategySpace::tmpl(std::uint32_t, std::uint32_t) const {
    throw UserError(
        "the strategy goes by the templates of Tessera's mapspace, which Timeloop's has not; use "
        "annealing, genetic, mcts, es, pagmo, gradient, ddpg, random or exhaustive");
}

search::Point StrategySpace::any_point() const {
    search::Point point;
    point.choices.resize(1);
    point.tiles.assign(n_digits(), 0);
    return point;
}

std::unique_ptr<search::PartialPoint> StrategySpace::partial() const {
    return std::make_unique<StrategyPartial>(*this, model_);
}

std::unique_ptr<search::Enumerator> StrategySpace::enumerate() const {
    return std::make_unique<Odometer>(*this);
}

bool StrategySpace::has(const search::Point& point) const {
    if (point.choices.size() != 1 || point.choices.front().tmpl >= n_templates(0) ||
        point.tiles.size() != n_digits()) {
        return false;
    }
    for (std::size_t i = 0; i < n_digits(); ++i) {
        if (point.tiles[i] < 0 || point.tiles[i] >= counts_[i]) {
            return false;
        }
    }
    return true;
}

std::size_t StrategySpace::place(int dimension, const std::int32_t* ends) const {
    return static_cast<std::size_t>(base::hash_row(ends, static_cast<std::size_t>(levels()))) &
           (slots_[dimension].size() - 1);
}

std::int64_t StrategySpace::option(int dimension, const std::int32_t* wanted) const {
    const std::vector<std::uint32_t>& slots = slots_[dimension];
    for (std::size_t at = place(dimension, wanted); slots[at] != 0;
         at = (at + 1) & (slots.size() - 1)) {
        const std::int64_t found = slots[at] - 1;
        if (std::equal(wanted, wanted + levels(), ends(dimension, found))) {
            return found;
        }
    }
    return -1;
}

void StrategySpace::order_of(int level, std::int64_t rank, std::uint8_t* dimensions) const {
    const LevelOrder& order = orders_[level];
    std::copy_n(order.dimensions.begin(), dimensions_, dimensions);
    permute(dimensions + order.front, order.free, static_cast<std::uint64_t>(rank), order.count);
}

std::int64_t StrategySpace::rank_of(int level, const std::uint8_t* dimensions) const {
    const LevelOrder& order = orders_[level];
    const std::uint8_t* const free = dimensions + order.front;
    std::uint64_t scale = order.count, rank = 0;
    for (int i = 0; i + 1 < order.free; ++i) {
        scale /= static_cast<std::uint64_t>(order.free - i);
        std::uint64_t smaller = 0;  // of those that are left
        for (int j = i + 1; j < order.free; ++j) {
            smaller += free[j] < free[i] ? 1 : 0;
        }
        rank += smaller * scale;
    }
    return static_cast<std::int64_t>(rank);
}

// Loops of one iteration may stand anywhere, so that the order and the split of the point may be
// others that say the same.
bool StrategySpace::encode_block(int index, const LoopBlock& block, search::Point& point) const {
    const TilingLevel& level = space_.levels()[index];
    const LevelOrder& order = orders_[index];
    const auto running = [&](auto begin, auto end) {
        std::vector<int> dimensions(begin, end);
        std::erase_if(dimensions, [&](int d) { return block.factors[d].end == 1; });
        return dimensions;
    };
    auto placed = order.dimensions;
    const auto first = placed.begin() + order.front, last = first + order.free;
    std::sort(first, last, [&](std::uint8_t a, std::uint8_t b) {
        const auto place = [&](int d) {
            return std::find(block.permutation.begin(), block.permutation.end(), d);
        };
        return place(a) < place(b);
    });
    point.tiles[rank_at(index)] = rank_of(index, placed.data());
    const auto& given = block.permutation;
    if (!level.spatial) {
        return level.canonical || running(given.begin(), given.end()) ==
                                      running(placed.begin(), placed.begin() + dimensions_);
    }
    const std::vector<int> along_x = running(given.begin(), given.begin() + block.split);
    std::int64_t split = std::clamp<std::int64_t>(level.split, 0, dimensions_);
    if (order.splits > 1) {
        split = 0;
        for (std::int64_t i = 0; i < dimensions_ && !along_x.empty(); ++i) {
            split = placed[static_cast<std::size_t>(i)] == along_x.back() ? i + 1 : split;
        }
        point.tiles[split_at(index)] = split;
    }
    // Along one axis the order of loops does not matter.
    const auto sorted = [](std::vector<int> dimensions) {
        std::sort(dimensions.begin(), dimensions.end());
        return dimensions;
    };
    return sorted(along_x) == sorted(running(placed.begin(), placed.begin() + split));
}

bool StrategySpace::encode(const Mapping& mapping, search::Point& point) const {
    point.choices.assign(1, {});
    point.tiles.assign(n_digits(), 0);
    std::vector<std::int32_t> ends(static_cast<std::size_t>(levels()));
    for (int d = 0; d < dimensions_; ++d) {
        for (int index = 0; index < levels(); ++index) {
            ends[index] =
                static_cast<std::int32_t>(block_of(mapping, space_.levels()[index]).factors[d].end);
        }
        point.tiles[d] = option(d, ends.data());
        if (point.tiles[d] < 0) {
            return false;
        }
        const std::int32_t* const residuals =
            space_.factors()[d].residual(static_cast<std::size_t>(point.tiles[d]), levels());
        for (int index = 0; index < levels(); ++index) {
            if (block_of(mapping, space_.levels()[index]).factors[d].residual != residuals[index]) {
                return false;
            }
        }
    }
    for (int index = 0; index < levels(); ++index) {
        if (!encode_block(index, block_of(mapping, space_.levels()[index]), point)) {
            return false;
        }
    }
    const auto& all = space_.bypasses();
    const DataSpaceMask every =
        (DataSpaceMask{1} << space_.problem().data_spaces.size()) - DataSpaceMask{1};
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& masks) {
        for (int level = 0; level < storage_levels_; ++level) {
            if (((masks[level] ^ mapping.levels[level].keep) & every) != 0) {
                return false;
            }
        }
        return true;
    });
    point.choices.front().tmpl = static_cast<std::uint32_t>(found - all.begin());
    return found != all.end() && has(point);
}

}  // namespace tessera::timeloop
