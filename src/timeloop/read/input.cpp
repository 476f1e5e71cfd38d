// load_input: the parts of a document put together, with their energies.
//
//   energies_of_input, energies_of_accelergy   tables from either source
//   warn_about_tables                          a line for every level costed without them

#include "timeloop/read.hpp"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "read_parts.hpp"
#include "timeloop/model/machine.hpp"
#include "values.hpp"

namespace tessera::timeloop {

namespace {

namespace fs = std::filesystem;

bool energies_of_input(Input& input) {
    const std::optional<Ert> ert = read_ert(input.document, input.warnings);
    if (!ert) {
        return false;
    }
    apply_ert(input.architecture, *ert, input.document.dialect);
    // Timeloop reads areas only where it reads energies.
    if (const std::optional<Art> art = read_art(input.document, input.warnings)) {
        apply_art(input.architecture, *art);
        input.has_art = true;
    }
    return true;
}

bool energies_of_accelergy(Input& input, const std::string& prefix) {
    const spec::Node* arch = architecture_of(input.document.root);
    const bool tree = arch != nullptr && (find_key(*arch, "subtree") || find_key(*arch, "nodes"));
    const std::optional<std::string> program =
        prefix.empty() || !tree ? std::nullopt : find_accelergy();
    if (!program) {
        return false;
    }
    const std::string ert_file = prefix + ".ERT.yaml", art_file = prefix + ".ART.yaml";
    std::error_code ignored;
    fs::remove(ert_file, ignored);
    fs::remove(art_file, ignored);
    if (!run_accelergy(*program, input.document.files, prefix) || !fs::exists(ert_file, ignored)) {
        input.warnings.push_back(*program + " did not make an energy reference table (see " +
                                 prefix + ".accelergy.log); built-in tables are used instead");
        return false;
    }
    const Document made = read_document({ert_file});
    if (const std::optional<Ert> ert = read_ert(made, input.warnings)) {
        apply_ert(input.architecture, *ert, input.document.dialect);
    }
    if (fs::exists(art_file, ignored)) {
        const Document areas = read_document({art_file});
        if (const std::optional<Art> art = read_art(areas, input.warnings)) {
            apply_art(input.architecture, *art);
        }
    }
    return true;
}

std::string pj(double energy) {
    std::ostringstream text;
    text << std::setprecision(4) << energy << " pJ";
    return text.str();
}

void warn_about_tables(Input& input) {
    const Architecture& architecture = input.architecture;
    const bool ert = input.energies != EnergyOrigin::tables;
    const std::string advice =
        ert ? "; the ERT does not name it" : "; give an ERT for energies of a real technology";
    if (architecture.arithmetic.energy_source == "PAT") {
        input.warnings.push_back("level '" + architecture.arithmetic.name +
                                 "': energy from the built-in table 'pat' (multiplier of " +
                                 std::to_string(architecture.arithmetic.word_bits) + " bits: " +
                                 pj(architecture.arithmetic.energy_pj) + " per compute)" + advice);
    }
    for (const StorageLevel& level : architecture.storage) {
        // Levels that only stand for a fan-out hold one bit and keep nothing.
        const bool dummy = level.size == 1 && level.word_bits == 1;
        if (level.energy.source == "PAT" && !dummy) {
            const bool dram = level.technology == Technology::dram;
            input.warnings.push_back(
                "level '" + level.name + "': energies from the built-in table 'pat' (" +
                (dram ? "DRAM" : "SRAM") + ": " + pj(level.energy.vector_access_pj) +
                " per vector access)" + advice);
        }
    }
}

}  // namespace

Input load_input(Document document, const std::string& accelergy_prefix) {
    Input input;
    input.document = std::move(document);
    input.warnings = input.document.warnings;
    input.problem = read_problem(input.document, input.warnings);
    input.architecture = read_architecture(input.document, input.warnings);
    input.architecture.sparse =
        read_sparse(input.document, input.problem, input.architecture, input.warnings);
    const spec::Node* section = find_key(input.document.root, "architecture");
    section = section == nullptr ? find_key(input.document.root, "arch") : section;
    with_place((section == nullptr ? &input.document.root : section)->position,
               [&] { Machine(input.problem, input.architecture, {}); });
    if (energies_of_input(input)) {
        input.energies = EnergyOrigin::input;
    } else if (energies_of_accelergy(input, accelergy_prefix)) {
        input.energies = EnergyOrigin::accelergy;
    }
    warn_about_tables(input);
    input.model.dialect = input.document.dialect;
    input.model.first_read_elision = switched_on("TIMELOOP_ENABLE_FIRST_READ_ELISION", true);
    input.model.link_transfers = !switched_on("TIMELOOP_DISABLE_LINK_TRANSFERS", false);
    return input;
}

namespace {

/// Names as Accelergy writes them: a count of 4 is the range [1..4].
std::string counted(const std::string& name, std::int64_t count) {
    return "system." + name + "[1.." + std::to_string(count) + "]";
}

std::string plain(double value) {
    std::ostringstream text;
    text << std::setprecision(17) << value;
    return text.str();
}

}  // namespace

void write_ert(std::ostream& out, const Architecture& architecture) {
    out << "ERT:\n    version: '0.4'\n    tables:\n";
    const auto table = [&](const std::string& name, std::int64_t count) {
        out << "      - name: " << counted(name, count) << "\n        actions:\n";
    };
    const auto action = [&](const char* name, double energy) {
        out << "          - name: " << name
            << "\n            arguments: {}\n            energy: " << plain(energy) << "\n";
    };
    for (auto level = architecture.storage.rbegin(); level != architecture.storage.rend();
         ++level) {
        table(level->name, level->instances);
        action("read", level->energy.read_pj);
        action("write", level->energy.fill_pj);
        action("update", level->energy.update_pj);
        action("leak", level->energy.leak_pj);
    }
    table(architecture.arithmetic.name, architecture.arithmetic.instances);
    action("compute", architecture.arithmetic.energy_pj);
}

void write_art(std::ostream& out, const Architecture& architecture) {
    out << "ART:\n    version: '0.4'\n    tables:\n";
    const auto table = [&](const std::string& name, std::int64_t count, double area) {
        out << "      - name: " << counted(name, count) << "\n        area: " << plain(area)
            << "\n";
    };
    for (auto level = architecture.storage.rbegin(); level != architecture.storage.rend();
         ++level) {
        table(level->name, level->instances, level->area_um2);
    }
    table(architecture.arithmetic.name, architecture.arithmetic.instances,
          architecture.arithmetic.area_um2);
}

}  // namespace tessera::timeloop
