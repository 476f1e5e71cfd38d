// A mapping with its costs for people and for other programs: the JSON of `tessera map --json`, the
// LoopTree as text and as a drawing. docs/output.md says what stands in the JSON.
//
// Thread rule: pure. Errors: UserError, IllegalMapping if the mapping is none of the problem.
#pragma once

#include <string>

#include "tessera/library.hpp"

namespace tessera {

/// One entry of "mappings" in result.json: totals in J and s, then Einsums, components, tensors and
/// actions, a summary, and the tree with sizes. `solution.report`: of `solution.mapping`
std::string to_json(const Problem& problem, const mapper::Solution& solution);

/// The same without summary and tree.
std::string to_json(const model::Report& report);

/// Indented text, one node a line, with trip counts and sizes of tiles.
std::string to_text(const Problem& problem, const mapper::Solution& solution);

/// A self-contained SVG drawing of the LoopTree, as in a run's looptree.svg.
std::string to_svg(const Problem& problem, const mapper::Solution& solution);

/// The mapping as the hardware runs it: in memories with `on_overflow: bypass` what does not fit is
/// left out. evaluate() and explain() speak of this one.
mapping::Mapping as_run(const Problem& problem, const mapping::Mapping& mapping);

/// YAML of the mapping that AccelForge reads: one branch for each Einsum.
std::string to_accelforge_yaml(const Problem& problem, const mapping::Mapping& mapping);

}  // namespace tessera
