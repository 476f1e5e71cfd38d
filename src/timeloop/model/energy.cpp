// Energies of Timeloop's levels. The order of the tried action names and the built-in tables are
// facts of the format; single precision of areas is too.
#include "timeloop/architecture.hpp"

#include <algorithm>
#include <vector>

namespace tessera::timeloop {

namespace {

using Names = std::vector<const char*>;

double action_energy(const ErtComponent& component, const Names& names, double otherwise) {
    for (const char* name : names) {
        const auto found = component.actions.find(name);
        if (found != component.actions.end()) {
            return found->second;
        }
    }
    return otherwise;
}

/// Names of actions in the order in which they are tried, for the operations that only sparse
/// designs do.
const std::vector<Names>& sparse_actions(Dialect dialect) {
    // From gated_read on, as StorageOperation.
    static const std::vector<Names> of_3_0_3 = {
        {"gated_read", "idle", "read"},
        {"gated_fill", "gated_write", "idle", "write"},
        {"gated_update", "gated_write", "idle", "write"},
        {"skipped_read", "gated_read", "idle", "read"},
        {"skipped_fill", "skipped_write", "gated_write", "idle", "write"},
        {"skipped_update", "skipped_write", "gated_write", "idle", "write"},
        {"random_metadata_read", "metadata_read", "metadata_idle", "idle"},
        {"gated_metadata_read", "metadata_idle", "metadata_read"},
        {"skipped_metadata_read", "metadata_idle", "metadata_read"},
        {"random_metadata_fill", "metadata_write", "metadata_idle", "idle"},
        {"gated_metadata_fill", "gated_metadata_write", "metadata_idle", "metadata_write"},
        {"skipped_metadata_fill", "skipped_metadata_write", "metadata_idle", "metadata_write"},
        {"random_metadata_update", "metadata_write", "metadata_idle", "idle"},
        {"gated_metadata_update", "gated_metadata_write", "metadata_idle", "metadata_write"},
        {"skipped_metadata_update", "skipped_metadata_write", "metadata_idle", "metadata_write"},
        {"decompression_count"},
        {"compression_count"}};
    static const std::vector<Names> of_master = {
        {"gated_read"},
        {"gated_fill", "gated_write"},
        {"gated_update", "gated_write"},
        {"skipped_read", "gated_read"},
        {"skipped_fill", "skipped_write", "gated_fill", "gated_write"},
        {"skipped_update", "skipped_write", "gated_update", "gated_write"},
        {"random_metadata_read", "metadata_read"},
        {"gated_metadata_read"},
        {"skipped_metadata_read", "gated_metadata_read"},
        {"random_metadata_fill", "random_metadata_write", "metadata_fill", "metadata_write"},
        {"gated_metadata_fill", "gated_metadata_write"},
        {"skipped_metadata_fill", "skipped_metadata_write", "gated_metadata_fill",
         "gated_metadata_write"},
        {"random_metadata_update", "random_metadata_write", "metadata_update", "metadata_write"},
        {"gated_metadata_update", "gated_metadata_write"},
        {"skipped_metadata_update", "skipped_metadata_write", "gated_metadata_update",
         "gated_metadata_write"},
        {"decompression_count"},
        {"compression_count"}};
    return dialect == Dialect::master ? of_master : of_3_0_3;
}

void apply_to_storage(StorageLevel& level, const ErtComponent& component, Dialect dialect) {
    StorageEnergy& energy = level.energy;
    if (energy.source == "user") {
        return;
    }
    double highest = 0;
    for (const auto& [name, energy_pj] : component.actions) {
        highest = std::max(highest, energy_pj);
    }
    // An operation whose action is missing keeps the energy that it had before the table.
    energy.vector_access_pj = highest / static_cast<double>(level.cluster_size);
    energy.read_pj = action_energy(component, {"random_read", "read"}, energy.read_pj);
    if (dialect == Dialect::v3_0_3) {
        energy.fill_pj = action_energy(component, {"random_fill", "write"}, energy.fill_pj);
        energy.update_pj =
            action_energy(component, {"random_update", "random_fill", "write"}, energy.update_pj);
    } else {
        energy.fill_pj = action_energy(component, {"random_fill", "random_write", "fill", "write"},
                                       energy.fill_pj);
        energy.update_pj = action_energy(
            component, {"random_update", "random_write", "update", "write"}, energy.update_pj);
        energy.leak_pj = action_energy(component, {"leak"}, 0);
    }
    const auto& actions = sparse_actions(dialect);
    for (std::size_t i = 0; i < actions.size(); ++i) {
        double& of = energy.sparse_pj[at(StorageOperation::gated_read) + i];
        of = action_energy(component, actions[i], of);
    }
    energy.source = "ERT";
}

// Timeloop's built-in tables ("pat").

double sram_energy_pj(double height, double width_bits) {
    const double slope = (6.0 - 1.0) / (100.0 - 0.5);
    const double kilobytes = height * width_bits / (8 * 1024);
    const double relative = slope * (kilobytes - 0.5) + 1.0;
    return relative * width_bits / 16;
}

double dram_energy_pj(double bits) {
    return 200.0 * bits / 16;
}

double multiplier_energy_pj(double bits) {
    return 1.0 * (bits / 16.0) * (bits / 16.0);
}

}  // namespace

double StorageEnergy::of(StorageOperation operation) const {
    switch (operation) {
        case StorageOperation::random_read:
            return read_pj;
        case StorageOperation::random_fill:
            return fill_pj;
        case StorageOperation::random_update:
            return update_pj;
        default:
            return sparse_pj[at(operation)];
    }
}

std::string component_name(const std::string& full_name) {
    // A range "[0..3]" at the end has dots of its own.
    const std::size_t range = full_name.rfind("..");
    const std::size_t dot = full_name.rfind('.');
    std::string name = full_name;
    if (range != std::string::npos && range + 1 == dot) {
        const std::size_t bracket = full_name.rfind('[', range);
        name = full_name.substr(0, bracket == std::string::npos ? range : bracket);
    }
    const std::size_t last = name.rfind('.');
    return last == std::string::npos ? name : name.substr(last + 1);
}

void apply_default_energies(Architecture& architecture) {
    for (StorageLevel& level : architecture.storage) {
        if (level.energy.source == "user") {
            continue;
        }
        const double bits = static_cast<double>(level.word_bits * level.block_size);
        double energy = 0;
        if (level.technology == Technology::dram) {
            energy = dram_energy_pj(bits);
        } else if (level.size.value_or(0) != 0) {
            const std::int64_t rows = (*level.size + level.block_size - 1) / level.block_size;
            energy = sram_energy_pj(static_cast<double>(rows),
                                    bits * static_cast<double>(level.cluster_size)) /
                     static_cast<double>(level.cluster_size);
        }
        level.energy.vector_access_pj = energy;
        level.energy.read_pj = level.energy.fill_pj = level.energy.update_pj = energy;
    }
    ArithmeticLevel& arithmetic = architecture.arithmetic;
    if (arithmetic.energy_source != "user") {
        arithmetic.energy_pj = multiplier_energy_pj(static_cast<double>(arithmetic.word_bits));
    }
}

void apply_ert(Architecture& architecture, const Ert& ert, Dialect dialect) {
    for (const ErtComponent& component : ert) {
        const std::string name = component_name(component.name);
        if (name == "wire" || name == "Wire") {
            const double energy = action_energy(component, {"transfer_random"}, 0);
            for (StorageLevel& level : architecture.storage) {
                if (energy != 0) {
                    level.network.wire_energy_pj_per_bit_mm = static_cast<float>(energy);
                }
            }
            continue;
        }
        if (name == architecture.arithmetic.name) {
            architecture.arithmetic.energy_pj =
                action_energy(component, {"mac_random", "mult_random", "mac", "mult", "compute"},
                              architecture.arithmetic.energy_pj);
            ArithmeticLevel& arithmetic = architecture.arithmetic;
            arithmetic.gated_pj = action_energy(
                component, {"mac_gated", "mult_gated", "compute_gated", "mac", "mult", "compute"},
                arithmetic.gated_pj);
            arithmetic.skipped_pj =
                action_energy(component,
                              {"mac_skipped", "mult_skipped", "compute_skipped", "mac_gated",
                               "mult_gated", "compute_gated", "mac", "mult", "compute"},
                              arithmetic.skipped_pj);
            architecture.arithmetic.energy_source = "ERT";
        }
        for (StorageLevel& level : architecture.storage) {
            if (level.name == name) {
                apply_to_storage(level, component, dialect);
            }
        }
    }
}

void apply_art(Architecture& architecture, const Art& art) {
    for (const ArtComponent& component : art) {
        const std::string name = component_name(component.name);
        const double area = static_cast<float>(component.area_um2);
        if (name == architecture.arithmetic.name) {
            architecture.arithmetic.area_um2 = area;
        }
        for (StorageLevel& level : architecture.storage) {
            if (level.name == name) {
                level.area_um2 = area;
            }
        }
    }
}

}  // namespace tessera::timeloop
