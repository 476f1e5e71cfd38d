// A Timeloop architecture: one arithmetic level and storage levels, innermost first, with one
// network below each storage level. Units are Timeloop's own (pJ, um, um^2, words per cycle),
// because its numbers are to be met to the last printed digit. std::nullopt: not given, printed
// as `-`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "timeloop/problem.hpp"
#include "timeloop/sparse.hpp"

namespace tessera::timeloop {

/// The two versions of Timeloop whose numbers and files can be reproduced. v3_0_3: the last tagged
/// version, without leakage. master: the version that the published reference outputs come from.
enum class Dialect : std::uint8_t { v3_0_3, master };

enum class Technology : std::uint8_t { sram, dram };

/// The network that Timeloop infers between a storage level and the next inner level.
struct Network {
    std::string subtype;                    ///< `network-type`: "", "1:1" or "1:N"
    std::optional<std::int64_t> word_bits;  ///< unset: those of the storage level
    std::optional<double> router_energy_pj, wire_energy_pj_per_bit_mm, tile_width_um;
    std::optional<double> energy_per_hop_pj, energy_per_ingress_pj;
    std::int64_t fill_latency = 0, drain_latency = 0;  ///< cycles, added once to the total
};

/// Energies of one storage level, in pJ per vector access.
struct StorageEnergy {
    double vector_access_pj = 0;  ///< printed; used for an operation that the ERT lacks
    double read_pj = 0, fill_pj = 0, update_pj = 0;
    double leak_pj = 0;                ///< per instance and cycle; dialect master only
    PerOperation<double> sparse_pj{};  ///< of the other operations; none of the first three
    std::string source = "PAT";        ///< PAT, ERT or user

    double of(StorageOperation operation) const;
};

struct StorageLevel {
    std::string name;
    Technology technology = Technology::sram;
    std::optional<std::int64_t> size;  ///< scalars; unset: infinite
    std::int64_t word_bits = 16;
    std::int64_t block_size = 1;    ///< scalars per vector access
    std::int64_t cluster_size = 1;  ///< instances sharing one macro and address generator
    std::int64_t instances = 1, mesh_x = 1, mesh_y = 1;
    std::optional<double> shared_bandwidth, read_bandwidth, write_bandwidth;  ///< words / cycle
    /// `per_dataspace_bandwidth_consumption_scale`: bandwidth taken by a word, by data space; 1 for
    /// those without a name here.
    std::map<std::string, double> bandwidth_scale;
    double multiple_buffering = 1;
    double min_utilization = 0;
    std::int64_t num_ports = 2, num_banks = 2;
    std::optional<bool> reduction_supported;  ///< unset: SRAM yes, DRAM no
    Network network;
    StorageEnergy energy;
    double addr_gen_energy_pj = -0.1;           ///< negative: Timeloop's default, which is 0
    double area_um2 = 0;                        ///< of one instance
    std::optional<std::string> power_gated_at;  ///< dialect master only
    MetadataStorage metadata;                   ///< sparse designs only

    /// Capacity left by multiple buffering. \pre size
    std::int64_t effective_size() const;
    double scale_of(const std::string& data_space) const {
        const auto found = bandwidth_scale.find(data_space);
        return found == bandwidth_scale.end() ? 1 : found->second;
    }
    bool reduces_in_place() const {
        return reduction_supported.value_or(technology == Technology::sram);
    }
};

struct ArithmeticLevel {
    std::string name = "__ARITH__";
    std::int64_t instances = 1, mesh_x = 1, mesh_y = 1;
    std::int64_t word_bits = 16;
    double energy_pj = 0;                 ///< of one compute
    double gated_pj = 0, skipped_pj = 0;  ///< of one that is gated, skipped
    std::string energy_source = "PAT";    ///< PAT, ERT or user
    double area_um2 = 0;                  ///< of one instance
};

struct Architecture {
    ArithmeticLevel arithmetic;
    std::vector<StorageLevel> storage;  ///< innermost first
    std::optional<SparseDesign> sparse;

    int levels() const {
        return static_cast<int>(storage.size());
    }
    /// Spatial loops may have more iterations than their fan-out; what is left of them is counted
    /// when the mapping is evaluated.
    bool packs_instances() const {
        return sparse && sparse->packs_instances();
    }
    int find_level(const std::string& name) const {  ///< -1 if absent
        return position_of(storage, name);
    }
    /// Instances of the next inner level (arithmetic for level 0) per instance of `level`.
    std::int64_t fanout_x(int level) const;
    std::int64_t fanout_y(int level) const;
    std::int64_t fanout(int level) const {
        return fanout_x(level) * fanout_y(level);
    }
    /// Name of the network below a level as printed: "GB <==> RF".
    std::string network_name(int level) const;
    /// All levels in the order of their networks' names.
    std::vector<int> networks_by_name() const;
};

/// Checks what Timeloop asserts: meshes that match their instances and divide those of the next
/// inner level, clusters that divide the instances. \throws UserError naming the levels.
void check_topology(const Architecture& architecture);

// ---- Where energies and areas come from: Accelergy's tables (ERT, ART), a value of the user, or
// Timeloop's built-in technology tables ("pat").

struct ErtComponent {
    std::string name;  ///< as written: "system.PE[1..168].mac[1..168]"
    /// Energies in pJ, by name; the highest one if the table lists several.
    std::map<std::string, double> actions;
};
using Ert = std::vector<ErtComponent>;

struct ArtComponent {
    std::string name;
    double area_um2 = 0;
};
using Art = std::vector<ArtComponent>;

/// Last dotted element of a component's name without a range: "mac" for
/// "system.PE[0..3].mac[0..7]".
std::string component_name(const std::string& full_name);

/// Energies and areas of every level from the built-in tables. Levels whose energy the user gave
/// (source "user") keep it.
void apply_default_energies(Architecture& architecture);

/// Energies of all levels that the table names; levels with a user's energy keep it.
void apply_ert(Architecture& architecture, const Ert& ert, Dialect dialect);

/// Areas per instance of all levels that the table names.
void apply_art(Architecture& architecture, const Art& art);

}  // namespace tessera::timeloop
