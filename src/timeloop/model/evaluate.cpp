// The as-written evaluator: nest analysis, accounting, then every printed figure.
#include <algorithm>
#include <cmath>
#include <string>

#include "accounting.hpp"
#include "machine.hpp"
#include "nest_result.hpp"
#include "tessera/base/error.hpp"

namespace tessera::timeloop {

namespace {

/// Bits of an address that counts the vectors of a level.
std::uint64_t address_bits(std::uint64_t scalars, std::uint64_t block) {
    const double range = std::max(1.0, static_cast<double>(scalars / block));
    return static_cast<std::uint64_t>(std::ceil(std::log2(range)));
}

class StatsBuilder {
public:
    StatsBuilder(const Problem& problem, const Architecture& architecture, const Machine& machine,
                 const NestResult& nest, const Ledger& ledger, const FlatMapping& flat)
        : problem_(problem),
          architecture_(architecture),
          machine_(machine),
          nest_(nest),
          ledger_(ledger),
          flat_(flat) {}

    Stats build() {
        arithmetic();
        for (int i = 0; i < machine_.levels; ++i) {
            stats_.levels.push_back(level(i));
            stats_.networks.push_back(network(i));
            stats_.area_um2 += stats_.levels.back().area_um2;
        }
        stats_.cycles = ledger_.cycles;
        stats_.energy_pj = ledger_.energy_pj;
        stats_.utilization = ledger_.utilization;
        stats_.wrapped = ledger_.wrapped;
        intensities();
        for (int s = 0; s < machine_.spaces; ++s) {
            note_forgotten(s);
        }
        return std::move(stats_);
    }

private:
    const Entry& entry(int level, int space) const {
        return ledger_.entries[level * machine_.spaces + space];
    }
    void arithmetic();
    DataSpaceStats data_space(int level, int space) const;
    LevelStats level(int i) const;
    NetworkStats network(int i) const;
    void intensities();
    void note_forgotten(int space);

    const Problem& problem_;
    const Architecture& architecture_;
    const Machine& machine_;
    const NestResult& nest_;
    const Ledger& ledger_;
    const FlatMapping& flat_;
    Stats stats_;
};

void StatsBuilder::arithmetic() {
    ArithmeticStats& a = stats_.arithmetic;
    a.utilized_instances = nest_.arithmetic_instances;
    a.computes = ledger_.computes;
    a.cycles = ledger_.arithmetic_cycles;
    a.energy_pj = ledger_.arithmetic_pj;
    a.area_um2 = architecture_.arithmetic.area_um2 * machine_.arithmetic_instances;
    stats_.area_um2 = a.area_um2;
}

DataSpaceStats StatsBuilder::data_space(int level, int space) const {
    const Entry& e = entry(level, space);
    const LevelGeometry& geometry = nest_.levels[level];
    const double slowdown = ledger_.levels[level].slowdown;
    DataSpaceStats stats;
    stats.kept = flat_.keep[level] >> space & 1;
    stats.partition_size = e.partition;
    stats.utilized_capacity = e.size;
    stats.utilized_instances = static_cast<double>(geometry.replication);
    stats.utilized_clusters = e.clusters;
    stats.reads = e.reads;
    stats.updates = e.updates;
    stats.fills = e.fills;
    stats.temporal_reductions = e.reductions;
    stats.address_generations = e.address_generations;
    stats.energy_pj = e.energy_pj;
    stats.energy_per_access_pj = e.energy_pj / static_cast<double>(e.reads + e.fills + e.updates);
    stats.addr_gen_energy_pj =
        static_cast<double>(e.address_generations) * machine_.level[level].addr_gen_pj;
    stats.read_bandwidth = slowdown * e.read_demand;
    stats.write_bandwidth = slowdown * e.write_demand;
    stats.shared_bandwidth = slowdown * (e.read_demand + e.write_demand);
    return stats;
}

LevelStats StatsBuilder::level(int i) const {
    const LevelTotals& totals = ledger_.levels[i];
    const StorageLevel& storage = architecture_.storage[i];
    LevelStats stats;
    std::uint64_t used = 0;
    for (int s = 0; s < machine_.spaces; ++s) {
        stats.data_spaces.push_back(data_space(i, s));
        used += stats.data_spaces.back().utilized_capacity;
    }
    stats.cycles = totals.cycles;
    stats.slowdown = totals.slowdown;
    stats.addr_gen_bits = address_bits(
        storage.size ? static_cast<std::uint64_t>(*storage.size) : used, machine_.level[i].block);
    if (machine_.master) {
        stats.leak_pj = machine_.level[i].leak_pj;
        stats.instances_sharing_power_gating = totals.gate_share;
        stats.non_gated_utilization = totals.non_gated;
        stats.leakage_energy_pj = totals.leakage_pj;
    }
    stats.energy_pj = totals.energy_pj;
    stats.accesses = totals.accesses;
    stats.area_um2 = storage.area_um2 * static_cast<double>(storage.instances);
    return stats;
}

NetworkStats StatsBuilder::network(int i) const {
    NetworkStats stats;
    stats.name = architecture_.network_name(i);
    stats.energy_pj = ledger_.levels[i].network_pj;
    for (int s = 0; s < machine_.spaces; ++s) {
        const Entry& e = entry(i, s);
        NetworkDataSpaceStats space;
        space.fanout = e.fanout;
        const bool doubled = machine_.writes(s) && machine_.level[i].doubled_updates;
        for (int r = 0; r < e.record_count; ++r) {
            const Record& record = nest_.records[e.first_record + r];
            const double words =
                doubled ? 2 * record.accesses - static_cast<double>(e.partition) : record.accesses;
            space.ingresses.push_back({record.multicast, record.scatter, words, record.hops});
            space.multicast_factor = std::max(space.multicast_factor, record.multicast);
        }
        space.total_ingresses = e.ingresses;
        space.link_transfers = e.link_transfers;
        space.spatial_reductions = e.spatial_reductions;
        space.num_hops = e.mean_hops;
        space.energy_per_hop_pj = machine_.level[i].hop_pj;
        space.energy_pj = e.network_pj;
        space.link_transfer_energy_pj = e.link_pj;
        space.utilized_instances = static_cast<double>(nest_.levels[i].replication);
        stats.data_spaces.push_back(std::move(space));
    }
    return stats;
}

// Single precision and integer division are Timeloop's.
void StatsBuilder::intensities() {
    std::uint64_t outputs = 0;
    for (int s = 0; s < machine_.spaces; ++s) {
        std::uint64_t held = 0;
        for (int i = machine_.levels - 1; i >= 0 && held == 0; --i) {
            held = entry(i, s).size;
        }
        stats_.minimal_accesses += held;
        outputs += machine_.writes(s) ? held : 0;
    }
    stats_.elementwise_ops = ledger_.computes;
    stats_.reduction_ops = ledger_.computes - (machine_.first_read_elision ? outputs : 0);
    stats_.total_ops = stats_.elementwise_ops + stats_.reduction_ops;
    const auto per_byte = [&](int level, std::uint64_t words) {
        const std::uint64_t bits =
            static_cast<std::uint64_t>(architecture_.storage[level].word_bits);
        return static_cast<double>(static_cast<float>(stats_.total_ops) /
                                   static_cast<float>(bits * words / 8));
    };
    stats_.optimal_ops_per_byte = per_byte(machine_.levels - 1, stats_.minimal_accesses);
    for (int i = 0; i < machine_.levels; ++i) {
        const std::uint64_t accesses = ledger_.levels[i].accesses;
        stats_.ops_per_byte.push_back(accesses > 0 ? per_byte(i, accesses) : -1);
    }
}

void StatsBuilder::note_forgotten(int space) {
    int outermost = machine_.levels - 1;
    while (!(flat_.keep[outermost] >> space & 1)) {
        --outermost;
    }
    if (forgets(machine_, flat_, space)) {
        stats_.forgotten.push_back("level " + architecture_.storage[outermost].name +
                                   " is the outermost that keeps data space " +
                                   problem_.data_spaces[space].name +
                                   " but does not hold it whole");
    }
}

}  // namespace

std::string describe(const Fit& fit, const Problem& problem, const Architecture& architecture) {
    if (fit.kind == Fit::Kind::ok) {
        return "";
    }
    if (fit.kind == Fit::Kind::kept_nowhere) {
        return "data space " + problem.data_spaces[fit.level].name + " is bypassed by every level";
    }
    const std::string at = "level " + architecture.storage[fit.level].name + ": mapped tile size " +
                           std::to_string(fit.needed);
    if (fit.kind == Fit::Kind::capacity) {
        return at + " exceeds buffer capacity " +
               std::to_string(static_cast<std::uint64_t>(fit.available));
    }
    return at + " is less than constrained minimum utilization " + std::to_string(fit.available);
}

Evaluation evaluate(const Problem& problem, const Architecture& architecture,
                    const Mapping& mapping, const ModelOptions& options) {
    const Machine machine(problem, architecture, options);
    FlatMapping flat;
    flatten(mapping, flat);
    Evaluation evaluation;
    if (const int space = kept_nowhere(machine.spaces, flat); space >= 0) {
        evaluation.fit.kind = Fit::Kind::kept_nowhere;
        evaluation.fit.level = space;
        return evaluation;
    }
    NestResult nest = analyse_nest(problem, architecture, flat, options);
    Ledger ledger;
    ledger.resize(machine);
    account(machine, nest, flat.keep, ledger);
    evaluation.fit = ledger.fit;
    evaluation.stats = StatsBuilder(problem, architecture, machine, nest, ledger, flat).build();
    return evaluation;
}

}  // namespace tessera::timeloop
