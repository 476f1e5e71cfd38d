// Semi-join of pmapping tables: what cannot be joined with anything is dropped before the join.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/mapspace/join.hpp"

namespace tessera::mapspace {

/// Drops rows of `groups[e]` (one list per Einsum) that hold a fusable tensor as no row of another
/// Einsum that accesses it does (memory, depth, ranks and trip counts of the loops above), or that
/// cannot beat one of the `incumbents` (objective vectors, compared as join() does) together with
/// the cheapest rows that do as they do; and groups that are left empty. Returns the number of rows
/// dropped. Thread rule: none; pure function.
std::size_t drop_rows_without_partners(const workload::Workload& workload,
                                       std::vector<std::vector<PmappingGroup>>& groups,
                                       JoinGoal goal,
                                       const std::vector<std::vector<double>>& incumbents);

}  // namespace tessera::mapspace
