// The pmapping of one Einsum inside a fused tree: given the loops around and what stays on chip,
// the rest follows by fixed rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/mapping/pmapping.hpp"

namespace tessera::transfusion {

/// A temporal loop around an Einsum; one that hands on all that it gets is left out.
struct LoopPlan {
    std::string variable;
    std::int64_t tile = 1;
};

/// An intermediate that never leaves the chip: its outermost holder is in the buffer, above loop
/// number `depth` of the plan.
struct KeepPlan {
    std::string tensor;
    int depth = 0;
};

/// What stands around one Einsum.
struct ChainPlan {
    std::vector<LoopPlan> shared;  ///< with its neighbours, outermost first
    std::vector<LoopPlan> own;     ///< further in
    std::vector<KeepPlan> kept;
    /// Other tensors that stand in the buffer above this loop, whatever `resident` says.
    std::vector<KeepPlan> held;
    /// Weights: tensors that stay in the buffer above all loops that do not index them.
    bool resident = false;
};

/// Loops and holders in this order: outermost memory; shared and own loops, with each intermediate
/// above its loop, and each other tensor in the buffer below the last loop that indexes it
/// (`resident`) or below all loops; then loops over the indices of the outputs, the fan-outs,
/// the registers that must keep outputs, the reductions.
///
/// A fan-out takes the largest divisors of what is left of the variables: those of the outputs
/// first, then reductions; never an iterative variable whose states the Einsum accesses.
/// \pre the path has a memory inside its outermost one. \throws UserError if it has none.
mapping::Pmapping chain(const arch::Path& path, const ChainPlan& plan);

/// Loops of the plan that are not null for these bounds: what neighbours share.
int loops_of(const workload::EinsumView& einsum, const std::vector<LoopPlan>& loops);

/// The memory next to the outermost one. \throws UserError
int buffer_level(const arch::Path& path);

}  // namespace tessera::transfusion
