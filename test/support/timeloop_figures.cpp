#include "support/timeloop_figures.hpp"

#include <cstdio>
#include <optional>

#include "timeloop/read.hpp"

namespace tessera::testing {

namespace {

using timeloop::Architecture;
using timeloop::Dialect;
using timeloop::Problem;
using timeloop::Stats;

std::string fixed(double value, const char* format = "%.2f") {
    char text[400];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

/// Values separated by blanks.
class Row {
public:
    Row& text(const std::string& value) {
        text_ += (text_.empty() ? "" : " ") + (value.empty() ? std::string("~") : value);
        return *this;
    }
    Row& number(double value) {
        return text(fixed(value));
    }
    Row& number(const std::optional<double>& value) {
        return text(value ? fixed(*value) : "-");
    }
    Row& count(std::uint64_t value) {
        return text(std::to_string(value));
    }
    Row& count(const std::optional<std::int64_t>& value) {
        return text(value ? std::to_string(*value) : "-");
    }
    const std::string& str() const {
        return text_;
    }

private:
    std::string text_;
};

template <class Level>
std::string mesh(const Level& level) {
    return std::to_string(level.instances) + "(" + std::to_string(level.mesh_x) + "*" +
           std::to_string(level.mesh_y) + ")";
}

std::string storage_row(const timeloop::StorageLevel& level, const timeloop::LevelStats& stats,
                        Dialect dialect) {
    Row row;
    row.text(level.technology == timeloop::Technology::dram ? "DRAM" : "SRAM");
    row.count(level.size).count(level.word_bits).count(level.block_size).count(level.cluster_size);
    row.text(mesh(level));
    row.number(level.shared_bandwidth).number(level.read_bandwidth).number(level.write_bandwidth);
    row.number(level.multiple_buffering);
    row.count(level.size ? std::optional(level.effective_size()) : std::nullopt);
    row.number(level.min_utilization).number(level.energy.vector_access_pj);
    row.text(level.energy.source);
    if (dialect == Dialect::master) {
        row.number(stats.leak_pj).number(stats.instances_sharing_power_gating);
        row.number(100 * stats.non_gated_utilization).number(stats.leakage_energy_pj);
    }
    row.number(level.area_um2).count(stats.cycles).number(stats.slowdown);
    return row.str();
}

std::string space_row(const timeloop::DataSpaceStats& s, Dialect dialect) {
    Row row;
    const double instances = s.utilized_instances;
    row.count(s.partition_size).count(s.utilized_capacity);
    row.count(static_cast<std::uint64_t>(instances)).count(s.utilized_clusters);
    row.count(s.reads).count(s.updates).count(s.fills).count(s.temporal_reductions);
    row.count(s.address_generations).number(s.energy_per_access_pj);
    row.number(s.energy_pj).number(s.energy_pj * instances);
    row.number(s.temporal_reduction_energy_pj).number(s.temporal_reduction_energy_pj * instances);
    row.number(s.addr_gen_energy_pj)
        .number(s.addr_gen_energy_pj * static_cast<double>(s.utilized_clusters));
    if (dialect == Dialect::master) {
        row.number(1.0);  // bandwidth consumption scale
    }
    for (double bandwidth : {s.shared_bandwidth, s.read_bandwidth, s.write_bandwidth}) {
        row.number(bandwidth).number(bandwidth * instances);
    }
    return row.str();
}

std::string network_row(const timeloop::StorageLevel& level) {
    const timeloop::Network& network = level.network;
    Row row;
    row.text("Legacy").text(network.subtype).text("3");
    row.count(network.word_bits ? *network.word_bits : level.word_bits);
    row.number(network.router_energy_pj).number(network.wire_energy_pj_per_bit_mm);
    row.number(network.energy_per_ingress_pj);
    row.count(network.fill_latency).count(network.drain_latency);
    return row.str();
}

std::string network_space_row(const timeloop::NetworkDataSpaceStats& s) {
    const double instances = s.utilized_instances;
    Row row;
    row.count(s.fanout).count(s.multicast_factor).number(s.total_ingresses);
    row.count(static_cast<std::uint64_t>(s.link_transfers)).count(s.spatial_reductions);
    row.number(s.num_hops).number(s.energy_per_hop_pj * 1000);
    for (double energy : {s.energy_pj, s.link_transfer_energy_pj, s.spatial_reduction_energy_pj}) {
        row.number(energy).number(energy * instances);
    }
    for (const timeloop::AccessRecord& record : s.ingresses) {
        row.text(std::to_string(record.multicast) + "x" + std::to_string(record.scatter) + ":" +
                 fixed(record.accesses));
    }
    return row.str();
}

void add_summary(const Architecture& architecture, const Stats& stats, Dialect dialect,
                 FigureRows& rows) {
    Row intensity, summary;
    intensity.count(stats.elementwise_ops).count(stats.reduction_ops).count(stats.total_ops);
    intensity.count(stats.minimal_accesses).number(stats.optimal_ops_per_byte);
    rows["intensity"] = intensity.str();
    const double computes = static_cast<double>(stats.arithmetic.computes);
    rows["fj " + architecture.arithmetic.name] =
        fixed(stats.arithmetic.energy_pj * 1000 / computes);
    for (int i = 0; i < architecture.levels(); ++i) {
        const std::string& name = architecture.storage[i].name;
        const timeloop::LevelStats& level = stats.levels[i];
        if (level.accesses > 0) {
            rows["intensity " + name] =
                std::to_string(level.accesses) + " " + fixed(stats.ops_per_byte[i]);
        } else {
            rows["intensity " + name] = "";
        }
        rows["fj " + name] = fixed(level.energy_pj * 1000 / computes);
        rows["fj " + stats.networks[i].name] = fixed(stats.networks[i].energy_pj * 1000 / computes);
    }
    rows["fj Total"] = fixed(stats.energy_pj * 1000 / computes);
    rows["cycles"] = std::to_string(stats.cycles);
    rows["utilization"] = fixed(stats.utilization);
    summary.number(stats.printed_gflops());
    summary.number(stats.utilization * (dialect == Dialect::master ? 100 : 1));
    summary.count(stats.cycles).number(stats.energy_pj / 1000000);
    summary.text(fixed(stats.printed_edp(), "%.2e")).text("0.00").count(stats.arithmetic.computes);
    rows["summary"] = summary.str();
}

}  // namespace

FigureRows figure_rows(const Problem& problem, const Architecture& architecture, const Stats& stats,
                       Dialect dialect) {
    FigureRows rows;
    Row arithmetic;
    const timeloop::ArithmeticLevel& unit = architecture.arithmetic;
    arithmetic.count(unit.word_bits).text(mesh(unit)).number(unit.energy_pj);
    arithmetic.count(stats.arithmetic.utilized_instances).count(stats.arithmetic.computes);
    arithmetic.count(stats.arithmetic.cycles).number(stats.arithmetic.energy_pj);
    arithmetic.number(stats.arithmetic.area_um2);
    rows[unit.name] = arithmetic.str();
    for (int i = 0; i < architecture.levels(); ++i) {
        const timeloop::StorageLevel& level = architecture.storage[i];
        rows[level.name] = storage_row(level, stats.levels[i], dialect);
        rows["net " + stats.networks[i].name] = network_row(level);
        for (std::size_t s = 0; s < problem.data_spaces.size(); ++s) {
            const std::string space = "|" + problem.data_spaces[s].name;
            if (stats.levels[i].data_spaces[s].kept) {
                rows[level.name + space] = space_row(stats.levels[i].data_spaces[s], dialect);
            }
            rows["net " + stats.networks[i].name + space] =
                network_space_row(stats.networks[i].data_spaces[s]);
        }
    }
    add_summary(architecture, stats, dialect, rows);
    return rows;
}

TimeloopInput timeloop_input(const std::string& text, Dialect dialect) {
    const timeloop::Document document = timeloop::read_document_text(text, "input.yaml");
    timeloop::Warnings warnings;
    TimeloopInput input;
    input.problem = timeloop::read_problem(document, warnings);
    input.architecture = timeloop::read_architecture(document, warnings);
    input.architecture.sparse =
        timeloop::read_sparse(document, input.problem, input.architecture, warnings);
    if (const auto ert = timeloop::read_ert(document, warnings)) {
        timeloop::apply_ert(input.architecture, *ert, dialect);
    }
    if (const auto art = timeloop::read_art(document, warnings)) {
        timeloop::apply_art(input.architecture, *art);
    }
    input.mapping =
        timeloop::read_mapping(document, input.problem, input.architecture, warnings).value();
    return input;
}

}  // namespace tessera::testing
