// A Timeloop architecture: one arithmetic level and storage levels, innermost first, with one
// network below each storage level. Units are Timeloop's own (pJ, um, um^2, words per cycle),
// because its numbers are to be met to the last printed digit. std::nullopt: not given, printed
// as `-`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "timeloop/energy.hpp"

namespace tessera::timeloop {

enum class Technology : std::uint8_t { sram, dram };

/// The network that Timeloop infers between a storage level and the next inner level.
struct Network {
    std::string subtype;                    ///< `network-type`: "", "1:1" or "1:N"
    std::optional<std::int64_t> word_bits;  ///< unset: those of the storage level
    std::optional<double> router_energy_pj, wire_energy_pj_per_bit_mm, tile_width_um;
    std::optional<double> energy_per_hop_pj, energy_per_ingress_pj;
    std::int64_t fill_latency = 0, drain_latency = 0;  ///< cycles, added once to the total
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
    double multiple_buffering = 1;
    double min_utilization = 0;
    std::int64_t num_ports = 2, num_banks = 2;
    std::optional<bool> reduction_supported;  ///< unset: SRAM yes, DRAM no
    Network network;
    StorageEnergy energy;
    double addr_gen_energy_pj = -0.1;           ///< negative: Timeloop's default, which is 0
    double area_um2 = 0;                        ///< of one instance
    std::optional<std::string> power_gated_at;  ///< dialect master only

    /// Capacity left by multiple buffering. \pre size
    std::int64_t effective_size() const;
    bool reduces_in_place() const {
        return reduction_supported.value_or(technology == Technology::sram);
    }
};

struct ArithmeticLevel {
    std::string name = "__ARITH__";
    std::int64_t instances = 1, mesh_x = 1, mesh_y = 1;
    std::int64_t word_bits = 16;
    double energy_pj = 0;               ///< of one compute
    std::string energy_source = "PAT";  ///< PAT, ERT or user
    double area_um2 = 0;                ///< of one instance
};

struct Architecture {
    ArithmeticLevel arithmetic;
    std::vector<StorageLevel> storage;  ///< innermost first

    int levels() const {
        return static_cast<int>(storage.size());
    }
    int find_level(const std::string& name) const;  ///< -1 if absent
    /// Instances of the next inner level (arithmetic for level 0) per instance of `level`.
    std::int64_t fanout_x(int level) const;
    std::int64_t fanout_y(int level) const;
    std::int64_t fanout(int level) const {
        return fanout_x(level) * fanout_y(level);
    }
    /// Name of the network below a level as printed: "GB <==> RF".
    std::string network_name(int level) const;
};

/// Checks what Timeloop asserts: meshes that match their instances and divide those of the next
/// inner level, clusters that divide the instances. \throws UserError naming the levels.
void check_topology(const Architecture& architecture);

}  // namespace tessera::timeloop
