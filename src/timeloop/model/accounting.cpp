// The order of floating point operations and the truncations are Timeloop's: they decide printed
// digits. Without figures what adds zeros is left out, which is exact: levels that do not keep a
// data space, networks without energies. All instances in use hold a tile: Timeloop's scaling of
// demands is by exactly 1. Map of this file:
//   partitions     words of a data space that one instance sees
//   rescale        a level that does not keep a data space passes its traffic outwards
//   count, charge  reads, fills, updates of what is kept; their energies and demands
//   add_network    hops, routers, spatial reductions
#include "accounting.hpp"

#include <algorithm>
#include <cmath>

#include "counters.hpp"

namespace tessera::timeloop {

namespace {

template <bool figures>
class Accounting {
public:
    Accounting(const Machine& machine, NestResult& nest, const FlatMapping& flat, Cost& cost,
               Stats* stats)
        : machine_(machine), nest_(nest), flat_(flat), cost_(cost), stats_(stats) {}

    void run() {
        for (int s = 0; s < machine_.spaces; ++s) {
            top_[s] = outermost_gathering(machine_.levels, flat_, s);
        }
        if (!fits() && !figures) {
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

private:
    struct Level {
        double energy, reads, writes, network;
        std::uint64_t accesses, cycles;
    };
    /// Of one instance.
    struct Counts {
        std::uint64_t reads = 0, fills = 0, updates = 0, addresses = 0;
    };

    bool kept(int level, int space) const {
        return flat_.keep[level] >> space & 1;
    }
    /// Kept, and charged: Timeloop charges nothing outside the outermost level that gathers.
    bool holds(int level, int space) const {
        return kept(level, space) && level <= top_[space];
    }
    Tile& tile(int level, int space) {
        return nest_.tiles[level * machine_.spaces + space];
    }

    bool fits() {
        for (int i = 0; i < machine_.levels; ++i) {
            const LevelConstants& level = machine_.level[i];
            if (!level.bounded) {
                continue;
            }
            std::uint64_t used = 0;
            for (int s = 0; s < machine_.spaces; ++s) {
                used += holds(i, s) ? tile(i, s).size : 0;
            }
            if (misfits(level, i, used, cost_.fit)) {
                return false;
            }
        }
        return true;
    }

    void arithmetic() {
        const double used = real(nest_.arithmetic_instances);
        computes_ = counter(nest_.average_computes * used);
        cycles_ =
            nest_.imperfect ? nest_.temporal_product : counter(std::ceil(real(computes_) / used));
    }

    void partitions(int space) {
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
    double rescale(Tile& outer, std::uint64_t fanout, double content) {
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

    double parent_share(const Tile& outer, std::uint64_t fanout) const {
        const Record* records = nest_.records.data() + outer.first_record;
        double share = 0;
        for (int r = 0; r < outer.record_count; ++r) {
            share += records[r].accesses * real(records[r].multicast) / real(fanout);
        }
        return share;
    }

    Counts count(int i, int space, bool outermost, double content, double share, double peer) {
        Counts c;
        if (machine_.writes(space) && !gathers(flat_, i, space)) {
            c.updates = counter(round_away(content));
            c.reads = c.fills = counter(round_away(content + peer));
            c.addresses = c.updates + c.fills;
        } else if (machine_.writes(space)) {
            const bool elided =
                machine_.first_read_elision && !(flat_.rmw_first_update[i] >> space & 1);
            const double first = elided ? real(partition_[i]) : 0.0;
            const double read = round_away(content + peer - first);
            const double filled = round_away(share + peer - (outermost ? 0.0 : first));
            c.updates = counter(round_away(content));
            c.reads = counter(read);
            c.fills = counter(filled);
            c.addresses = c.updates + c.fills;
            cost_.wrapped = cost_.wrapped || read < 0 || filled < 0;
        } else {
            c.reads = counter(round_away(content + peer));
            c.fills = counter(share + peer);
            c.addresses = c.reads + c.fills;
        }
        return c;
    }

    void charge(int i, int space, const Counts& c) {
        const LevelConstants& constants = machine_.level[i];
        const LevelGeometry& geometry = nest_.levels[i];
        const auto vectors = [&](std::uint64_t words) {
            const std::uint64_t whole = constants.block_shift >= 0 ? words >> constants.block_shift
                                                                   : words / constants.block;
            return real(whole + (whole * constants.block != words));
        };
        double energy = vectors(c.reads) * constants.read_pj;
        energy += vectors(c.fills) * constants.fill_pj;
        energy += vectors(c.updates) * constants.update_pj;
        const std::uint64_t expansion = geometry.replication;
        const std::uint64_t clusters = std::min(expansion, constants.clusters);
        if (clusters != expansion) {
            energy /= real(expansion) / real(clusters);
        }
        Level& level = levels_[i];
        const double instances = real(geometry.replication);
        const double address_energy = real(c.addresses) * constants.addr_gen_pj;
        const double total = energy * instances + address_energy * real(clusters);
        totals_[i][space] = total;
        level.energy += total;
        level.accesses += counter(instances * real(c.reads + c.updates + c.fills));
        const double cycles = real(cycles_);
        const double scale = constants.demand_scale[space];
        const double read_demand = real(c.reads) / cycles * scale;
        const double write_demand = real(c.fills + c.updates) / cycles * scale;
        level.reads += read_demand;
        level.writes += write_demand;
        if constexpr (figures) {
            DataSpaceStats& stats = stats_->levels[i].data_spaces[space];
            stats.kept = kept(i, space);
            stats.partition_size = holds(i, space) ? partition_[i] : 0;
            stats.utilized_capacity = holds(i, space) ? tile(i, space).size : 0;
            stats.utilized_instances = instances;
            stats.utilized_clusters = clusters;
            stats.reads = c.reads;
            stats.updates = c.updates;
            stats.fills = c.fills;
            stats.temporal_reductions = machine_.writes(space) ? c.reads : 0;
            stats.address_generations = c.addresses;
            stats.energy_pj = energy;
            stats.energy_per_access_pj = energy / real(c.reads + c.fills + c.updates);
            stats.addr_gen_energy_pj = address_energy;
            stats.read_bandwidth = read_demand;  // unless throttled
            stats.write_bandwidth = write_demand;
        }
    }

    // Routers touched and spatial reductions are integers to which doubles are added one by one.
    void add_network(int i, int space, const Tile& tile, double links) {
        const LevelConstants& constants = machine_.level[i];
        const Record* records = nest_.records.data() + tile.first_record;
        const bool writes = machine_.writes(space), doubled = writes && constants.doubled_updates;
        const double first = doubled && kept(i, space) ? real(partition_[i]) : 0;
        const double instances = real(nest_.levels[i].replication);
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
            if constexpr (figures) {
                NetworkDataSpaceStats& stats = stats_->networks[i].data_spaces[space];
                stats.ingresses.push_back(records[r]);
                stats.ingresses.back().accesses = words;
                stats.multicast_factor = std::max(stats.multicast_factor, records[r].multicast);
                if (writes) {
                    stats.spatial_reductions = counter(real(stats.spatial_reductions) +
                                                       real(records[r].multicast - 1) * words);
                }
            }
        }
        const double energy = hops * constants.hop_pj + real(routers) * constants.router_pj +
                              constants.ingress_pj * ingresses;
        const double link_energy = links * (constants.hop_pj + 2 * constants.router_pj);
        levels_[i].network += (link_energy + energy) * instances;
        if constexpr (figures) {
            NetworkDataSpaceStats& stats = stats_->networks[i].data_spaces[space];
            stats.total_ingresses = ingresses;
            stats.link_transfers = links;
            stats.num_hops = ingresses > 0 ? hops / ingresses : 0;
            stats.energy_per_hop_pj = constants.hop_pj;
            stats.energy_pj = energy;
            stats.link_transfer_energy_pj = link_energy;
            stats.utilized_instances = instances;
        }
    }

    /// A level that does not keep a data space.
    void absent(int i, int space) {
        if constexpr (figures) {
            charge(i, space, {});
        } else {
            totals_[i][space] = 0;
        }
    }

    void space(int space) {
        const int top = top_[space];
        if (figures || machine_.writes(space)) {
            partitions(space);
        }
        double content = 0;  // of the level below
        for (int i = 0; i <= top; ++i) {
            Tile& at = tile(i, space);
            double links = at.link_transfers;
            if (i > 0 && !gathers(flat_, i - 1, space)) {
                content = rescale(at, nest_.levels[i].fanout, content);
                links = at.record_count > 0 ? 0 : links;
            } else {
                content = 0;
                for (int r = 0; r < at.record_count; ++r) {
                    content += nest_.records[at.first_record + r].accesses;
                }
            }
            if constexpr (figures) {
                stats_->networks[i].data_spaces[space].fanout = nest_.levels[i].fanout;
            }
            if (figures || !machine_.level[i].silent_network) {
                add_network(i, space, at, links);
            }
            if (!kept(i, space)) {
                absent(i, space);
                continue;
            }
            double share = 0, peer = 0;
            if (i < top) {
                const Tile& outer = tile(i + 1, space);
                share = parent_share(outer, nest_.levels[i + 1].fanout);
                const bool linked = gathers(flat_, i, space) || outer.record_count == 0;
                if (outer.link_transfers != 0 && linked) {
                    peer = outer.link_transfers / real(nest_.levels[i].replication);
                }
            }
            charge(i, space, count(i, space, i == top, content, share, peer));
        }
        for (int i = top + 1; i < machine_.levels; ++i) {
            if constexpr (figures) {
                add_network(i, space, Tile{}, 0);
            }
            absent(i, space);
        }
    }

    void throttle(int i) {
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
            slowdown =
                std::min(slowdown, constants.shared_bandwidth / (level.writes + level.reads));
        }
        if (figures || slowdown != 1) {
            const double cycles = std::ceil(real(cycles_) / slowdown);
            level.cycles = counter(cycles);
            cost_.wrapped = cost_.wrapped || cycles >= two63;
        }
        if constexpr (figures) {
            LevelStats& stats = stats_->levels[i];
            stats.cycles = level.cycles;
            stats.slowdown = slowdown;
            for (DataSpaceStats& space : stats.data_spaces) {
                space.shared_bandwidth = slowdown * (space.read_bandwidth + space.write_bandwidth);
                space.read_bandwidth *= slowdown;
                space.write_bandwidth *= slowdown;
            }
        }
    }

    void leak() {
        std::uint64_t cycles = cycles_;
        for (int i = 0; i < machine_.levels; ++i) {
            cycles = std::max(cycles, levels_[i].cycles);
        }
        for (int i = 0; i < machine_.levels; ++i) {
            const LevelConstants& constants = machine_.level[i];
            const double own = real(nest_.levels[i].replication);
            const bool gated = constants.power_gate_share > 1;
            const double leaks =
                gated ? constants.power_gate_share *
                            real(nest_.levels[constants.power_gate_level].replication)
                      : own;
            const double leakage = constants.leak_pj * real(cycles) * leaks;
            levels_[i].energy = 0;
            for (int s = 0; s < machine_.spaces; ++s) {
                levels_[i].energy += totals_[i][s] + leakage / static_cast<double>(machine_.spaces);
            }
            if constexpr (figures) {
                LevelStats& stats = stats_->levels[i];
                stats.leak_pj = constants.leak_pj;
                stats.instances_sharing_power_gating = gated ? constants.power_gate_share : 1;
                stats.non_gated_utilization = gated ? own / leaks : 1;
                stats.leakage_energy_pj = leakage;
            }
        }
    }

    void totals() {
        const double arithmetic = real(computes_) * machine_.compute_pj;
        double energy = arithmetic;
        std::uint64_t cycles = cycles_;
        for (int i = 0; i < machine_.levels; ++i) {
            energy += levels_[i].energy;
            cycles = std::max(cycles, levels_[i].cycles);
            cost_.accesses[i] = levels_[i].accesses;
            if constexpr (figures) {
                stats_->levels[i].energy_pj = levels_[i].energy;
                stats_->levels[i].accesses = levels_[i].accesses;
                stats_->networks[i].energy_pj = levels_[i].network;
            }
        }
        if (figures || !machine_.silent_networks) {
            for (int i : machine_.network_order) {
                energy += levels_[i].network;
            }
        }
        cost_.energy_pj = energy;
        cost_.cycles = cycles + machine_.network_latency;
        cost_.utilization = real(computes_) / machine_.arithmetic_instances / real(cost_.cycles);
        if constexpr (figures) {
            stats_->arithmetic.utilized_instances = nest_.arithmetic_instances;
            stats_->arithmetic.computes = computes_;
            stats_->arithmetic.cycles = cycles_;
            stats_->arithmetic.energy_pj = arithmetic;
        }
    }

    const Machine& machine_;
    NestResult& nest_;
    const FlatMapping& flat_;
    Cost& cost_;
    Stats* const stats_;
    Level levels_[FlatMapping::max_levels];
    std::uint64_t partition_[FlatMapping::max_levels];
    int top_[max_spaces];  ///< per data space: the outermost level that gathers
    double totals_[FlatMapping::max_levels][max_spaces];  ///< energies; dialect master only
    std::uint64_t computes_ = 0, cycles_ = 0;
};

}  // namespace

void account(const Machine& machine, NestResult& nest, const FlatMapping& flat, Cost& cost) {
    Accounting<false>(machine, nest, flat, cost, nullptr).run();
}

void account(const Machine& machine, NestResult& nest, const FlatMapping& flat, Cost& cost,
             Stats& stats) {
    stats.levels.resize(machine.levels);
    stats.networks.resize(machine.levels);
    for (int i = 0; i < machine.levels; ++i) {
        stats.levels[i].data_spaces.resize(machine.spaces);
        stats.networks[i].data_spaces.resize(machine.spaces);
    }
    Accounting<true>(machine, nest, flat, cost, &stats).run();
}

}  // namespace tessera::timeloop
