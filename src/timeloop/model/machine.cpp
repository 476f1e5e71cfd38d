#include "machine.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "tessera/base/error.hpp"
#include "tessera/spec/value.hpp"

namespace tessera::timeloop {

namespace {

/// Side of the square that one instance of a level's inner hierarchy takes, per level.
std::vector<double> inner_widths_um(const Architecture& architecture) {
    std::vector<double> widths;
    double area = architecture.arithmetic.area_um2;
    std::int64_t inner_instances = architecture.arithmetic.instances;
    for (const StorageLevel& level : architecture.storage) {
        widths.push_back(std::sqrt(area));
        area = level.area_um2 + area * static_cast<double>(inner_instances / level.instances);
        inner_instances = level.instances;
    }
    return widths;
}

void set_network(const StorageLevel& level, double inner_width_um, LevelConstants& constants) {
    const Network& network = level.network;
    const double bits = static_cast<double>(network.word_bits.value_or(level.word_bits));
    const double width_mm = network.tile_width_um.value_or(inner_width_um) / 1000;
    constants.hop_pj = network.energy_per_hop_pj.value_or(
        bits * width_mm * network.wire_energy_pj_per_bit_mm.value_or(0));
    constants.router_pj = network.router_energy_pj.value_or(0);
    constants.ingress_pj = network.energy_per_ingress_pj.value_or(0);
    constants.silent_network =
        constants.hop_pj == 0 && constants.router_pj == 0 && constants.ingress_pj == 0;
}

void set_storage(const StorageLevel& level, LevelConstants& constants) {
    constants.block = static_cast<std::uint64_t>(level.block_size);
    constants.block_shift =
        std::has_single_bit(constants.block) ? std::countr_zero(constants.block) : -1;
    constants.clusters = static_cast<std::uint64_t>(level.instances / level.cluster_size);
    constants.read_pj = level.energy.read_pj;
    constants.fill_pj = level.energy.fill_pj;
    constants.update_pj = level.energy.update_pj;
    constants.addr_gen_pj = std::max(0.0, level.addr_gen_energy_pj);
    constants.leak_pj = level.energy.leak_pj;
    constants.read_bandwidth = level.read_bandwidth.value_or(LevelConstants::infinite);
    constants.write_bandwidth = level.write_bandwidth.value_or(LevelConstants::infinite);
    constants.shared_bandwidth = level.shared_bandwidth.value_or(LevelConstants::infinite);
    constants.bounded = level.size.has_value();
    if (constants.bounded) {
        constants.effective_size = static_cast<std::uint64_t>(level.effective_size());
        constants.least_used =
            static_cast<double>(constants.effective_size) * level.min_utilization;
    }
    constants.doubled_updates = !level.reduces_in_place();
}

void set_demands(const Problem& problem, const StorageLevel& level, LevelConstants& constants) {
    std::fill_n(constants.demand_scale, max_spaces, 1.0);
    for (const auto& [name, scale] : level.bandwidth_scale) {
        const int space = problem.find_data_space(name);
        if (space < 0) {
            throw UserError("level " + level.name + ": per_dataspace_bandwidth_consumption_scale " +
                            "names " + name + ", which is no data space");
        }
        constants.demand_scale[space] = scale;
    }
}

void set_power_gate(const Architecture& architecture, int at, LevelConstants& constants) {
    const StorageLevel& level = architecture.storage[at];
    constants.power_gate_level = at;
    if (!level.power_gated_at) {
        return;
    }
    constants.power_gate_level = architecture.find_level(*level.power_gated_at);
    if (constants.power_gate_level < 0) {
        throw UserError("level " + level.name + ": power_gated_at names " + *level.power_gated_at +
                        ", which is no storage level");
    }
    constants.power_gate_share =
        static_cast<double>(level.instances) /
        static_cast<double>(architecture.storage[constants.power_gate_level].instances);
}

void check_counts(const Problem& problem, double most) {
    const double words = words_of(problem);
    if (problem.computes() > most || words > most_words) {
        throw UserError(
            "the problem has " + spec::number_text(problem.computes()) + " points and " +
            spec::number_text(words) + " words; on this architecture counts overflow above " +
            spec::number_text(std::floor(most)) + " points or 2^63 words; map a part of it");
    }
}

}  // namespace

Machine::Machine(const Problem& problem, const Architecture& architecture,
                 const ModelOptions& options) {
    check_topology(architecture);
    if (problem.data_spaces.size() > max_spaces) {
        throw UserError("the problem has more than " + std::to_string(max_spaces) + " data spaces");
    }
    if (architecture.levels() > FlatMapping::max_levels) {
        throw UserError("the architecture has more than " +
                        std::to_string(FlatMapping::max_levels) + " storage levels");
    }
    if (problem.dimensions.size() > max_dimensions) {
        throw UserError("the problem has more than " + std::to_string(max_dimensions) +
                        " dimensions");
    }
    for (const DataSpace& space : problem.data_spaces) {
        if (space.ranks.size() > max_ranks) {
            throw UserError("data space " + space.name + " has more than " +
                            std::to_string(max_ranks) + " ranks");
        }
    }
    most_iterations = timeloop::most_iterations(problem, architecture);
    check_counts(problem, most_iterations);
    levels = architecture.levels();
    spaces = static_cast<int>(problem.data_spaces.size());
    first_read_elision = options.first_read_elision;
    master = options.dialect == Dialect::master;
    compute_pj = architecture.arithmetic.energy_pj;
    arithmetic_instances = static_cast<double>(architecture.arithmetic.instances);
    for (int s = 0; s < spaces; ++s) {
        read_write |= DataSpaceMask{problem.data_spaces[s].read_write} << s;
        moving.push_back(0);
        for (const std::vector<Term>& rank : problem.data_spaces[s].ranks) {
            for (const Term& term : rank) {
                moving.back() |= DataSpaceMask{1} << term.dimension;
            }
        }
    }
    const std::vector<double> widths = inner_widths_um(architecture);
    level.resize(levels);
    for (int i = 0; i < levels; ++i) {
        const StorageLevel& storage = architecture.storage[i];
        set_storage(storage, level[i]);
        set_network(storage, widths[i], level[i]);
        set_demands(problem, storage, level[i]);
        set_power_gate(architecture, i, level[i]);
        silent_networks = silent_networks && level[i].silent_network;
        network_latency += static_cast<std::uint64_t>(storage.network.fill_latency +
                                                      storage.network.drain_latency);
    }
    network_order = architecture.networks_by_name();
}

}  // namespace tessera::timeloop
