// A single-Einsum problem as Timeloop sees it: dimensions with bounds, data spaces with affine
// projections. Order matters: identifiers are positions. Plain values, no process-wide shape:
// several problems may live in one process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "sparsity/density.hpp"

namespace tessera::timeloop {

struct Dimension {
    std::string name;  ///< one character in Timeloop's files; any name for native workloads
    std::int64_t bound = 1;
};

/// A named coefficient of the projections (`Wstride`), already resolved.
struct Coefficient {
    std::string name;
    std::int64_t value = 1;
};

/// One addend `value * index(dimension)` of a rank.
struct Term {
    int dimension = 0;
    std::int64_t value = 1;
    int coefficient = -1;  ///< position in Problem::coefficients, or -1 if it has no name
};

struct DataSpace {
    std::string name;
    std::vector<std::vector<Term>> ranks;
    bool read_write = false;
    sparsity::DensitySpec density = {};  ///< changes no dense number
};

/// Positions along a rank where its dimensions go `steps(dimension)` beyond their first value each.
template <class N, class Steps>
N rank_extent(const std::vector<Term>& rank, const Steps& steps) {
    N extent = 1;
    for (const Term& term : rank) {
        extent += static_cast<N>(std::abs(term.value)) * steps(term.dimension);
    }
    return extent;
}

/// Position of the first item of this name; -1 if absent.
template <class Items>
int position_of(const Items& items, const std::string& name) {
    const auto found = std::find_if(items.begin(), items.end(),
                                    [&](const auto& item) { return item.name == name; });
    return found == items.end() ? -1 : static_cast<int>(found - items.begin());
}

struct Problem {
    std::string name;
    std::vector<Dimension> dimensions;
    std::vector<DataSpace> data_spaces;
    std::vector<Coefficient> coefficients;

    int find_dimension(const std::string& wanted) const {  ///< -1 if absent
        return position_of(dimensions, wanted);
    }
    int find_data_space(const std::string& wanted) const {  ///< -1 if absent
        return position_of(data_spaces, wanted);
    }
    /// Product of all bounds.
    double computes() const {
        double product = 1;
        for (const Dimension& dimension : dimensions) {
            product *= static_cast<double>(dimension.bound);
        }
        return product;
    }
};

}  // namespace tessera::timeloop
