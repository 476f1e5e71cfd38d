// stats.txt. The layout is an interface: scripts of others read it by position and by words.
//
//   StatsWriter   levels, networks, operational intensity, summary

#include <algorithm>
#include <iomanip>
#include <optional>
#include <ostream>
#include <sstream>

#include "sparse_stats.hpp"
#include "timeloop/read/values.hpp"
#include "timeloop/write.hpp"

namespace tessera::timeloop {

namespace {

class StatsWriter {
public:
    StatsWriter(std::ostream& out, const Evaluated& evaluated, Dialect dialect)
        : out_(out),
          problem_(evaluated.problem),
          arch_(evaluated.architecture),
          stats_(evaluated.stats),
          loops_(printed_loops(evaluated.problem, evaluated.mapping)),
          master_(dialect == Dialect::master),
          hides_(master_ && switched_on("TIMELOOP_HIDE_INCONSEQUENTIAL_STATS", true)) {
        if (switched_on("TIMELOOP_OUTPUT_STAT_SCIENTIFIC", false)) {
            floats_ = std::scientific;
        } else if (switched_on("TIMELOOP_OUTPUT_STAT_DEFAULT_FLOAT", false)) {
            floats_ = std::defaultfloat;
        }
    }

    void run() {
        std::ios state(nullptr);
        state.copyfmt(out_);
        out_ << floats_ << std::setprecision(2) << std::left;
        out_ << "Buffer and Arithmetic Levels\n----------------------------\n";
        arithmetic();
        for (std::size_t i = 0; i < arch_.storage.size(); ++i) {
            if (!hidden(stats_.levels[i])) {
                out_ << "Level " << i + 1 << "\n-------\n";
                level(i);
            }
        }
        networks();
        intensity();
        summary();
        out_.copyfmt(state);
    }

private:
    bool hidden(const LevelStats& level) const {
        return hides_ && level.accesses == 0 && level.energy_pj == 0;
    }

    template <class T>
    void line(const char* name, const T& value, const char* unit = "") {
        out_ << name << value << unit << "\n";
    }
    /// "-" for what is not given.
    template <class T>
    void optional(const char* name, const std::optional<T>& value, const char* unit = "") {
        value ? line(name, *value, unit) : line(name, "-", unit);
    }

    void arithmetic() {
        const ArithmeticLevel& level = arch_.arithmetic;
        const ArithmeticStats& stats = stats_.arithmetic;
        if (hides_ && stats.energy_pj == 0) {
            return;
        }
        out_ << "Level 0\n-------\n=== " << level.name << " ===\n\n    SPECS\n    -----\n";
        line("    Word bits             : ", level.word_bits);
        instances("    Instances             : ", level);
        line("    Compute energy        : ", level.energy_pj, " pJ");
        out_ << "\n    STATS\n    -----\n";
        if (stats_.sparse) {
            write_sparse_arithmetic(out_, stats);
            out_ << "\n";
            return;
        }
        line("    Utilized instances      : ", stats.utilized_instances);
        line("    Computes (total)        : ", stats.computes);
        line("    Cycles                  : ", stats.cycles);
        line("    Energy (total)          : ", stats.energy_pj, " pJ");
        line("    Area (total)            : ", stats.area_um2, " um^2");
        out_ << "\n";
    }

    template <class Level>
    void instances(const char* name, const Level& level) {
        out_ << name << level.instances << " (" << level.mesh_x << "*" << level.mesh_y << ")\n";
    }

    void level(std::size_t index) {
        const StorageLevel& level = arch_.storage[index];
        const LevelStats& stats = stats_.levels[index];
        out_ << "=== " << level.name << " ===\n\n    SPECS\n    -----\n";
        if (stats_.sparse) {
            write_sparse_specs(out_, level, stats, dialect());
        } else {
            specs(level, stats);
        }
        out_ << "\n    MAPPING\n    -------\n    Loop nest:\n";
        std::string indent = "      ";
        const std::vector<Loop>& loops = loops_[index];
        for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
            if (loop->end > 1) {
                out_ << indent << loop_text(problem_, *loop) << "\n";
                indent += "  ";
            }
        }
        out_ << "\n    STATS\n    -----\n";
        line("    Cycles               : ", stats.cycles);
        line("    Bandwidth throttling : ", stats.slowdown);
        for (std::size_t d = 0; d < problem_.data_spaces.size(); ++d) {
            if (stats.data_spaces[d].kept) {
                out_ << "    " << problem_.data_spaces[d].name << ":\n";
                const double scale = level.scale_of(problem_.data_spaces[d].name);
                if (stats_.sparse) {
                    write_sparse_space(out_, stats.data_spaces[d], stats.sparse[d], scale,
                                       dialect());
                } else {
                    data_space(stats.data_spaces[d], scale);
                }
            }
        }
        out_ << "\n";
    }

    Dialect dialect() const {
        return master_ ? Dialect::master : Dialect::v3_0_3;
    }

    /// The column of the colon depends on the dialect.
    std::string spec_name(const char* name) const {
        std::ostringstream text;
        text << "        " << std::left << std::setw(master_ ? 32 : 28) << name << ": ";
        return text.str();
    }

    void specs(const StorageLevel& level, const LevelStats& stats) {
        const auto name = [&](const char* text) { return spec_name(text); };
        std::optional<std::int64_t> effective;
        if (level.size) {
            effective = level.effective_size();
        }
        line(name("Technology").c_str(), level.technology == Technology::dram ? "DRAM" : "SRAM");
        optional(name("Size").c_str(), level.size);
        line(name("Word bits").c_str(), level.word_bits);
        line(name("Block size").c_str(), level.block_size);
        line(name("Cluster size").c_str(), level.cluster_size);
        instances(name("Instances").c_str(), level);
        optional(name("Shared bandwidth").c_str(), level.shared_bandwidth);
        optional(name("Read bandwidth").c_str(), level.read_bandwidth);
        optional(name("Write bandwidth").c_str(), level.write_bandwidth);
        line(name("Multiple buffering").c_str(), level.multiple_buffering);
        optional(name("Effective size").c_str(), effective);
        line(name("Min utilization").c_str(), level.min_utilization);
        line(name("Vector access energy").c_str(), level.energy.vector_access_pj, " pJ");
        line(name("Vector access energy source").c_str(), level.energy.source);
        if (master_) {
            line(name("Per-instance-cycle leakage").c_str(), stats.leak_pj, " pJ");
            line(name("Instances sharing power gating").c_str(),
                 stats.instances_sharing_power_gating);
            line(name("Non-power-gated utilization").c_str(), stats.non_gated_utilization * 100,
                 "%");
            line(name("Leakage energy (total)").c_str(), stats.leakage_energy_pj, " pJ");
        }
        line(name("Area").c_str(), level.area_um2, " um^2");
    }

    void data_space(const DataSpaceStats& s, double scale) {
        line("        Partition size                           : ", s.partition_size);
        line("        Utilized capacity                        : ", s.utilized_capacity);
        line("        Utilized instances (max)                 : ",
             static_cast<int>(s.utilized_instances));
        line("        Utilized clusters (max)                  : ", s.utilized_clusters);
        line("        Scalar reads (per-instance)              : ", s.reads);
        const char* updates = "        Scalar updates (per-instance)            : ";
        const char* fills = "        Scalar fills (per-instance)              : ";
        master_ ? line(fills, s.fills) : line(updates, s.updates);
        master_ ? line(updates, s.updates) : line(fills, s.fills);
        line("        Temporal reductions (per-instance)       : ", s.temporal_reductions);
        line("        Address generations (per-cluster)        : ", s.address_generations);
        line("        Energy (per-scalar-access)               : ", s.energy_per_access_pj, " pJ");
        both("        Energy (per-instance)                    : ",
             "        Energy (total)                           : ", s.energy_pj,
             s.utilized_instances);
        both("        Temporal Reduction Energy (per-instance) : ",
             "        Temporal Reduction Energy (total)        : ", s.temporal_reduction_energy_pj,
             s.utilized_instances);
        both("        Address Generation Energy (per-cluster)  : ",
             "        Address Generation Energy (total)        : ", s.addr_gen_energy_pj,
             static_cast<double>(s.utilized_clusters));
        if (master_) {
            line("        Bandwidth Consumption Scale              : ", scale);
        }
        const char* unit = " words/cycle";
        both("        Shared Bandwidth (per-instance)          : ",
             "        Shared Bandwidth (total)                 : ", s.shared_bandwidth,
             s.utilized_instances, unit);
        both("        Read Bandwidth (per-instance)            : ",
             "        Read Bandwidth (total)                   : ", s.read_bandwidth,
             s.utilized_instances, unit);
        both("        Write Bandwidth (per-instance)           : ",
             "        Write Bandwidth (total)                  : ", s.write_bandwidth,
             s.utilized_instances, unit);
    }

    /// A value per instance, and the same times the instances.
    void both(const char* one, const char* all, double value, double instances,
              const char* unit = " pJ") {
        line(one, value, unit);
        line(all, value * instances, unit);
    }

    void networks() {
        out_ << "Networks\n--------\n";
        int printed = 0;
        for (const int i : arch_.networks_by_name()) {
            if (!hides_ || stats_.networks[i].energy_pj != 0) {
                out_ << "Network " << printed++ << "\n---------\n";
                network(i);
            }
        }
    }

    void network(std::size_t index) {
        const Network& network = arch_.storage[index].network;
        std::string subtype = network.subtype;
        std::replace(subtype.begin(), subtype.end(), ':', '_');
        out_ << stats_.networks[index].name << "\n\n    SPECS\n    -----\n";
        line("        Type            : ", "Legacy");
        line("        Legacy sub-type : ", subtype);
        line("        ConnectionType  : ", 3);
        line("        Word bits       : ",
             network.word_bits.value_or(arch_.storage[index].word_bits));
        optional("        Router energy   : ", network.router_energy_pj, " pJ");
        optional("        Wire energy     : ", network.wire_energy_pj_per_bit_mm, " pJ/b/mm");
        optional("        Ingress energy  : ", network.energy_per_ingress_pj, " pJ");
        line("        Fill latency    : ", network.fill_latency);
        line("        Drain latency   : ", network.drain_latency);
        out_ << "\n    STATS\n    -----\n";
        for (std::size_t d = 0; d < problem_.data_spaces.size(); ++d) {
            out_ << "    " << problem_.data_spaces[d].name << ":\n";
            network_data_space(stats_.networks[index].data_spaces[d]);
        }
        out_ << "\n";
    }

    void network_data_space(const NetworkDataSpaceStats& s) {
        line("        Fanout                                  : ", s.fanout);
        line("        Multicast factor                        : ", s.multicast_factor);
        line("        Ingresses                               : ", s.total_ingresses);
        for (const AccessRecord& record : s.ingresses) {
            out_ << "            @multicast " << record.multicast << " @scatter " << record.scatter
                 << ": " << record.accesses << "\n";
        }
        line("        Link transfers                          : ",
             static_cast<std::uint64_t>(s.link_transfers));
        line("        Spatial reductions                      : ", s.spatial_reductions);
        line("        Average number of hops                  : ", s.num_hops);
        line("        Energy (per-hop)                        : ", s.energy_per_hop_pj * 1000,
             " fJ");
        both("        Energy (per-instance)                   : ",
             "        Energy (total)                          : ", s.energy_pj,
             s.utilized_instances);
        both("        Link transfer energy (per-instance)     : ",
             "        Link transfer energy (total)            : ", s.link_transfer_energy_pj,
             s.utilized_instances);
        both("        Spatial Reduction Energy (per-instance) : ",
             "        Spatial Reduction Energy (total)        : ", s.spatial_reduction_energy_pj,
             s.utilized_instances);
    }

    template <class T>
    void aligned(const char* name, const T& value) {
        out_ << "    " << std::left << std::setw(40) << name << ": " << value << "\n";
    }

    void intensity() {
        out_ << "\nOperational Intensity Stats\n---------------------------\n";
        aligned("Total elementwise ops", stats_.elementwise_ops);
        aligned("Total reduction ops", stats_.reduction_ops);
        aligned("Total ops", stats_.total_ops);
        aligned("Total memory accesses required", stats_.minimal_accesses);
        aligned("Optimal Op per Byte", stats_.optimal_ops_per_byte);
        out_ << "\n";
        for (std::size_t i = 0; i < arch_.storage.size(); ++i) {
            out_ << "=== " << arch_.storage[i].name << " ===\n";
            if (stats_.levels[i].accesses > 0) {
                aligned("Total scalar accesses", stats_.levels[i].accesses);
                aligned("Op per Byte", stats_.ops_per_byte[i]);
            }
        }
        out_ << "\n\n";
    }

    void summary() {
        out_ << "Summary Stats\n-------------\n";
        line("GFLOPs (@1GHz): ", stats_.printed_gflops());
        line("Utilization: ", stats_.utilization * (master_ ? 100 : 1), master_ ? "%" : "");
        line("Cycles: ", stats_.cycles);
        line("Energy: ", stats_.energy_pj / 1000000, " uJ");
        out_ << std::scientific;
        line("EDP(J*cycle): ", stats_.printed_edp());
        out_ << floats_;
        line("Area: ", 0.0, " mm^2");  // Timeloop clears the sum before it prints it
        computes();
    }

    void computes() {
        if (stats_.sparse) {
            computes("Algorithmic Computes", "fJ/Algorithmic-Compute",
                     stats_.arithmetic.algorithmic_computes);
            computes("Actual Computes", "fJ/Compute", stats_.arithmetic.computes);
        } else {
            computes("Computes", "fJ/Compute", stats_.arithmetic.computes);
        }
        out_ << "\n";
    }

    void computes(const char* title, const char* unit, std::uint64_t computes) {
        const auto count = static_cast<double>(computes);
        std::size_t width = arch_.arithmetic.name.size();
        for (std::size_t i = 0; i < arch_.storage.size(); ++i) {
            width = std::max({width, arch_.storage[i].name.size(), stats_.networks[i].name.size()});
        }
        const auto row = [&](const std::string& name, double energy_pj) {
            out_ << "    " << std::left << std::setw(static_cast<int>(width) + 1) << name << "= "
                 << energy_pj * 1000 / count << "\n";
        };
        const auto shown = [&](double energy_pj) { return !hides_ || energy_pj != 0; };
        out_ << "\n" << title << " = " << computes << "\n" << unit << "\n";
        if (shown(stats_.arithmetic.energy_pj)) {
            row(arch_.arithmetic.name, stats_.arithmetic.energy_pj);
        }
        for (std::size_t i = 0; i < arch_.storage.size(); ++i) {
            if (shown(stats_.levels[i].energy_pj)) {
                row(arch_.storage[i].name, stats_.levels[i].energy_pj);
            }
        }
        for (const int i : arch_.networks_by_name()) {
            if (shown(stats_.networks[i].energy_pj)) {
                row(stats_.networks[i].name, stats_.networks[i].energy_pj);
            }
        }
        row("Total", stats_.energy_pj);
    }

    std::ostream& out_;
    const Problem& problem_;
    const Architecture& arch_;
    const Stats& stats_;
    std::vector<std::vector<Loop>> loops_;
    bool master_;
    bool hides_;  ///< levels and networks without effect
    std::ios_base& (*floats_)(std::ios_base&) = std::fixed;
};

}  // namespace

std::string summary_line(const Stats& stats, Dialect dialect) {
    std::ostringstream out;
    out << "Utilization = " << std::fixed << std::setw(4) << std::setprecision(2)
        << stats.utilization;
    if (stats.sparse) {
        out << " | pJ/Algorithmic-Compute = " << std::setw(8) << std::setprecision(3)
            << stats.energy_pj / static_cast<double>(stats.arithmetic.algorithmic_computes);
    }
    out << " | pJ/Compute = " << std::setw(8) << std::setprecision(3)
        << stats.energy_pj / static_cast<double>(stats.arithmetic.computes);
    if (dialect == Dialect::master) {
        out << " | Cycles = " << stats.cycles;
    }
    return out.str();
}

void write_stats(std::ostream& out, const Evaluated& evaluated, Dialect dialect) {
    StatsWriter(out, evaluated, dialect).run();
}

}  // namespace tessera::timeloop
