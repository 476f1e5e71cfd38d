#pragma once

// What the fused loops of a template look like to the join. Rows of one template differ in which of
// them are null (trip count 1): a bit mask, and one structure for each.

#include <cstdint>
#include <vector>

#include "mapspace/tabulate.hpp"

namespace tessera::mapspace {

/// A fused loop of the template and the loop that encloses it over the same variable.
struct FusedNode {
    int node = 0;
    int outer = -1;  ///< index into the list of fused loops, -1: the bound
};

std::vector<FusedNode> fused_nodes(const Template& tmpl);

std::int64_t tile_of(const mapping::PmappingNode& n, const std::int64_t* tiles);

/// Trip counts of the fused loops for one row.
void trips_of(const arch::Path& path, const Template& tmpl, const std::vector<FusedNode>& fused,
              const std::int64_t* tiles, std::vector<std::int64_t>& trips);

/// What must agree of a loop on both sides of a join (PmappingGroup::trips).
std::int64_t match_key(const TabulateContext& context, const mapping::PmappingNode& loop,
                       std::int64_t trips, const std::int64_t* tiles);
/// Its trips.
std::int64_t trips_of_key(bool match_tile_shapes, std::int64_t key);

/// Depths (non-null fused loops above) of every node and of every number of loops, for one null
/// pattern.
struct Depths {
    std::vector<int> of_node;
    std::vector<int> of_loops;  ///< loops above, null ones included -> depth
};

Depths depths_of(const Template& tmpl, std::uint32_t mask);

/// Loops and shared tensors of one null pattern, with the breaks that holders make.
GroupStructure structure_of(const TabulateContext& c, const Template& tmpl,
                            const std::vector<FusedNode>& fused, std::uint32_t mask,
                            const Depths& depths);

/// The breaks that reservations make.
void add_breaks(const model::TemplateFormulas& formulas, const Depths& depths,
                GroupStructure& structure);

}  // namespace tessera::mapspace
