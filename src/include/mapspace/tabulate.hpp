// From explored templates to pmapping tables.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/arch/path.hpp"
#include "tessera/mapspace/pmapping_table.hpp"
#include "tessera/mapspace/template.hpp"
#include "tessera/mapspace/tile_shapes.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::mapspace {

/// Rows of one template: tile shapes (symbol-minor) and objectives.
struct TemplateRows {
    std::size_t rows = 0;
    std::vector<std::int64_t> tiles;  ///< rows x symbols
    std::vector<double> objectives;   ///< rows x objectives
    std::vector<double> busy;         ///< rows x components
};

/// What the explorer found, of the objectives the first ones, and the last ones as busy times.
void take_rows(const TileShapeResult& found, std::size_t symbols, std::size_t objectives,
               std::size_t busy, TemplateRows& rows);

/// What tabulate needs to know about the problem, per path.
struct TabulateContext {
    const arch::Path* path = nullptr;
    std::vector<int>
        component_of_level;  ///< path level -> index into Architecture::level_names
    std::vector<int>
        tracked_of_level;  ///< path level -> index of the tracked memory, -1: not tracked
    int n_tracked = 0;
    /// By how much each tracked memory is smaller for this Einsum: as if somebody else held that.
    std::vector<double> taken_bits;
    int n_objectives = 1, n_busy = 0;
    /// Partial tiles: equal trip counts do not make equal tile shapes, so both must agree.
    bool match_tile_shapes = false;
};

/// Sorts the rows into groups by their fused loops with a trip count above 1. Backed tensors carry
/// *local* tensor indices (see globalise_tensors). Needs the FormulaPool of `formulas` to be
/// current.
std::vector<PmappingGroup> tabulate(const TabulateContext& context, const Template& tmpl,
                                    const model::TemplateFormulas& formulas,
                                    const TemplateRows& rows, std::uint32_t template_index);

/// Tile shapes of the rows that the groups name, row-major; the groups name them by their new
/// numbers.
void keep_tiles(const TemplateRows& rows, std::size_t symbols, std::vector<PmappingGroup>& groups,
                std::vector<std::int32_t>& tiles);

/// Replaces local tensor indices by those of the workload.
void globalise_tensors(std::vector<PmappingGroup>& groups, const workload::EinsumView& einsum);

/// Concatenates groups of equal structure (first come, first placed) and prunes each.
std::vector<PmappingGroup> merge_groups(std::vector<PmappingGroup>&& groups);

/// The template with the row's tile shapes filled in; the fused loops with a trip count above 1
/// stand in the given order (positions -> loop of the group), null loops are left out.
mapping::Pmapping fill(const arch::Path& path, const Template& tmpl, const std::int64_t* tiles,
                       const std::vector<int>& order, const arch::Convention& convention);

}  // namespace tessera::mapspace
