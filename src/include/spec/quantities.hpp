// How large numbers may be. Costs are products of some of them with counts, and the product of
// energy and latency must not leave double precision; counts and positions are whole numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "spec/fields.hpp"

namespace tessera::spec {

/// Energies, powers, times, rates, widths, factors: largest, and smallest where 0 makes no sense.
constexpr double largest_quantity = 1e24, smallest_quantity = 1e-24;
/// Values of a rank variable, instances of a dimension.
constexpr std::int64_t largest_extent = 2147483647;
/// Points of an iteration space with all its instances, instances of a component.
constexpr double most_points = 9223372036854775808.0, most_instances = 9007199254740992.0;
/// Spatial dimensions of a node, and levels down to a compute: both are indices of eight bits, and
/// a dimension is told by its level times the former.
constexpr std::size_t most_dimensions = 16, most_levels = 127;

inline Range quantity() {
    return Range::between(0, largest_quantity);
}
inline Range positive_quantity() {
    return Range::between(smallest_quantity, largest_quantity);
}
inline Range extent() {
    return Range::between(1, static_cast<double>(largest_extent));
}

}  // namespace tessera::spec
