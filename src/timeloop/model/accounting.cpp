// The order of floating point operations and the truncations are Timeloop's: they decide printed
// digits. Map of this file:
//   partitions, shares   words of a data space that one instance sees; words asked of the parent
//   bypass               a level that does not keep a data space passes its traffic outwards
//   counts               reads, fills, updates of what is kept
//   arithmetic, storage  energies, bandwidths, cycles
//   network              hops, routers, spatial reductions
#include "accounting.hpp"

#include <algorithm>
#include <cmath>

#include "counters.hpp"

namespace tessera::timeloop {

namespace {

std::uint64_t rounded(double value) {
    return counter(round_away(value));
}

class Accounting {
public:
    Accounting(const Machine& machine, NestResult& nest, const DataSpaceMask* keep, Ledger& ledger)
        : machine_(machine), nest_(nest), keep_(keep), ledger_(ledger) {}

    void run();

private:
    Entry& entry(int level, int space) {
        return ledger_.entries[level * machine_.spaces + space];
    }
    Record* records(const Entry& entry) {
        return nest_.records.data() + entry.first_record;
    }
    bool kept(int level, int space) const {
        return keep_[level] >> space & 1;
    }
    double sum_of_accesses(const Entry& entry) {
        double sum = 0;
        for (int r = 0; r < entry.record_count; ++r) {
            sum += records(entry)[r].accesses;
        }
        return sum;
    }

    void load(int space);
    void partitions(int space);
    void parent_shares(int space);
    void bypass(int space);
    void bypass_level(int level, int space);
    void drop_outermost(int space);
    void peers(int space);
    void counts(int space);
    void check_fit();
    void arithmetic();
    void storage(int level);
    void throttle(int level, double reads, double writes);
    void storage_entry(int level, int space);
    void network(int level, int space);
    void leakage();
    void totals();

    const Machine& machine_;
    NestResult& nest_;
    const DataSpaceMask* keep_;
    Ledger& ledger_;
};

void Accounting::load(int space) {
    for (int i = 0; i < machine_.levels; ++i) {
        const Tile& tile = nest_.tiles[i * machine_.spaces + space];
        Entry& e = entry(i, space);
        e.size = tile.size;
        e.fanout = nest_.levels[i].fanout;
        e.link_transfers = tile.link_transfers;
        e.first_record = tile.first_record;
        e.record_count = tile.record_count;
        e.content = sum_of_accesses(e);
        e.peer = e.parent_share = 0;
    }
}

void Accounting::partitions(int space) {
    const int top = machine_.levels - 1;
    std::uint64_t partition = entry(top, space).size;
    entry(top, space).partition = partition;
    for (int i = top - 1; i >= 0; --i) {
        const std::uint64_t whole = nest_.tiles[(i + 1) * machine_.spaces + space].spatial_size;
        if (whole != 0) {
            partition = portion(partition, entry(i, space).size, whole);
        }
        entry(i, space).partition = partition;
    }
}

void Accounting::parent_shares(int space) {
    for (int i = 0; i + 1 < machine_.levels; ++i) {
        const Entry& outer = entry(i + 1, space);
        double share = 0;
        for (int r = 0; r < outer.record_count; ++r) {
            const Record& record = records(outer)[r];
            share += record.accesses * real(record.multicast) / real(outer.fanout);
        }
        entry(i, space).parent_share = share;
    }
}

void Accounting::bypass_level(int level, int space) {
    Entry& inner = entry(level, space);
    // Inner levels are done: the next outer one still has its tile.
    if (level + 1 < machine_.levels) {
        Entry& outer = entry(level + 1, space);
        double received = 0;
        for (int r = 0; r < outer.record_count; ++r) {
            const Record& record = records(outer)[r];
            received += record.accesses * real(record.multicast);
        }
        const double factor = inner.content * real(outer.fanout) / received;
        for (int r = 0; r < outer.record_count; ++r) {
            records(outer)[r].accesses *= factor;
        }
        if (outer.record_count > 0) {
            outer.link_transfers = 0;
        }
        outer.content = sum_of_accesses(outer);
    }
    inner.size = inner.partition = 0;
    inner.content = inner.parent_share = 0;
}

void Accounting::drop_outermost(int space) {
    for (int i = machine_.levels - 1; i >= 0; --i) {
        Entry& e = entry(i, space);
        if (kept(i, space)) {
            e.parent_share = 0;
            return;
        }
        e.record_count = 0;
        e.fanout = 0;
        e.link_transfers = 0;
    }
}

void Accounting::bypass(int space) {
    for (int i = 0; i < machine_.levels; ++i) {
        if (!kept(i, space)) {
            bypass_level(i, space);
        }
    }
    drop_outermost(space);
}

void Accounting::peers(int space) {
    for (int i = machine_.levels - 1; i > 0; --i) {
        const double links = entry(i, space).link_transfers;
        if (links != 0) {
            entry(i - 1, space).peer +=
                links / static_cast<double>(nest_.levels[i - 1].replication);
        }
    }
}

void Accounting::counts(int space) {
    const bool writes = machine_.writes(space), elide = machine_.first_read_elision;
    bool outermost = true;
    for (int i = machine_.levels - 1; i >= 0; --i) {
        Entry& e = entry(i, space);
        e.reads = e.updates = e.fills = e.reductions = e.address_generations = 0;
        if (e.size == 0) {
            continue;
        }
        if (!writes) {
            e.reads = rounded(e.content + e.peer);
            e.fills = counter(e.parent_share + e.peer);
            e.address_generations = e.reads + e.fills;
            continue;
        }
        const double first = elide ? real(e.partition) : 0.0;
        const double reads = e.content + e.peer - first;
        e.updates = rounded(e.content);
        e.reads = e.reductions = rounded(reads);
        const double fills = e.parent_share + e.peer - (outermost ? 0.0 : first);
        e.fills = rounded(fills);
        e.address_generations = e.updates + e.fills;
        ledger_.wrapped = ledger_.wrapped || round_away(reads) < 0 || round_away(fills) < 0;
        outermost = false;
    }
}

void Accounting::check_fit() {
    ledger_.fit = Fit{};
    for (int i = 0; i < machine_.levels; ++i) {
        const LevelConstants& level = machine_.level[i];
        if (!level.bounded) {
            continue;
        }
        std::uint64_t used = 0;
        for (int s = 0; s < machine_.spaces; ++s) {
            used += entry(i, s).size;
        }
        if (used > level.effective_size) {
            ledger_.fit = {Fit::Kind::capacity, i, used, static_cast<double>(level.effective_size)};
            return;
        }
        if (real(used) < level.least_used) {
            ledger_.fit = {Fit::Kind::min_utilization, i, used, level.least_used};
            return;
        }
    }
}

void Accounting::arithmetic() {
    const double used = real(nest_.arithmetic_instances);
    ledger_.computes = counter(nest_.average_computes * used);
    ledger_.arithmetic_pj = real(ledger_.computes) * machine_.compute_pj;
    ledger_.arithmetic_cycles = nest_.imperfect ? nest_.temporal_product
                                                : counter(std::ceil(real(ledger_.computes) / used));
}

void Accounting::storage_entry(int level, int space) {
    const LevelConstants& constants = machine_.level[level];
    const LevelGeometry& geometry = nest_.levels[level];
    Entry& e = entry(level, space);
    const auto vectors = [&](std::uint64_t words) {
        return real(words / constants.block + (words % constants.block != 0));
    };
    e.cluster_energy_pj = vectors(e.reads) * constants.read_pj;
    e.cluster_energy_pj += vectors(e.fills) * constants.fill_pj;
    e.cluster_energy_pj += vectors(e.updates) * constants.update_pj;
    const std::uint64_t expansion = geometry.replication;
    e.clusters = std::min(expansion, constants.clusters);
    e.energy_pj = e.cluster_energy_pj / (real(expansion) / real(e.clusters));
    // All instances in use hold a tile: Timeloop's scaling of the demand is by exactly 1.
    const double cycles = real(ledger_.arithmetic_cycles);
    e.read_demand = real(e.reads) / cycles;
    e.write_demand = real(e.fills + e.updates) / cycles;
}

void Accounting::throttle(int level, double reads, double writes) {
    const LevelConstants& constants = machine_.level[level];
    LevelTotals& totals = ledger_.levels[level];
    totals.slowdown = 1;
    if (constants.read_bandwidth < reads) {
        totals.slowdown = std::min(totals.slowdown, constants.read_bandwidth / reads);
    }
    if (constants.write_bandwidth < writes) {
        totals.slowdown = std::min(totals.slowdown, constants.write_bandwidth / writes);
    }
    if (constants.shared_bandwidth < writes + reads) {
        totals.slowdown = std::min(totals.slowdown, constants.shared_bandwidth / (writes + reads));
    }
    totals.cycles = counter(std::ceil(real(ledger_.arithmetic_cycles) / totals.slowdown));
}

void Accounting::storage(int level) {
    LevelTotals& totals = ledger_.levels[level];
    const double instances = static_cast<double>(nest_.levels[level].replication);
    double reads = 0, writes = 0;
    totals.energy_pj = 0;
    totals.accesses = 0;
    for (int s = 0; s < machine_.spaces; ++s) {
        storage_entry(level, s);
        Entry& e = entry(level, s);
        reads += e.read_demand;
        writes += e.write_demand;
        const double addresses = real(e.address_generations) * machine_.level[level].addr_gen_pj;
        e.total_pj = e.energy_pj * instances + addresses * real(e.clusters);
        totals.energy_pj += e.total_pj;
        totals.accesses += counter(instances * static_cast<double>(e.reads + e.updates + e.fills));
    }
    throttle(level, reads, writes);
}

// Routers touched and spatial reductions are integers to which doubles are added one by one.
void Accounting::network(int level, int space) {
    const LevelConstants& constants = machine_.level[level];
    Entry& e = entry(level, space);
    const bool writes = machine_.writes(space);
    const bool doubled = writes && constants.doubled_updates;
    double hops = 0, ingresses = 0;
    std::uint64_t routers = 0, reductions = 0;
    for (int r = 0; r < e.record_count; ++r) {
        const Record& record = records(e)[r];
        const double words = doubled ? 2 * record.accesses - real(e.partition) : record.accesses;
        ingresses += words;
        if (words > 0) {
            const double distance = record.hops / words;
            const double touched = static_cast<double>(1 + counter(std::floor(distance))) * words;
            routers = counter(real(routers) + touched);
            hops += distance * words;
        }
        if (writes) {
            reductions =
                counter(real(reductions) + static_cast<double>(record.multicast - 1) * words);
        }
    }
    e.ingresses = ingresses;
    e.mean_hops = ingresses > 0 ? hops / ingresses : 0;
    e.spatial_reductions = reductions;
    e.network_pj = hops * constants.hop_pj + real(routers) * constants.router_pj +
                   constants.ingress_pj * ingresses;
    e.link_pj = e.link_transfers * (constants.hop_pj + 2 * constants.router_pj);
}

void Accounting::leakage() {
    std::uint64_t cycles = ledger_.arithmetic_cycles;
    for (const LevelTotals& totals : ledger_.levels) {
        cycles = std::max(cycles, totals.cycles);
    }
    for (int i = 0; i < machine_.levels; ++i) {
        const LevelConstants& constants = machine_.level[i];
        LevelTotals& totals = ledger_.levels[i];
        const double own = static_cast<double>(nest_.levels[i].replication);
        if (constants.power_gate_share > 1) {
            totals.gate_share = constants.power_gate_share;
            totals.leaks_per_cycle =
                totals.gate_share *
                static_cast<double>(nest_.levels[constants.power_gate_level].replication);
            totals.non_gated = own / totals.leaks_per_cycle;
        } else {
            totals.gate_share = totals.non_gated = 1;
            totals.leaks_per_cycle = own;
        }
        totals.leakage_pj =
            constants.leak_pj * static_cast<double>(cycles) * totals.leaks_per_cycle;
        totals.energy_pj = 0;
        for (int s = 0; s < machine_.spaces; ++s) {
            totals.energy_pj +=
                entry(i, s).total_pj + totals.leakage_pj / static_cast<double>(machine_.spaces);
        }
    }
}

void Accounting::totals() {
    double energy = ledger_.arithmetic_pj;
    std::uint64_t cycles = ledger_.arithmetic_cycles;
    for (const LevelTotals& level : ledger_.levels) {
        energy += level.energy_pj;
        cycles = std::max(cycles, level.cycles);
    }
    for (int i : machine_.network_order) {
        energy += ledger_.levels[i].network_pj;
    }
    ledger_.energy_pj = energy;
    ledger_.cycles = cycles + machine_.network_latency;
    ledger_.utilization =
        real(ledger_.computes) / machine_.arithmetic_instances / real(ledger_.cycles);
}

void Accounting::run() {
    ledger_.wrapped = false;
    for (int s = 0; s < machine_.spaces; ++s) {
        load(s);
        partitions(s);
        parent_shares(s);
        bypass(s);
        peers(s);
        counts(s);
    }
    check_fit();
    arithmetic();
    for (int i = 0; i < machine_.levels; ++i) {
        storage(i);
        LevelTotals& level = ledger_.levels[i];
        level.network_pj = 0;
        const double instances = static_cast<double>(nest_.levels[i].replication);
        for (int s = 0; s < machine_.spaces; ++s) {
            network(i, s);
            level.network_pj += (entry(i, s).link_pj + entry(i, s).network_pj) * instances;
        }
    }
    if (machine_.master) {
        leakage();
    }
    totals();
}

}  // namespace

void Ledger::resize(const Machine& machine) {
    entries.resize(machine.levels * machine.spaces);
    levels.resize(machine.levels);
}

void account(const Machine& machine, NestResult& nest, const DataSpaceMask* keep, Ledger& ledger) {
    Accounting(machine, nest, keep, ledger).run();
}

}  // namespace tessera::timeloop
