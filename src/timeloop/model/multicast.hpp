// Elements of a spatial block on their physical grid: groups that receive the same words, the hops
// their words take, and elements that can be served by a neighbour.
#pragma once

#include <cstdint>
#include <vector>

#include "point_set.hpp"

namespace tessera::timeloop {

/// The grid on which the linear index of an element is laid out, row by row.
struct Grid {
    std::int64_t width = 1, height = 1;
};

/// All groups of `multicast` elements.
struct GroupTable {
    std::uint64_t multicast = 1, groups = 0;
    double hops = 0;  ///< sum over the groups
};

/// Hops to one group: along row 0 to the farthest column, then up and down in every column used;
/// the words enter in the middle of the left side.
double hops_to(const std::vector<int>& elements, Grid grid);

/// Groups the elements with `taken` false by equal offsets; `separate`: every element on its own.
/// The result ascends by multicast.
std::vector<GroupTable> group_elements(const std::vector<Point>& offsets,
                                       const std::vector<char>& taken, bool separate, Grid grid);

/// Marks the elements whose words a neighbour had one step before: those with a neighbour whose
/// former offset minus the element's offset is `shift`. Returns their number.
std::uint64_t mark_forwarded(const std::vector<Point>& offsets, const std::vector<Point>& former,
                             const Point& shift, int ranks, Grid grid, std::vector<char>& taken);

}  // namespace tessera::timeloop
