// What an evaluation says: every figure that stats.txt, map+stats.xml and the JSON file print.
// Counts that Timeloop keeps in unsigned 64-bit counters are kept the same way, so that a negative
// count prints as it does there (Stats::wrapped tells). Energies in pJ, areas in um^2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::timeloop {

struct ArithmeticStats {
    std::uint64_t utilized_instances = 0, computes = 0, cycles = 0;
    double energy_pj = 0, area_um2 = 0;  ///< all instances
};

/// One data space in one storage level; per instance unless said otherwise.
struct DataSpaceStats {
    bool kept = false;
    std::uint64_t partition_size = 0, utilized_capacity = 0;
    double utilized_instances = 0;
    std::uint64_t utilized_clusters = 0;
    std::uint64_t reads = 0, updates = 0, fills = 0;
    std::uint64_t temporal_reductions = 0;
    std::uint64_t address_generations = 0;  ///< per cluster
    double energy_per_access_pj = 0;        ///< NaN without any access
    double energy_pj = 0;
    double temporal_reduction_energy_pj = 0;
    double addr_gen_energy_pj = 0;                                         ///< per cluster
    double shared_bandwidth = 0, read_bandwidth = 0, write_bandwidth = 0;  ///< words / cycle

    double total_energy_pj() const {
        return energy_pj * utilized_instances;
    }
};

struct LevelStats {
    std::vector<DataSpaceStats> data_spaces;
    std::uint64_t cycles = 0;
    double slowdown = 1;  ///< bandwidth throttling
    std::uint64_t addr_gen_bits = 0;
    // Dialect master; all zero in 3.0.3.
    double leak_pj = 0;  ///< per instance and cycle
    double instances_sharing_power_gating = 1, non_gated_utilization = 1;
    double leakage_energy_pj = 0;
    /// Storage, reduction, address generation and leakage, all instances.
    double energy_pj = 0;
    std::uint64_t accesses = 0;  ///< scalar reads, updates and fills of all instances
    double area_um2 = 0;         ///< all instances
};

/// One row `@multicast m @scatter s` of a network.
struct AccessRecord {
    std::uint64_t multicast = 1, scatter = 1;
    double accesses = 0, hops = 0;
};

/// One data space in one network; per instance of the storage level above it.
struct NetworkDataSpaceStats {
    std::uint64_t fanout = 0, multicast_factor = 0;
    std::vector<AccessRecord> ingresses;  ///< ascending (multicast, scatter)
    double total_ingresses = 0;
    double link_transfers = 0;  ///< printed as an integer
    std::uint64_t spatial_reductions = 0;
    double num_hops = 0;  ///< on average
    double energy_per_hop_pj = 0, energy_pj = 0, link_transfer_energy_pj = 0;
    double spatial_reduction_energy_pj = 0;
    double utilized_instances = 0;
};

struct NetworkStats {
    std::string name;  ///< "GB <==> RF"
    std::vector<NetworkDataSpaceStats> data_spaces;
    double energy_pj = 0;  ///< all instances
};

struct Stats {
    ArithmeticStats arithmetic;
    std::vector<LevelStats> levels;      ///< as Architecture::storage
    std::vector<NetworkStats> networks;  ///< network i lies below storage level i
    std::uint64_t cycles = 0;
    double energy_pj = 0;
    double utilization = 0;
    double area_um2 = 0;  ///< the true sum; Timeloop's own summary prints 0
    std::uint64_t elementwise_ops = 0, reduction_ops = 0, total_ops = 0;
    std::uint64_t minimal_accesses = 0;  ///< `Total memory accesses required`
    double optimal_ops_per_byte = 0;
    std::vector<double> ops_per_byte;  ///< per storage level; negative: no accesses

    /// A counter went below zero and wrapped around as Timeloop's does (imperfect factors only):
    /// the figures are what Timeloop prints and mean nothing.
    bool wrapped = false;
    /// Data spaces whose outermost level does not hold them whole: Timeloop forgets the rest and
    /// charges nothing. One text each, naming level and data space.
    std::vector<std::string> forgotten;

    double edp() const {  ///< J * cycle
        return energy_pj * static_cast<double>(cycles) / 1e12;
    }
    /// As Timeloop's summary prints them: partly in single precision.
    double printed_edp() const {
        return static_cast<float>(cycles) * energy_pj / 1e12;
    }
    double printed_gflops() const {
        return static_cast<float>(total_ops) / static_cast<float>(cycles);
    }
};

}  // namespace tessera::timeloop
