// Timeloop's input files as Timeloop's types.
//
//   read_document      files -> one tree (document.hpp)
//   read_input         tree -> problem, architecture with energies, mapping, constraints, settings
//
// Every function throws UserError with file, line, column, key path, value, what was expected and
// what to do; what is merely doubtful becomes a warning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "timeloop/architecture.hpp"
#include "timeloop/constraints.hpp"
#include "timeloop/document.hpp"
#include "timeloop/energy.hpp"
#include "timeloop/mapper_settings.hpp"
#include "timeloop/mapping.hpp"
#include "timeloop/problem.hpp"

namespace tessera::timeloop {

using Warnings = std::vector<std::string>;

/// `problem`: a shape (written out, or the name of a file in the folders of
/// TIMELOOP_PROBLEM_SHAPE_DIR, TIMELOOP_PROBLEM_SHAPE_DIRS, TIMELOOP_DIR/problem-shapes, or of
/// ours) and the bounds of its dimensions.
Problem read_problem(const Document& document, Warnings& warnings);

/// `arch` or `architecture`, a list of levels or a tree, with energies from what the input says
/// and, where it says nothing, from the built-in tables. The ERT is not applied.
Architecture read_architecture(const Document& document, Warnings& warnings);

/// `ERT` and `ART`, if there are any.
std::optional<Ert> read_ert(const Document& document, Warnings& warnings);
std::optional<Art> read_art(const Document& document, Warnings& warnings);

/// `mapping`, if there is one. The factors are checked against the bounds.
std::optional<Mapping> read_mapping(const Document& document, const Problem& problem,
                                    const Architecture& architecture, Warnings& warnings);

/// Everything in `architecture_constraints` (`arch_constraints`, `constraints` of the
/// architecture), `mapspace` and `mapspace_constraints`.
Constraints read_constraints(const Document& document, const Problem& problem,
                             const Architecture& architecture, Warnings& warnings);

/// `mapper` and the template of `mapspace`; defaults without them.
MapperSettings read_mapper_settings(const Document& document, const Architecture& architecture,
                                    Warnings& warnings);

/// `model`.
struct ModelSettings {
    bool verbose = false;
    /// A level that a mapping's tiles do not fit into keeps nothing instead of failing.
    bool auto_bypass_on_failure = false;
    std::string out_prefix = "timeloop-model";
};
ModelSettings read_model_settings(const Document& document, Warnings& warnings);

/// The name of a component without its range (`PE[0..15]` -> `PE`) and how many it stands for.
struct ComponentName {
    std::string name;
    std::int64_t count = 1;
};
/// \throws UserError
ComponentName component_name_of(const spec::Node& node, const std::string& text);

}  // namespace tessera::timeloop
