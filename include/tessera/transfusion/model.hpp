// Latency and energy of a transformer layer under five ways to map it: closed forms of
// TransFusion's published evaluation, its simplifications included.
//
// docs/transfusion.md has the formulas and what each simplification is worth.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/schedule/dpipe.hpp"
#include "tessera/transfusion/problem.hpp"

namespace tessera::transfusion {

enum class Method : std::uint8_t { unfused, flat, fusemax, fusemax_layerfuse, transfusion };
inline constexpr std::array methods = {Method::unfused, Method::flat, Method::fusemax,
                                       Method::fusemax_layerfuse, Method::transfusion};
const char* name(Method method);

/// Parts of a layer, which run one after the other.
enum class Phase : std::uint8_t { qkv, attention, norm, feed_forward };
inline constexpr std::size_t phase_count = 4;
const char* name(Phase phase);

enum class Unit : std::uint8_t { array_2d, array_1d };
inline constexpr std::size_t unit_count = 2;

/// How often each dimension is tiled in DRAM, the number of tiles. Heads and head dimensions stay
/// whole on the chip; d is the width of the layer's input in the projections.
struct OuterTiles {
    std::int64_t b = 1, d = 1, m = 1, p = 1, s = 1;

    friend bool operator==(const OuterTiles&, const OuterTiles&) = default;
};

/// One Einsum, all its tiles together.
struct EinsumCost {
    std::string name;
    Unit unit = Unit::array_2d;
    double compute_s = 0;
    double dram_bytes = 0;
    double dram_s = 0;
    double lane_share = 0;                       ///< of the unit's lanes that it uses
    double buffer_reads = 0, buffer_writes = 0;  ///< words of the on-chip buffer

    /// Compute and DRAM overlap: the longer one counts.
    double latency_s() const {
        return compute_s > dram_s ? compute_s : dram_s;
    }
};

/// Operations of a phase; a maximum is free in the published energies.
struct Operations {
    double mac = 0, add = 0, divide = 0, max = 0;
};

struct PhaseCost {
    double latency_s = 0;
    std::vector<EinsumCost> einsums;
    Operations operations;
    /// When each Einsum starts in a round, of which the phase is made; empty: one after the other.
    std::vector<double> start_s;
    std::vector<int> stage;  ///< likewise: it works on the tile of so many rounds ago
    /// Method transfusion only: who runs when. Otherwise no tasks.
    schedule::Dag dag;
    schedule::Schedule schedule;

    double dram_bytes() const;
    /// Seconds in which the unit's lanes would be busy if all of them were used.
    double busy_s(Unit unit) const;
};

struct Cost {
    std::array<PhaseCost, phase_count> phases;     ///< of one layer with one norm
    double latency_s = 0;                          ///< of the whole stack
    std::array<double, unit_count> utilisation{};  ///< of the whole stack
    /// Of one encoder layer with one norm, whatever the stack: so the published totals count.
    /// Without registers, whose share is below 0.1 %.
    double dram_j = 0, buffer_j = 0, compute_j = 0;

    double energy_j() const {
        return dram_j + buffer_j + compute_j;
    }

    const PhaseCost& phase(Phase one) const {
        return phases[static_cast<std::size_t>(one)];
    }
};

struct Settings {
    schedule::Mode pipeline = schedule::Mode::paper;
    /// Whether the 2D array can take maxima of scores. The published evaluation forbids it to
    /// TransFusion and its baselines; the artifact of FuseMax allows it.
    bool maximum_on_2d = false;
};

/// Outer tiles of `fusemax_layerfuse` and `transfusion`; other methods read none of them, the
/// former only d. Query tiles of the others are as large as fits (baseline_tiles()). \pre
/// check(problem) passed. Thread-safe. \throws UserError if a tile count is below 1.
Cost evaluate(const Problem& problem, Method method, const OuterTiles& tiles,
              const Settings& settings = {});

/// Unit of each Einsum of each phase, in the order of PhaseCost::einsums. Empty: the method's own
/// choice.
using Binding = std::array<std::vector<Unit>, phase_count>;

/// The same for a given mapping: query tiles p of baselines are read, too, and `transfusion` takes
/// the given binding (those of the others are fixed and not read). \throws UserError as above;
/// IllegalMapping for an Einsum on a unit that cannot run it.
Cost evaluate_bound(const Problem& problem, Method method, const OuterTiles& tiles,
                    const Binding& binding, const Settings& settings = {});

/// Outer tiles that the published evaluation gives a method without TileSeek: query tiles p as
/// large as fits beside the least key tiles, and for `fusemax_layerfuse` the least d with which
/// the projections fit beside them. \throws UserError as check()
OuterTiles baseline_tiles(const Problem& problem, Method method);

/// FuseMax's own formula for attention, without DRAM: maxima on the 2D array, one head at a time.
double fusemax_artifact_attention_s(const Problem& problem);

/// How often every phase runs in the stack.
std::array<double, phase_count> phase_runs(const Stack& stack);

}  // namespace tessera::transfusion
