// From tile sizes and access records to counts, energies and cycles (bypass, peers, first reads,
// vector accesses, bandwidths, networks), with every figure that is printed. It has no loops over
// the nest, only over levels and data spaces.
#pragma once

#include "machine.hpp"
#include "nest_result.hpp"

namespace tessera::timeloop {

/// One data space in one level, after bypass.
struct Entry {
    std::uint64_t size = 0, partition = 0, fanout = 0;
    double content = 0;       ///< words read by the level below, a multicast counted once
    double parent_share = 0;  ///< words that come from the level above
    double peer = 0;          ///< words from or to a neighbour
    double link_transfers = 0;
    int first_record = 0, record_count = 0;
    std::uint64_t reads = 0, updates = 0, fills = 0, reductions = 0, address_generations = 0;
    std::uint64_t clusters = 1;
    double cluster_energy_pj = 0, energy_pj = 0;
    double total_pj = 0;                       ///< all instances, address generation included
    double read_demand = 0, write_demand = 0;  ///< words / cycle, without throttling
    // The network below.
    double ingresses = 0, mean_hops = 0, network_pj = 0, link_pj = 0;
    std::uint64_t spatial_reductions = 0;
};

struct LevelTotals {
    double slowdown = 1, energy_pj = 0, network_pj = 0;
    std::uint64_t cycles = 0, accesses = 0;
    double leaks_per_cycle = 1, gate_share = 1, non_gated = 1, leakage_pj = 0;
};

struct Ledger {
    std::vector<Entry> entries;  ///< [level * data spaces + data space]
    std::vector<LevelTotals> levels;
    Fit fit;
    std::uint64_t computes = 0, arithmetic_cycles = 0, cycles = 0;
    double arithmetic_pj = 0, energy_pj = 0, utilization = 0;
    bool wrapped = false;

    void resize(const Machine& machine);
};

/// `nest.records` is changed: bypass rescales it.
void account(const Machine& machine, NestResult& nest, const DataSpaceMask* keep, Ledger& ledger);

}  // namespace tessera::timeloop
