// Timeloop's input files as Timeloop's types.
//
//   read_document      files -> one tree
//   read_...           tree -> problem, architecture, mapping, constraints, settings
//   load_input         tree -> problem and architecture with its energies, ready for the model
//
// Every function throws UserError with file, line, column, key path, value, what was expected and
// what to do; what is merely doubtful becomes a warning, and so does every key that no reader
// knows.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/spec/node.hpp"
#include "timeloop/architecture.hpp"
#include "timeloop/constraints.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop/mapping.hpp"
#include "timeloop/model.hpp"
#include "timeloop/problem.hpp"

namespace tessera::timeloop {

using Warnings = std::vector<std::string>;

// ---- One tree, before anything is made of it ------------------------------------------------

enum class Format : std::uint8_t { yaml, libconfig };

/// Several files read as one, as Timeloop does: their contents one after the other, parsed once.
/// Of equal keys the first counts; what follows a second `---` is not read. Positions name the
/// file each value stands in. A value type.
struct Document {
    spec::Node root;  ///< a map; paths assigned
    Format format = Format::yaml;
    Dialect dialect = Dialect::v3_0_3;
    std::vector<std::string> files;
    std::vector<std::string> warnings;  ///< what was left out, with places
    bool from_nodes = false;            ///< the architecture was flattened from `nodes`
};

/// Reads `files` in order. The name of the first decides the format: `.cfg` anywhere in it means
/// libconfig, `.yml` or `.yaml` YAML. Architectures of version 0.4 given as `nodes` are flattened
/// by the rules of Timeloop's Python front end.
///
/// The dialect is the value of the environment variable TESSERA_TIMELOOP_DIALECT (`3.0.3` or
/// `master`). Unset: master if the input was made by the Python front end, or if it has no key
/// spelled with hyphens but some with underscores or version 0.4; else 3.0.3.
///
/// `defines` replace values of the top-level `variables`, the only parameters of these files.
/// \throws UserError, also for a name that `variables` lacks
Document read_document(const std::vector<std::string>& files, const spec::Defines& defines = {});

/// The same for text in memory; `name` decides the format.
Document read_document_text(std::string_view text, const std::string& name);

/// Whether a file looks like Timeloop's: libconfig or YAML with `problem`, `architecture`, or one
/// of the other top-level keys of Timeloop, and none of the native ones. Unreadable files: no.
bool is_timeloop_file(const std::string& path);
/// Whether a file that does not look like Timeloop's may hold sections of both tools (`mapper`,
/// `variables`, ...), and so is one of Timeloop's where others are.
bool fits_beside_timeloop(const std::string& path);

/// Equal names but for `-` and `_`.
bool same_key(std::string_view left, std::string_view right);

/// The value of a key in either spelling, or nullptr (also if `map` is none).
const spec::Node* find_key(const spec::Node& map, std::string_view key);

// ---- Parts of the tree ----------------------------------------------------------------------

/// `problem`: a shape (written out, or the name of a file in the folders of
/// TIMELOOP_PROBLEM_SHAPE_DIR, TIMELOOP_PROBLEM_SHAPE_DIRS, TIMELOOP_DIR/problem-shapes, or of
/// ours) and the bounds of its dimensions.
Problem read_problem(const Document& document, Warnings& warnings);

/// `arch` or `architecture`, a list of levels or a tree, with energies from what the input says
/// and, where it says nothing, from the built-in tables. The ERT is not applied.
Architecture read_architecture(const Document& document, Warnings& warnings);

/// `sparse_optimizations`; nothing where it optimizes nothing. What reads an architecture to cost
/// something puts the result into it.
std::optional<SparseDesign> read_sparse(const Document& document, const Problem& problem,
                                        const Architecture& architecture, Warnings& warnings);

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

// ---- The whole ------------------------------------------------------------------------------

/// Where the energies of an input came from.
enum class EnergyOrigin : std::uint8_t {
    input,      ///< an `ERT` of the input
    accelergy,  ///< the program `accelergy`, called for this input
    tables,     ///< the built-in tables, with a warning for every level
};

/// Problem and architecture refer to nothing else in here.
struct Input {
    Document document;
    Problem problem;
    Architecture architecture;  ///< with its energies
    EnergyOrigin energies = EnergyOrigin::tables;
    bool has_art = false;  ///< the input says areas
    ModelOptions model;    ///< from the environment variables of Timeloop
    Warnings warnings;
};

/// `accelergy_prefix`: folder and prefix (`out/timeloop-model`) of what `accelergy` writes; empty:
/// it is not called. It is called as Timeloop calls it, if it is on PATH (or in ACCELERGYPATH), the
/// architecture is a tree and the input has no `ERT`.
/// \throws UserError, also for inputs that no model of ours costs (sparse optimisations, ...).
Input load_input(Document document, const std::string& accelergy_prefix = "");

/// Reads whatever a document holds: problem, architecture, ERT, ART and, where both problem and
/// architecture are there, constraints, mapper and mapping. \return the names of what was read
/// \throws UserError, also if there is nothing of Timeloop's
std::vector<std::string> check_document(const Document& document, Warnings& warnings);

/// Only the constraints of the hardware, without bypasses: what Timeloop's model checks a mapping
/// against. One text per broken constraint; what is doubtful about the constraints themselves goes
/// to `warnings`.
std::vector<std::string> broken_constraints(const Input& input, const Mapping& mapping,
                                            Warnings& warnings);

/// ERT and ART with the energies and areas in use, in the grammar of inputs.
void write_ert(std::ostream& out, const Architecture& architecture);
void write_art(std::ostream& out, const Architecture& architecture);

/// Runs `body`; an error of it that names no place is one of the section at `where`.
template <class Body>
auto with_place(const Position& where, const Body& body) {
    try {
        return body();
    } catch (const UserError& error) {
        if (error.position()) {
            throw;
        }
        throw UserError(where, error.what());
    }
}

}  // namespace tessera::timeloop
