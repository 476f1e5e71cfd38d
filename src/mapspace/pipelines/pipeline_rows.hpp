// States of the join of pipelines and their rows. A state is closed, as in the join of Einsums in
// turn; or its last Einsums are branches of a pipeline that may have more of them.
#pragma once

#include <cstdint>
#include <vector>

#include "mapspace/join/join_rows.hpp"
#include "mapspace/join_state.hpp"
#include "mapspace/pipeline_join.hpp"
#include "tessera/workload/einsum_view.hpp"

namespace tessera::mapspace::detail {

/// A buffer that branches of a pipeline use, of a tensor that Einsums exchange.
struct PipelineBuffer {
    int tensor = 0;  ///< whose buffer it is, where copies share one
    int tracked = -1;
    int depth = 0;            ///< loops that all its users run inside
    int first = 0, last = 0;  ///< stages of its users

    auto operator<=>(const PipelineBuffer&) const = default;
};

/// The pipeline that is being put together; none: no branches.
struct OpenPipeline {
    std::vector<int> branches;  ///< Einsums, in the order in which they are joined
    int before = 0;             ///< loops shared with the Einsum before the first branch
    int split = -1;             ///< loops around all branches; one branch: not known yet
    std::vector<PipelineBuffer> buffers;

    auto operator<=>(const OpenPipeline&) const = default;
};

/// Columns of a state row. Closed:
///   costs, held and peak by memory and depth, | size of live tensors
/// with a pipeline of so many stages, before held and peak:
///   busy[stage][u]  how long its branches keep component u busy, all iterations; the last one: how
///                   long the slowest branch takes alone
///   room[m]         what memory m holds while it runs, each tile once
///   tile[b]         bits of a buffer that its branches use
/// and last, the weighted sum of the busy times. Columns after the bar are not compared.
struct PipelineLayout {
    int costs = 1, stages = 0, components = 0, memories = 0, buffers = 0;
    int n = 0, live = 0;  ///< open loops, live tensors

    int latency() const {
        return costs - 1;
    }
    int busy(int stage) const {
        return costs + stage * components;
    }
    int room(int memory) const {
        return costs + stages * components + memory;
    }
    int tile(int buffer) const {
        return costs + stages * components + (stages > 0 ? memories : 0) + buffer;
    }
    int held(int memory, int depth) const {
        return tile(buffers) + memory * (2 * n + 3) + depth + 1;
    }
    int peak(int memory, int depth) const {
        return tile(buffers) + memory * (2 * n + 3) + n + 2 + depth;
    }
    int compared() const {
        return tile(buffers) + memories * (2 * n + 3);
    }
    int size(int tensor) const {
        return compared() + tensor;
    }
    int weighted() const {
        return compared() + live;
    }
    int stride() const {
        return compared() + live + 1;
    }
};

/// Rows that share a pipeline that is being put together, too.
struct PipelineState : StateRows<PipelineLayout> {
    OpenPipeline open;
};

/// The data flow between Einsums.
class Stages {
public:
    explicit Stages(const workload::Workload& workload);

    /// Of each branch, as low as the data flow allows.
    std::vector<int> of(const std::vector<int>& branches) const;

private:
    std::vector<std::vector<char>> reads_;  ///< [reader][writer]
};

/// One way to append an Einsum: as a branch of the left state's pipeline, or by itself.
struct PipelinePlan {
    JoinPlan join;
    bool branch = false;      ///< of the pipeline that the left state has
    OpenPipeline open;        ///< with the Einsum
    bool may_go_on = false;   ///< the pipeline may have more branches
    std::vector<int> stages;  ///< by branch
    int outside = 0;          ///< loops around it that others share, if it ends here
    /// By buffer of `open`: in the left state's list, -1: none; and in the right group's tensors.
    std::vector<int> tile_left;
    std::vector<std::vector<int>> tile_right;

    int n_stages() const;
};

/// A state and a group of pmappings.
struct PipelinePairing {
    const PipelineState& left;
    const PmappingGroup& right;
    const PipelinePlan& plan;
    std::uint32_t left_index = 0, right_index = 0, plan_index = 0;
    bool match_tile_shapes = false;
    /// By memory, of the right Einsum; null: of one size.
    std::vector<const OwnSize*> own_sizes;
};

/// What both kinds of a joined state get from a pairing.
struct PipelineRows {
    PipelineState closed, open;
    std::uint64_t pairs = 0;
};

/// Joins every left row with every matching right row; pruned.
void combine(const PipelinePairing& pairing, const std::vector<TrackedMemory>& memories,
             const StepBound& bound, PipelineRows& out);

}  // namespace tessera::mapspace::detail
