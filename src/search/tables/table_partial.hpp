// Points of the table space, chosen Einsum after Einsum (search/partial.hpp): the structure is the
// groups and the ways in which they join; what is chosen are their rows.
#pragma once

#include <vector>

#include "search/join/joiner.hpp"
#include "search/tables/table_space.hpp"

namespace tessera::search {

class TablePartial final : public PartialPoint {
public:
    explicit TablePartial(const TableSpace& space)
        : space_(space), states_(space.data()), joiner_(space.data(), states_) {}

    bool start(const Point& point) override;
    const std::vector<std::uint32_t>& structure() const override {
        return structure_;
    }
    bool complete() const override {
        return depth_ == space_.einsums.size();
    }
    const std::vector<std::int64_t>& values() override;
    std::size_t place() override {
        return depth_;
    }
    void choose(std::int64_t value) override;
    std::size_t depth() const override {
        return depth_;
    }
    void rewind(std::size_t depth) override {
        depth_ = depth;
    }
    bool fill(Rng& rng) override;
    const Point& point() override {
        return point_;
    }

private:
    const TableSpace& space_;
    JoinStates states_;
    Joiner joiner_;
    Point point_;
    std::vector<std::uint32_t> structure_;
    std::size_t depth_ = 0;
    std::vector<std::int64_t> values_;
};

}  // namespace tessera::search
