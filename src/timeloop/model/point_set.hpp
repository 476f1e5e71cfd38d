// Sets of points of one data space as lists of axis-aligned boxes: exact difference, translation
// as Timeloop measures it, equality up to a shift.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::timeloop {

inline constexpr int max_ranks = 12;

using Point = std::array<std::int64_t, max_ranks>;  ///< unused ranks are 0

/// Half-open box [low, high); unused ranks are [0, 1).
struct Box {
    Point low{}, high{};
    bool operator==(const Box&) const = default;
};

using BoxSet = std::vector<Box>;  ///< disjoint boxes

std::uint64_t size(const Box& box, int ranks);
std::uint64_t size(const BoxSet& set, int ranks);

/// Appends `from` minus `what` to `result`.
void subtract(const Box& from, const Box& what, int ranks, BoxSet& result);

/// Rounded difference of the centroids.
Point translation(const Box& from, const Box& to, int ranks);

/// The shift that turns `from` into `to`, if there is one. Empty sets have none.
std::optional<Point> shift_between(const BoxSet& from, const BoxSet& to, int ranks);

}  // namespace tessera::timeloop
