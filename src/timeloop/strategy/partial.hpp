// Points of Timeloop's mapspace, built loop by loop (search/partial.hpp): trip counts from the
// innermost level outwards, dimension by dimension. Orders, splits and bypass are the structure.
#pragma once

#include <vector>

#include "search/other_space.hpp"
#include "timeloop/mapper/pool.hpp"
#include "timeloop/strategy/space.hpp"

namespace tessera::timeloop {

class StrategyPartial final : public search::PartialPoint {
public:
    StrategyPartial(const StrategySpace& space, const CompiledModel& model);

    bool start(const search::Point& point) override;
    const std::vector<std::uint32_t>& structure() const override {
        return structure_;
    }
    bool complete() const override {
        return trail_.size() == static_cast<std::size_t>(dimensions_ * levels_);
    }
    const std::vector<std::int64_t>& values() override;
    std::size_t place() override {
        return static_cast<std::size_t>(dimension());
    }
    void choose(std::int64_t value) override;
    std::size_t depth() const override {
        return trail_.size();
    }
    void rewind(std::size_t depth) override;
    bool fill(search::Rng& rng) override;
    const search::Point& point() override;

private:
    int dimension() const {
        return static_cast<int>(trail_.size()) % dimensions_;
    }
    int level() const {
        return static_cast<int>(trail_.size()) / dimensions_;
    }
    /// Whether arrays and memories hold what is chosen, were all other trip counts 1.
    bool fits(std::int64_t value);

    const StrategySpace& space_;
    const CompiledModel& model_;
    const int dimensions_, levels_;
    search::Point point_;
    std::vector<std::uint32_t> structure_;
    std::vector<std::int64_t> trail_;  ///< trip counts, level after level
    /// Per dimension: the ways to split its bound that agree with the first so many choices.
    std::vector<std::vector<std::vector<std::int32_t>>> left_;
    std::vector<std::vector<std::uint8_t>> orders_;  ///< per tiling level
    bool looked_ = false;
    std::vector<std::int64_t> values_;
};

}  // namespace tessera::timeloop
