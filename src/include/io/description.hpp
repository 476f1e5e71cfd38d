// What is told of a mapping beside its costs.
#pragma once

#include "io/fused_groups.hpp"
#include "io/mapping_notes.hpp"
#include "io/report_json.hpp"
#include "io/summary.hpp"

namespace tessera::io {

/// `notes`: one for each node of the tree.
struct Description {
    Summary summary;
    FusionSummary fusion;
    std::vector<std::vector<std::string>> fused_groups;
    std::vector<NodeNote> notes;
};

/// All of it from one split of the tree: building the paths of many Einsums takes as long as a
/// short search. `report`: of this mapping. Thread rule: pure.
/// \throws what mapping::split() throws
Description describe(const model::Problem& problem, const mapping::Mapping& mapping,
                     const model::Report& report);

/// One entry of "mappings" with fused groups, summary and tree.
Json solution_json(const mapping::Mapping& mapping, const model::Report& report,
                   const Description& description);

}  // namespace tessera::io
