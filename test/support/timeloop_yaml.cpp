#include <sstream>

#include "support/random_timeloop.hpp"

namespace tessera::testing {

namespace {

using namespace timeloop;

std::string factors_text(const Problem& problem, const LoopBlock& block) {
    std::string text;
    for (std::size_t d = 0; d < block.factors.size(); ++d) {
        const Factor& factor = block.factors[d];
        text += (d == 0 ? "" : " ") + problem.dimensions[d].name + "=" + std::to_string(factor.end);
        text += factor.perfect() ? "" : "," + std::to_string(factor.residual);
    }
    return text;
}

std::string order_text(const Problem& problem, const LoopBlock& block) {
    std::string text;
    for (int d : block.permutation) {
        text += problem.dimensions[d].name;
    }
    return text;
}

std::string names_text(const Problem& problem, DataSpaceMask mask) {
    std::string text;
    for (std::size_t s = 0; s < problem.data_spaces.size(); ++s) {
        if (mask >> s & 1) {
            text += (text.empty() ? "" : ", ") + problem.data_spaces[s].name;
        }
    }
    return "[ " + text + " ]";
}

void write_problem(const Problem& problem, std::ostream& out) {
    out << "problem:\n  shape:\n    name: random\n    dimensions: [";
    for (const Dimension& d : problem.dimensions) {
        out << (&d == &problem.dimensions[0] ? " " : ", ") << d.name;
    }
    out << " ]\n";
    if (!problem.coefficients.empty()) {
        out << "    coefficients:\n";
    }
    for (const Coefficient& c : problem.coefficients) {
        out << "    - { name: " << c.name << ", default: 1 }\n";
    }
    out << "    data-spaces:\n";
    for (const DataSpace& space : problem.data_spaces) {
        out << "    - name: " << space.name << "\n      projection:\n";
        for (const std::vector<Term>& rank : space.ranks) {
            out << "      - [ ";
            for (const Term& term : rank) {
                out << (&term == &rank[0] ? "" : ", ") << "["
                    << problem.dimensions[term.dimension].name;
                if (term.coefficient >= 0) {
                    out << ", " << problem.coefficients[term.coefficient].name;
                }
                out << "]";
            }
            out << " ]\n";
        }
        out << (space.read_write ? "      read-write: True\n" : "");
    }
    out << "  instance: {";
    for (const Dimension& d : problem.dimensions) {
        out << (&d == &problem.dimensions[0] ? " " : ", ") << d.name << ": " << d.bound;
    }
    for (const Coefficient& c : problem.coefficients) {
        out << ", " << c.name << ": " << c.value;
    }
    out << " }\n";
}

void write_level(const StorageLevel& level, std::ostream& out) {
    out << "  - { name: " << level.name << ", instances: " << level.instances
        << ", meshX: " << level.mesh_x << ", meshY: " << level.mesh_y
        << ", word-bits: " << level.word_bits << ", block-size: " << level.block_size
        << ", cluster-size: " << level.cluster_size;
    const auto give = [&](const char* key, const std::optional<double>& value) {
        if (value) {
            out << ", " << key << ": " << *value;
        }
    };
    if (level.technology == Technology::dram) {
        out << ", technology: DRAM";
    }
    if (level.size) {
        out << ", entries: " << *level.size;
    }
    if (level.reduction_supported) {
        out << ", reduction_supported: " << (*level.reduction_supported ? "true" : "false");
    }
    if (level.multiple_buffering != 1) {
        out << ", multiple-buffering: " << level.multiple_buffering;
    }
    give("read_bandwidth", level.read_bandwidth);
    give("write_bandwidth", level.write_bandwidth);
    give("shared_bandwidth", level.shared_bandwidth);
    if (level.energy.source == "user") {
        give("vector-access-energy", level.energy.vector_access_pj);
    }
    if (level.addr_gen_energy_pj >= 0) {
        give("addr-gen-energy", level.addr_gen_energy_pj);
    }
    if (level.area_um2 > 0) {
        give("cluster-area", level.area_um2 * static_cast<double>(level.cluster_size));
    }
    give("energy-per-hop", level.network.energy_per_hop_pj);
    give("router-energy", level.network.router_energy_pj);
    give("energy-per-ingress", level.network.energy_per_ingress_pj);
    give("wire-energy", level.network.wire_energy_pj_per_bit_mm);
    give("tile-width", level.network.tile_width_um);
    if (level.network.fill_latency + level.network.drain_latency > 0) {
        out << ", network_fill_latency: " << level.network.fill_latency
            << ", network_drain_latency: " << level.network.drain_latency;
    }
    out << " }\n";
}

void write_mapping(const TimeloopCase& c, std::ostream& out) {
    out << "mapping:\n";
    const DataSpaceMask all = (DataSpaceMask{1} << c.problem.data_spaces.size()) - 1;
    for (int i = 0; i < c.architecture.levels(); ++i) {
        const LevelMapping& level = c.mapping.levels[i];
        const std::string target = "- { target: " + c.architecture.storage[i].name + ", type: ";
        const auto limit = [&](const char* key, DataSpaceMask mask) {
            if (mask != 0) {
                out << ", " << key << ": " << names_text(c.problem, mask);
            }
        };
        out << target << "temporal, factors: \"" << factors_text(c.problem, level.temporal) << "\""
            << ", permutation: " << order_text(c.problem, level.temporal);
        limit("no_temporal_reuse", level.no_temporal_reuse);
        out << " }\n";
        if (c.architecture.fanout(i) > 1) {
            out << target << "spatial, factors: \"" << factors_text(c.problem, level.spatial)
                << "\""
                << ", permutation: " << order_text(c.problem, level.spatial)
                << ", split: " << level.spatial.split;
            limit("no_link_transfer", level.no_link_transfer);
            limit("no_multicast_no_reduction", level.no_multicast_no_reduction);
            out << " }\n";
        }
        out << target << "bypass, keep: " << names_text(c.problem, level.keep)
            << ", bypass: " << names_text(c.problem, all & ~level.keep) << " }\n";
    }
}

}  // namespace

std::string timeloop_yaml(const TimeloopCase& c) {
    std::ostringstream out;
    out.precision(17);
    write_problem(c.problem, out);
    const ArithmeticLevel& unit = c.architecture.arithmetic;
    out << "arch:\n  arithmetic: { instances: " << unit.instances << ", meshX: " << unit.mesh_x
        << ", meshY: " << unit.mesh_y << ", word-bits: " << unit.word_bits << " }\n  storage:\n";
    for (const StorageLevel& level : c.architecture.storage) {
        write_level(level, out);
    }
    write_mapping(c, out);
    return out.str();
}

}  // namespace tessera::testing
