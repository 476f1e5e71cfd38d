// Native problems in Timeloop's terms: one Einsum, the path to its compute and its pmapping become
// a problem, a chain of storage levels and a mapping. What Timeloop's model cannot express is
// refused, naming the place and why.
#pragma once

#include <span>
#include <vector>

#include "tessera/mapping/pmapping.hpp"
#include "tessera/timeloop/model.hpp"

namespace tessera::model {

struct NativeCase {
    timeloop::Problem problem;
    timeloop::Architecture architecture;
    timeloop::Mapping mapping;
    timeloop::ModelOptions options;
    std::vector<int> memories;               ///< path level of every storage level, innermost first
    std::vector<double> actions_per_vector;  ///< per storage level
    double cycle_s = 0;                      ///< time of one compute
    bool leaks = false;                      ///< the hardware leaks, which is not counted
};

/// \throws UserError for hardware or an Einsum without a Timeloop equivalent, IllegalMapping for
/// such a mapping.
NativeCase native_case(const arch::Path& path, std::span<const mapping::PmappingNode> nodes);

/// The spatial dimensions between two memories that have more than one instance, at most two.
struct FanoutDim {
    int level = 0, dim = 0;  ///< in the path
};
std::vector<FanoutDim> gap_dims(const arch::Path& path, int outer, int inner);

/// One step of native_case(); `native` has problem, architecture and memories.
timeloop::Mapping native_mapping(const arch::Path& path,
                                 std::span<const mapping::PmappingNode> nodes,
                                 const NativeCase& native);

}  // namespace tessera::model
