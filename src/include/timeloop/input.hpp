// A whole Timeloop input, ready for the model or the mapper.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "timeloop/model.hpp"
#include "timeloop/read.hpp"

namespace tessera::timeloop {

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
/// against. One text per broken constraint.
std::vector<std::string> broken_constraints(const Input& input, const Mapping& mapping);

/// ERT and ART with the energies and areas in use, in the grammar of inputs.
void write_ert(std::ostream& out, const Architecture& architecture);
void write_art(std::ostream& out, const Architecture& architecture);

}  // namespace tessera::timeloop
