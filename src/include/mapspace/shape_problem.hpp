// The tile-shape problem of a template.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mapspace/tabulate.hpp"
#include "tessera/mapspace/tile_shapes.hpp"

namespace tessera::mapspace {

/// What the pmappings of a problem are compared by.
struct ShapeContext {
    const model::Problem* problem = nullptr;
    const MapSpaceOptions* mapspace = nullptr;
    std::vector<TrackedMemory> tracked;
    bool want_energy = true, want_latency = true;
    /// Where Einsums may run at once: components whose busy times are compared, and then how long
    /// an Einsum takes alone.
    std::vector<std::string> busy = {};
    /// Busy times of a template by level of its path. Null: Einsums run in turn.
    std::vector<model::Formula> (*busy_s)(const model::Problem& problem, const arch::Path& path,
                                          const Template& tmpl) = nullptr;

    int n_busy() const {
        return busy_s == nullptr ? 0 : static_cast<int>(busy.size()) + 1;
    }
    int n_objectives() const {
        return (want_energy ? 1 : 0) + (want_latency ? 1 : 0);
    }
};

/// The least a memory would need over all tile shapes of all templates; explains infeasibility.
struct CapacityNeed {
    std::string memory;
    double needed_bits = 0, size_bits = 0;
};

/// Energy and latency, as far as the metric wants them.
std::vector<model::Formula> costs(const ShapeContext& c, const model::TemplateFormulas& f);

/// Most instances of a dimension, at most `most`, that loops can use whose trips divide the bounds:
/// the largest number not above it that divides their product. `most` where that is far below.
double most_instances(std::span<const std::int64_t> bounds, double most);

/// Bits in use of one memory over all its holders.
struct MemoryUse {
    int level = 0;
    model::Formula bits;
    /// But once what copies may unite: whether they do depends on other Einsums. `least`: nowhere
    /// above it, and without a minimum.
    model::Formula alone, least;
};
std::vector<MemoryUse> memory_uses(const workload::Workload& workload, const arch::Path& path,
                                   const model::TemplateFormulas& f);

/// What a problem has before there are formulas: symbols, loop bounds, limits of the mapspace. Of
/// loops over `uneven` variables only the most trips are limited.
void add_template_limits(const ShapeContext& c, const arch::Path& path, const Template& tmpl,
                         TileShapeProblem& p, workload::RankVariableMask uneven = 0);

/// The `min_usage` of dimensions, in the order in which they decide (C4 of docs/mapspace.md).
void add_best_effort(const arch::Path& path, const Template& tmpl, const model::TemplateFormulas& f,
                     TileShapeProblem& p);

/// Objectives: costs, the bits in use of every tracked memory, then busy times.
TileShapeProblem tile_shape_problem(const ShapeContext& c, const arch::Path& path,
                                    const Template& tmpl, const model::TemplateFormulas& f,
                                    const TabulateContext& table);

/// The same for bounds: costs alone, no best-effort conditions, and no limits that tile shapes with
/// prologues may not meet.
TileShapeProblem problem_of_bounds(const ShapeContext& c, const arch::Path& path,
                                   const Template& tmpl, const model::TemplateFormulas& f,
                                   const TabulateContext& table);

/// What best-effort conditions decide to, if some tile shapes may be partial: those that are not
/// decide (C4 of docs/mapspace.md), for partial tiles only add to the mapspace. None: no tile may.
std::optional<std::vector<double>> perfect_levels(const TileShapeProblem& problem,
                                                  TileShapeExplorer& explorer,
                                                  const TileShapeOptions& options);

/// Best-effort conditions become constraints: what they are known to decide to. Empty levels, of a
/// problem without legal rows, change nothing.
void fix_levels(const std::vector<double>& levels, TileShapeProblem& problem);

/// Least bits a template needs of each memory that it overfills even then.
std::vector<CapacityNeed> least_needs(const workload::Workload& workload, const arch::Path& path,
                                      const model::TemplateFormulas& f);

/// Loops are fused by their trips and tile shapes, not by trips alone.
bool matches_tile_shapes(const ShapeContext& c);

TabulateContext table_context(const ShapeContext& c, const arch::Path& path);

}  // namespace tessera::mapspace
