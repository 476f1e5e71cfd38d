#pragma once

#include <cstddef>
#include <vector>

namespace tessera::mapspace {

/// Survivors in blocks of eight, each block column after column, so that one candidate is compared
/// with eight of them at a time and most blocks are left after one or two columns.
class DominanceWindow {
public:
    static constexpr std::size_t kBlock = 8;

    /// `memory` is overwritten and grows as needed.
    DominanceWindow(std::vector<double>& memory, std::size_t columns)
        : memory_(memory), columns_(columns) {}

    void add(const double* point);

    /// True if some survivor is <= `point` in every column.
    bool dominates(const double* point) const;

private:
    std::vector<double>& memory_;
    std::size_t columns_;
    std::size_t size_ = 0;
};

}  // namespace tessera::mapspace
