#include "timeloop/strategy/partial.hpp"

#include <algorithm>

#include "tessera/base/stop.hpp"

namespace tessera::timeloop {

namespace {
constexpr int fill_attempts = 64;
}

StrategyPartial::StrategyPartial(const StrategySpace& space, const CompiledModel& model)
    : space_(space),
      model_(model),
      dimensions_(space.dimensions()),
      levels_(space.levels()),
      left_(static_cast<std::size_t>(dimensions_)),
      orders_(static_cast<std::size_t>(levels_),
              std::vector<std::uint8_t>(static_cast<std::size_t>(dimensions_))) {
    for (int d = 0; d < dimensions_; ++d) {
        std::vector<std::int32_t>& all = left_[d].emplace_back();
        for (std::int64_t i = 0; i < space.count(static_cast<std::size_t>(d)); ++i) {
            all.push_back(static_cast<std::int32_t>(i));
        }
    }
}

bool StrategyPartial::start(const search::Point& point) {
    if (!space_.has(point)) {
        return false;
    }
    point_ = point;
    rewind(0);
    structure_ = {point.choices.front().tmpl};
    for (int index = 0; index < levels_; ++index) {
        const auto rank = static_cast<std::uint64_t>(point.tiles[space_.rank_at(index)]);
        structure_.push_back(static_cast<std::uint32_t>(rank));
        structure_.push_back(static_cast<std::uint32_t>(rank >> 32U));
        structure_.push_back(static_cast<std::uint32_t>(point.tiles[space_.split_at(index)]));
        space_.order_of(index, static_cast<std::int64_t>(rank), orders_[index].data());
    }
    return true;
}

bool StrategyPartial::fits(std::int64_t value) {
    trail_.push_back(value);
    FlatMapping flat;
    flat.level_count = space_.mapspace().architecture().levels();
    bool good = true;
    for (int index = 0; index < levels_ && good; ++index) {
        const TilingLevel& level = space_.mapspace().levels()[index];
        const std::int64_t split =
            level.split < 0 ? point_.tiles[space_.split_at(index)] : level.split;
        std::int64_t x = 1, y = 1;
        for (int i = 0; i < dimensions_; ++i) {
            const std::uint8_t d = orders_[index][i];
            const auto at = static_cast<std::size_t>(index * dimensions_ + d);
            const std::int64_t end = at < trail_.size() ? trail_[at] : 1;
            (i < split ? x : y) *= end;
            if (end > 1) {
                flat.add(d, LoopKind::temporal, end, end);
            }
        }
        if (level.spatial) {
            good = x <= level.fanout_x && y <= level.fanout_y;
        } else {
            flat.level_end[level.storage] = flat.loop_count;
            flat.keep[level.storage] =
                space_.mapspace().bypasses()[point_.choices.front().tmpl][level.storage];
        }
    }
    good = good && model_.check_capacity(flat).kind != Fit::Kind::capacity;
    trail_.pop_back();
    return good;
}

const std::vector<std::int64_t>& StrategyPartial::values() {
    if (!looked_) {
        values_.clear();
        for (const std::int32_t option : left_[dimension()].back()) {
            values_.push_back(space_.ends(dimension(), option)[level()]);
        }
        std::sort(values_.begin(), values_.end());
        values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
        std::erase_if(values_, [&](std::int64_t value) { return !fits(value); });
        looked_ = true;
    }
    return values_;
}

void StrategyPartial::choose(std::int64_t value) {
    std::vector<std::vector<std::int32_t>>& lists = left_[dimension()];
    std::vector<std::int32_t> agree;
    for (const std::int32_t option : lists.back()) {
        if (space_.ends(dimension(), option)[level()] == value) {
            agree.push_back(option);
        }
    }
    lists.push_back(std::move(agree));
    trail_.push_back(value);
    looked_ = false;
}

void StrategyPartial::rewind(std::size_t depth) {
    while (trail_.size() > depth) {
        trail_.pop_back();
        left_[dimension()].pop_back();
        looked_ = false;
    }
}

bool StrategyPartial::fill(search::Rng& rng) {
    const std::size_t depth = trail_.size();
    for (int attempt = 0; attempt < fill_attempts; ++attempt) {
        base::poll_stop();
        while (!complete() && !values().empty()) {
            choose(values_[rng.below(values_.size())]);
        }
        if (complete()) {
            return true;
        }
        rewind(depth);
    }
    return false;
}

const search::Point& StrategyPartial::point() {
    for (int d = 0; d < dimensions_; ++d) {
        point_.tiles[d] = left_[d].back().front();
    }
    return point_;
}

}  // namespace tessera::timeloop
