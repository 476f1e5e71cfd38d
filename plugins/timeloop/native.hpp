// Native problems in Timeloop's terms: one Einsum, the path to its compute and its pmapping become
// a problem, a chain of storage levels and a mapping. What Timeloop's model cannot express is
// refused, naming the place and why.
#pragma once

#include <span>
#include <vector>

#include "tessera/mapping/pmapping.hpp"
#include "timeloop/constraints.hpp"
#include "timeloop/model.hpp"

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

/// The same without a mapping. \throws UserError
NativeCase native_hardware(const arch::Path& path);

/// The spatial dimensions between two memories that have more than one instance, at most two.
struct FanoutDim {
    int level = 0, dim = 0;  ///< in the path
};
std::vector<FanoutDim> gap_dims(const arch::Path& path, int outer, int inner);
/// Those below the memory at `i` of NativeCase::memories, down to the next inner one or the
/// compute.
std::vector<FanoutDim> fanout_below(const arch::Path& path, const std::vector<int>& memories,
                                    int i);

/// One step of native_case(); `native` has problem, architecture and memories.
timeloop::Mapping native_mapping(const arch::Path& path,
                                 std::span<const mapping::PmappingNode> nodes,
                                 const NativeCase& native);

/// What spatial loops do not share although Timeloop would.
struct Reuse {
    arch::TensorMask separate = 0;  ///< sent to (reduced from) every instance on its own
    arch::TensorMask no_links = 0;  ///< not handed on between neighbours
};
/// `loops`: per dimension, the variables that have loops along it. \throws IllegalMapping if a
/// tensor is shared along one dimension and must not be along the other: Timeloop has one switch.
Reuse spatial_reuse(const arch::Path& path, const std::vector<FanoutDim>& dims,
                    const std::vector<arch::RankVariableMask>& loops);

/// The way back: nodes that native_mapping() turns into `mapping`.
mapping::Pmapping to_pmapping(const arch::Path& path, const NativeCase& native,
                              const timeloop::Mapping& mapping);

/// The same mapping for other cost models. In Timeloop a tile stays in place while the loops next
/// outside do not index its tensor; a LoopTree says so by a holder that stands above them. Spatial
/// loops come before the temporal ones of their memory, so that inner holders can stand between.
mapping::Pmapping to_raised_pmapping(const arch::Path& path, const NativeCase& native,
                                     const timeloop::Mapping& mapping);

/// Mapper options of the hardware as Timeloop's constraints: which memories must hold what, what
/// loops spatial dimensions may carry. Several, if rank variables may go along either of two
/// dimensions: every mapping obeys one of them. The outermost memory holds every tensor.
/// \throws UserError for what Timeloop's constraints cannot say.
std::vector<timeloop::Constraints> native_constraints(const arch::Path& path,
                                                      const NativeCase& native);

}  // namespace tessera::model
