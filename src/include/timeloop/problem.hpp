// A single-Einsum problem as Timeloop sees it: dimensions with bounds, data spaces with affine
// projections. Order matters: identifiers are positions. Plain values, no process-wide shape:
// several problems may live in one process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
    double density = 1;  ///< changes no dense number; below 1 only matters to sparse models
};

struct Problem {
    std::string name;
    std::vector<Dimension> dimensions;
    std::vector<DataSpace> data_spaces;
    std::vector<Coefficient> coefficients;

    int find_dimension(const std::string& name) const;   ///< -1 if absent
    int find_data_space(const std::string& name) const;  ///< -1 if absent
    /// Product of all bounds.
    double computes() const;
    /// Scalars in the bounding box of a data space (skipped points of strided ranks included).
    double tensor_size(int data_space) const;
};

}  // namespace tessera::timeloop
