// Problem and architecture as the accounting needs them: plain numbers, resolved once.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "timeloop/model.hpp"

namespace tessera::timeloop {

inline constexpr int max_spaces = 16, max_dimensions = 16, max_ranks = 12;

struct LevelConstants {
    std::uint64_t block = 1, clusters = 1;
    int block_shift = 0;  ///< log2 of a block size that is a power of two, else -1
    double read_pj = 0, fill_pj = 0, update_pj = 0, addr_gen_pj = 0, leak_pj = 0;
    double demand_scale[max_spaces];  ///< bandwidth taken by a word of each data space
    double read_bandwidth = infinite, write_bandwidth = infinite, shared_bandwidth = infinite;
    bool bounded = false;
    std::uint64_t effective_size = 0;
    double least_used = 0;         ///< effective size times min-utilization
    bool doubled_updates = false;  ///< no reduction in place: partial sums travel both ways
    double hop_pj = 0, router_pj = 0, ingress_pj = 0;
    bool silent_network = true;   ///< all network energies 0
    double power_gate_share = 1;  ///< instances per instance of the gating level
    int power_gate_level = 0;

    static constexpr double infinite = std::numeric_limits<double>::infinity();
};

/// The most iterations of a loop nest that no counter overflows with, whatever the tiles are.
double most_iterations(const Problem& problem, const Architecture& architecture);
/// Of a nest: more than the problem has points where loops have a shorter last pass.
double iterations_of(const FlatMapping& flat);
/// \throws UserError without a place if a nest has more than `most`
void check_iterations(const FlatMapping& flat, double most);

struct Machine {
    /// \throws UserError from check_topology(), for more data spaces, dimensions, ranks or levels
    /// than the evaluators hold, or for counts that could overflow.
    Machine(const Problem& problem, const Architecture& architecture, const ModelOptions& options);

    int levels = 0, spaces = 0;
    std::vector<LevelConstants> level;
    DataSpaceMask read_write = 0;
    std::vector<DataSpaceMask> moving;  ///< per data space: dimensions that move its tile
    double compute_pj = 0, arithmetic_instances = 1;
    std::uint64_t network_latency = 0;
    double most_iterations = 0;      ///< that no counter overflows with
    std::vector<int> network_order;  ///< levels in the order of their networks' names
    bool silent_networks = true;     ///< on all levels
    bool first_read_elision = true;
    bool master = false;  ///< dialect with leakage

    bool writes(int space) const {
        return read_write >> space & 1;
    }
};

/// Sets `fit`, which is ok, where level `i` must not hold `used` scalars. \pre level.bounded
inline bool misfits(const LevelConstants& level, int i, std::uint64_t used, Fit& fit) {
    if (used > level.effective_size) {
        fit = {Fit::Kind::capacity, i, used, static_cast<double>(level.effective_size)};
    } else if (static_cast<double>(used) < level.least_used) {
        fit = {Fit::Kind::min_utilization, i, used, level.least_used};
    }
    return !fit.ok();
}

/// A data space that every level bypasses, or -1.
inline int kept_nowhere(int spaces, const FlatMapping& flat) {
    DataSpaceMask missing = (DataSpaceMask{1} << spaces) - 1;
    for (int i = 0; i < flat.level_count; ++i) {
        missing &= ~flat.keep[i];
    }
    return missing == 0 ? -1 : std::countr_zero(missing);
}

/// The level keeps the data space, and serves what is inside it from there (see
/// LevelMapping::no_coalesce).
inline bool gathers(const FlatMapping& flat, int level, int space) {
    return (flat.keep[level] & ~flat.no_coalesce[level]) >> space & 1;
}

/// -1: none
inline int outermost_gathering(int levels, const FlatMapping& flat, int space) {
    int level = levels - 1;
    while (level >= 0 && !gathers(flat, level, space)) {
        --level;
    }
    return level;
}

/// True if a temporal loop outside the outermost level that gathers `space` moves its tile: what
/// the level gives up is then nowhere.
inline bool forgets(const Machine& machine, const FlatMapping& flat, int space) {
    for (int i = flat.level_count - 1; i > 0 && !gathers(flat, i, space); --i) {
        for (int q = flat.level_end[i - 1]; q < flat.level_end[i]; ++q) {
            const Loop& loop = flat.loops[q];
            if (loop.kind == LoopKind::temporal && (machine.moving[space] >> loop.dimension & 1)) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace tessera::timeloop
