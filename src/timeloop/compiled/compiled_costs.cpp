// Floating point operations stand in Timeloop's order (accounting.cpp). What is left out is exact:
// levels that do not keep a data space add zeros; all instances in use hold a tile, so demands are
// scaled by one; networks without energies cost nothing.
#include <algorithm>
#include <cmath>

#include "compiled_nest.hpp"
#include "timeloop/model/counters.hpp"

namespace tessera::timeloop {

namespace {

class CostPass {
public:
    CostPass(const Machine& machine, NestResult& nest, const DataSpaceMask* keep, Cost& cost)
        : machine_(machine), nest_(nest), keep_(keep), cost_(cost) {}

    void run();

private:
    struct Level {
        double energy, reads, writes, network;
        std::uint64_t accesses, cycles;
    };

    bool kept(int level, int space) const {
        return keep_[level] >> space & 1;
    }
    Tile& tile(int level, int space) {
        return nest_.tiles[level * machine_.spaces + space];
    }
    bool fits();
    void arithmetic();
    void partitions(int space);
    void space(int space);
    double rescale(Tile& outer, std::uint64_t fanout, double content);
    double parent_share(const Tile& outer, std::uint64_t fanout) const;
    void count(int i, int space, bool outermost, double content, double share, double peer);
    void add_network(int i, int space, const Tile& tile, double links);
    void throttle(int i);
    void leak();
    void totals();

    const Machine& machine_;
    NestResult& nest_;
    const DataSpaceMask* keep_;
    Cost& cost_;
    Level levels_[FlatMapping::max_levels];
    std::uint64_t partition_[FlatMapping::max_levels];
    double totals_[FlatMapping::max_levels][max_spaces];  ///< energies; dialect master only
    std::uint64_t computes_ = 0, cycles_ = 0;
};

bool CostPass::fits() {
    for (int i = 0; i < machine_.levels; ++i) {
        const LevelConstants& level = machine_.level[i];
        if (!level.bounded) {
            continue;
        }
        std::uint64_t used = 0;
        for (int s = 0; s < machine_.spaces; ++s) {
            used += kept(i, s) ? tile(i, s).size : 0;
        }
        if (used > level.effective_size) {
            cost_.fit = {Fit::Kind::capacity, i, used, real(level.effective_size)};
            return false;
        }
        if (real(used) < level.least_used) {
            cost_.fit = {Fit::Kind::min_utilization, i, used, level.least_used};
            return false;
        }
    }
    return true;
}

void CostPass::arithmetic() {
    const double used = real(nest_.arithmetic_instances);
    computes_ = counter(nest_.average_computes * used);
    cycles_ = nest_.imperfect ? nest_.temporal_product : counter(std::ceil(real(computes_) / used));
}

void CostPass::partitions(int space) {
    std::uint64_t partition = tile(machine_.levels - 1, space).size;
    partition_[machine_.levels - 1] = partition;
    for (int i = machine_.levels - 2; i >= 0; --i) {
        const std::uint64_t whole = tile(i + 1, space).spatial_size;
        if (whole != 0) {
            partition = portion(partition, tile(i, space).size, whole);
        }
        partition_[i] = partition;
    }
}

/// Traffic of a bypassed level handed outwards: `outer` is read as often as that level was.
double CostPass::rescale(Tile& outer, std::uint64_t fanout, double content) {
    Record* records = nest_.records.data() + outer.first_record;
    double received = 0;
    for (int r = 0; r < outer.record_count; ++r) {
        received += records[r].accesses * real(records[r].multicast);
    }
    const double factor = content * real(fanout) / received;
    double sum = 0;
    for (int r = 0; r < outer.record_count; ++r) {
        records[r].accesses *= factor;
        sum += records[r].accesses;
    }
    return sum;
}

double CostPass::parent_share(const Tile& outer, std::uint64_t fanout) const {
    const Record* records = nest_.records.data() + outer.first_record;
    double share = 0;
    for (int r = 0; r < outer.record_count; ++r) {
        share += records[r].accesses * real(records[r].multicast) / real(fanout);
    }
    return share;
}

void CostPass::count(int i, int space, bool outermost, double content, double share, double peer) {
    const LevelConstants& constants = machine_.level[i];
    const LevelGeometry& geometry = nest_.levels[i];
    std::uint64_t reads = 0, fills = 0, updates = 0, addresses = 0;
    if (machine_.writes(space)) {
        const double first = machine_.first_read_elision ? real(partition_[i]) : 0.0;
        const double read = round_away(content + peer - first);
        const double filled = round_away(share + peer - (outermost ? 0.0 : first));
        updates = counter(round_away(content));
        reads = counter(read);
        fills = counter(filled);
        addresses = updates + fills;
        cost_.wrapped = cost_.wrapped || read < 0 || filled < 0;
    } else {
        reads = counter(round_away(content + peer));
        fills = counter(share + peer);
        addresses = reads + fills;
    }
    const auto vectors = [&](std::uint64_t words) {
        const std::uint64_t whole =
            constants.block_shift >= 0 ? words >> constants.block_shift : words / constants.block;
        return real(whole + (whole * constants.block != words));
    };
    double energy = vectors(reads) * constants.read_pj;
    energy += vectors(fills) * constants.fill_pj;
    energy += vectors(updates) * constants.update_pj;
    const std::uint64_t expansion = geometry.replication;
    const std::uint64_t clusters = std::min(expansion, constants.clusters);
    if (clusters != expansion) {
        energy /= real(expansion) / real(clusters);
    }
    Level& level = levels_[i];
    const double instances = real(geometry.replication);
    const double total =
        energy * instances + real(addresses) * constants.addr_gen_pj * real(clusters);
    totals_[i][space] = total;
    level.energy += total;
    level.accesses += counter(instances * real(reads + updates + fills));
    const double cycles = real(cycles_);
    level.reads += real(reads) / cycles;
    level.writes += real(fills + updates) / cycles;
}

// See Accounting::network(): integers to which doubles are added one by one.
void CostPass::add_network(int i, int space, const Tile& tile, double links) {
    const LevelConstants& constants = machine_.level[i];
    const Record* records = nest_.records.data() + tile.first_record;
    const bool doubled = machine_.writes(space) && constants.doubled_updates;
    const double first = doubled && kept(i, space) ? real(partition_[i]) : 0;
    double hops = 0, ingresses = 0;
    std::uint64_t routers = 0;
    for (int r = 0; r < tile.record_count; ++r) {
        const double words = doubled ? 2 * records[r].accesses - first : records[r].accesses;
        ingresses += words;
        if (words > 0) {
            const double distance = records[r].hops / words;
            routers = counter(real(routers) + real(1 + counter(std::floor(distance))) * words);
            hops += distance * words;
        }
    }
    const double energy = hops * constants.hop_pj + real(routers) * constants.router_pj +
                          constants.ingress_pj * ingresses;
    const double link_energy = links * (constants.hop_pj + 2 * constants.router_pj);
    levels_[i].network += (link_energy + energy) * real(nest_.levels[i].replication);
}

void CostPass::space(int space) {
    int top = machine_.levels - 1;
    while (!kept(top, space)) {
        --top;
    }
    if (machine_.writes(space)) {
        partitions(space);
    }
    double content = 0;  // of the level below
    for (int i = 0; i <= top; ++i) {
        Tile& at = tile(i, space);
        double links = at.link_transfers;
        if (i > 0 && !kept(i - 1, space)) {
            content = rescale(at, nest_.levels[i].fanout, content);
            links = at.record_count > 0 ? 0 : links;
        } else {
            content = 0;
            for (int r = 0; r < at.record_count; ++r) {
                content += nest_.records[at.first_record + r].accesses;
            }
        }
        if (!machine_.level[i].silent_network) {
            add_network(i, space, at, links);
        }
        if (!kept(i, space)) {
            totals_[i][space] = 0;
            continue;
        }
        double share = 0, peer = 0;
        if (i < top) {
            const Tile& outer = tile(i + 1, space);
            share = parent_share(outer, nest_.levels[i + 1].fanout);
            if (outer.link_transfers != 0) {
                peer = outer.link_transfers / real(nest_.levels[i].replication);
            }
        }
        count(i, space, i == top, content, share, peer);
    }
    for (int i = top + 1; i < machine_.levels; ++i) {
        totals_[i][space] = 0;
    }
}

void CostPass::throttle(int i) {
    const LevelConstants& constants = machine_.level[i];
    Level& level = levels_[i];
    level.cycles = cycles_;
    double slowdown = 1;
    if (constants.read_bandwidth < level.reads) {
        slowdown = std::min(slowdown, constants.read_bandwidth / level.reads);
    }
    if (constants.write_bandwidth < level.writes) {
        slowdown = std::min(slowdown, constants.write_bandwidth / level.writes);
    }
    if (constants.shared_bandwidth < level.writes + level.reads) {
        slowdown = std::min(slowdown, constants.shared_bandwidth / (level.writes + level.reads));
    }
    if (slowdown != 1) {
        level.cycles = counter(std::ceil(real(cycles_) / slowdown));
    }
}

void CostPass::leak() {
    std::uint64_t cycles = cycles_;
    for (int i = 0; i < machine_.levels; ++i) {
        cycles = std::max(cycles, levels_[i].cycles);
    }
    for (int i = 0; i < machine_.levels; ++i) {
        const LevelConstants& constants = machine_.level[i];
        const double leaks = constants.power_gate_share > 1
                                 ? constants.power_gate_share *
                                       real(nest_.levels[constants.power_gate_level].replication)
                                 : real(nest_.levels[i].replication);
        const double leakage = constants.leak_pj * real(cycles) * leaks;
        levels_[i].energy = 0;
        for (int s = 0; s < machine_.spaces; ++s) {
            levels_[i].energy += totals_[i][s] + leakage / static_cast<double>(machine_.spaces);
        }
    }
}

void CostPass::totals() {
    double energy = real(computes_) * machine_.compute_pj;
    std::uint64_t cycles = cycles_;
    for (int i = 0; i < machine_.levels; ++i) {
        energy += levels_[i].energy;
        cycles = std::max(cycles, levels_[i].cycles);
        cost_.accesses[i] = levels_[i].accesses;
    }
    if (!machine_.silent_networks) {
        for (int i : machine_.network_order) {
            energy += levels_[i].network;
        }
    }
    cost_.energy_pj = energy;
    cost_.cycles = cycles + machine_.network_latency;
    cost_.utilization = real(computes_) / machine_.arithmetic_instances / real(cost_.cycles);
}

void CostPass::run() {
    if (!fits()) {
        return;
    }
    cost_.wrapped = false;
    std::fill_n(levels_, machine_.levels, Level{0, 0, 0, 0, 0, 0});
    arithmetic();
    for (int s = 0; s < machine_.spaces; ++s) {
        space(s);
    }
    for (int i = 0; i < machine_.levels; ++i) {
        throttle(i);
    }
    if (machine_.master) {
        leak();
    }
    totals();
}

}  // namespace

void cost_of(const Machine& machine, NestResult& nest, const DataSpaceMask* keep, Cost& cost) {
    CostPass(machine, nest, keep, cost).run();
}

}  // namespace tessera::timeloop
