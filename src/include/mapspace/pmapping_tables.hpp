// Pmapping tables of whole Einsums: every Pareto-optimal pmapping, whatever the other Einsums do.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "mapspace/shape_problem.hpp"
#include "mapspace/tracked_memories.hpp"

namespace tessera::mapspace {

struct EinsumTable {
    /// One for each structure; rows that no other row with the same trip counts dominates. Tensors
    /// are the workload's.
    std::vector<PmappingGroup> groups;
    std::vector<std::vector<std::int32_t>> tiles;  ///< by template: source_row names them
    double evaluated = 0;                          ///< tile-shape rows looked at
    /// Of these, on the way to the pmappings of one structure with the same trip counts: those of
    /// each template are shared out equally among the rows that came of it.
    std::map<GroupStructure, std::map<std::vector<std::int64_t>, double>> evaluated_for;
};

struct TableOptions {
    int threads = 1;
    std::uint64_t most_rows = 0;  ///< of all Einsums together, before templates are compared
};

/// One table for each Einsum. Deterministic for any number of threads. \throws LimitReached if
/// there are more rows than `most_rows`, base::Stopped
std::vector<EinsumTable> pmapping_tables(const ShapeContext& c, const model::CostModel& model,
                                         const std::vector<EinsumTemplates>& einsums,
                                         const TableOptions& options);

}  // namespace tessera::mapspace
