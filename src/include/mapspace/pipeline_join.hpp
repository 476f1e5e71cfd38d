// Joining pmapping tables into LoopTrees whose branches may run at once (docs/pipelines.md,
// section 6).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/mapspace/join.hpp"
#include "tessera/mapspace/pmapping_table.hpp"
#include "tessera/workload/einsum_view.hpp"

namespace tessera::mapspace {

/// A memory whose size depends on the Einsum, as an Einsum sees it.
struct OwnSize {
    double taken_bits =
        0;             ///< by how much it is smaller than the largest; of its computes the most
    double share = 1;  ///< the largest size as a multiple of it; of its computes the least
};

struct PipelineJoinOptions {
    EinsumOrder order = EinsumOrder::file;
    JoinGoal goal = JoinGoal::single;  ///< single: latency; edp: energy and latency
    int threads = 1;
    /// Value of the goal: mappings that cost more are of no use.
    double cutoff = 0;
    std::size_t completion_sums = 0;  ///< as JoinOptions
    bool match_tile_shapes = false;   ///< as in the TabulateContext of the groups
    /// > 0: given up once a step keeps more rows.
    std::size_t most_rows = 0;
    /// Given up once so many rows were put together.
    std::uint64_t most_pairs = 0;
    /// By memory and Einsum; no Einsums: one size for all. Where sizes differ, what runs at once is
    /// relaxed: the shares of its branches add up, nobody else counts.
    std::vector<std::vector<OwnSize>> own_sizes;
    std::function<void(int joined, std::size_t states, std::size_t rows)> progress;
};

struct PipelinedMapping {
    JoinedMapping mapping;  ///< energy, if it is asked for, and latency with pipelines
    /// Positions [begin, end) in mapping.einsums whose branches run at once, two or more each.
    std::vector<std::pair<int, int>> at_once;
};

struct PipelineJoinResult {
    std::optional<PipelinedMapping> best;  ///< none: nothing costs as little as the cutoff
    bool given_up = false;
    bool all_orders = true;  ///< false: too many orders, the file's alone was joined
    std::uint64_t rows_joined = 0, rows_kept = 0;
};

/// The best mapping with pipelines, of a relaxation: components without a column are never too
/// busy, memories that are not tracked hold whatever runs at once. `groups[e]`: as for join(), with
/// busy times; in place of the latency a weighted sum of these, whose weights add up to 1. Without
/// running states. Deterministic for any number of threads. \throws base::Stopped
PipelineJoinResult join_pipelines(const workload::Workload& workload,
                                  const std::vector<std::vector<PmappingGroup>>& groups,
                                  const std::vector<TrackedMemory>& memories,
                                  const PipelineJoinOptions& options);

}  // namespace tessera::mapspace
