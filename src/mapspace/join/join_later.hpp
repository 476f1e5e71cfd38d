// What the Einsums that are not joined yet may still hold beside finished branches.
#pragma once

#include <vector>

#include "mapspace/join_orders.hpp"

namespace tessera::mapspace::detail {

/// Most bits that the Einsums outside a set add to peak[d] of a memory, all of them together.
struct LaterBits {
    int depths = 0;
    std::vector<double> most;  ///< [memory][d], d = 0..depths - 1

    double at(int memory, int d) const {
        return most[static_cast<std::size_t>(memory * depths + d)];
    }
};

/// Bounds from the highest occupancies of each Einsum's rows. Thread rule: any number of threads.
class LaterHolders {
public:
    LaterHolders(const std::vector<std::vector<PmappingGroup>>& groups, int memories);

    LaterBits outside(const EinsumSet& done) const;

private:
    int depths_ = 1;
    std::vector<std::vector<double>> most_;  ///< per Einsum, as LaterBits::most
};

/// Forgets each of peak[0..open] to which not enough can be added to exceed the size. What is left
/// is again a suffix maximum. The peaks must fit as they are.
void settle_peaks(double* peak, int open, const LaterBits& later, int memory, double size_bits);

}  // namespace tessera::mapspace::detail
