// Where energies and areas come from: Accelergy's tables (ERT, ART), a value of the user, or
// Timeloop's built-in technology tables ("pat").
#pragma once

#include <string>
#include <vector>

#include "timeloop/dialect.hpp"

namespace tessera::timeloop {

struct Architecture;

/// Energies of one storage level, in pJ per vector access.
struct StorageEnergy {
    double vector_access_pj = 0;  ///< printed; used for an operation that the ERT lacks
    double read_pj = 0, fill_pj = 0, update_pj = 0;
    double leak_pj = 0;          ///< per instance and cycle; dialect master only
    std::string source = "PAT";  ///< PAT, ERT or user
};

struct ErtAction {
    std::string name;
    double energy_pj = 0;  ///< the highest one if the table lists several
};

struct ErtComponent {
    std::string name;  ///< as written: "system.PE[1..168].mac[1..168]"
    std::vector<ErtAction> actions;
};

struct Ert {
    std::vector<ErtComponent> components;
};

struct ArtComponent {
    std::string name;
    double area_um2 = 0;
};

struct Art {
    std::vector<ArtComponent> components;
};

/// Last dotted element of a component's name without a range: "mac" for
/// "system.PE[0..3].mac[0..7]".
std::string component_name(const std::string& full_name);

/// Energies and areas of every level from the built-in tables. Levels whose energy the user gave
/// (StorageEnergy::source "user") keep it.
void apply_default_energies(Architecture& architecture);

/// Energies of all levels that the table names; levels with a user's energy keep it.
void apply_ert(Architecture& architecture, const Ert& ert, Dialect dialect);

/// Areas per instance of all levels that the table names.
void apply_art(Architecture& architecture, const Art& art);

}  // namespace tessera::timeloop
