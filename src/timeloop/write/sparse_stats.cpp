// Names, columns and missing parentheses are Timeloop's: scripts read them.
#include "sparse_stats.hpp"

#include <algorithm>
#include <iomanip>
#include <optional>
#include <ostream>
#include <string>

namespace tessera::timeloop {

namespace {

using Op = StorageOperation;

/// Lines "NAME   : VALUE UNIT" of one block.
class Lines {
public:
    Lines(std::ostream& out, const char* indent, int width)
        : out_(out), indent_(indent), width_(width) {}

    std::ostream& name(const std::string& text) {
        return out_ << indent_ << std::left << std::setw(width_) << text;
    }
    template <class T>
    void line(const std::string& text, const T& value, const char* unit = "") {
        name(text) << ": " << value << unit << "\n";
    }
    template <class T>
    void optional(const std::string& text, const std::optional<T>& value) {
        value ? line(text, *value) : line(text, "-");
    }
    /// A value per instance, and the same of all.
    void both(const std::string& text, const std::string& per, double value, double instances) {
        line(text + " (" + per + ")", value, " pJ");
        line(text + " (total)", value * instances, " pJ");
    }

protected:
    std::ostream& out_;

private:
    const char* indent_;
    int width_;
};

class SpaceLines : public Lines {
public:
    SpaceLines(std::ostream& out, const DataSpaceStats& stats, const SparseSpaceStats& sparse,
               double scale, bool master)
        : Lines(out, "        ", 60),
          stats_(stats),
          sparse_(sparse),
          scale_(scale),
          master_(master) {}

    void run() {
        line("Partition size", stats_.partition_size);
        line("Tile density distribution", sparse_.density);
        line("Data tile shape", sparse_.tile_points);
        line("Max utilized data storage capacity", stats_.utilized_capacity);
        line("Representation format", sparse_.format);
        const bool formatted = sparse_.format != "none";
        name("Max utilized Repr format storage capacity") << (formatted ? "\n" : ": 0\n");
        ranks(sparse_.capacity, ", ", sparse_.format_accesses[at(Op::random_metadata_read)].size());
        line("Utilized instances (max)", sparse_.max_instances);
        line("Utilized instances (average)", stats_.utilized_instances);
        line("Utilized clusters (max)", stats_.utilized_clusters);
        scalars("reads", stats_.reads, Op::random_read, Op::gated_read, Op::skipped_read);
        scalars("fills", stats_.fills, Op::random_fill, Op::gated_fill, Op::skipped_fill);
        scalars("updates", stats_.updates, Op::random_update, Op::gated_update, Op::skipped_update);
        if (formatted) {
            formats("reads", Op::random_metadata_read);
            formats("fills", Op::random_metadata_fill);
            formats("updates", Op::random_metadata_update);
        }
        line("Temporal reductions (per-instance)", stats_.temporal_reductions);
        line("Address generations (per-cluster)", stats_.address_generations);
        line("Energy (per-scalar-access)", stats_.energy_per_access_pj, " pJ");
        both("Energy", "per-instance", stats_.energy_pj, stats_.utilized_instances);
        both("Temporal Reduction Energy", "per-instance", stats_.temporal_reduction_energy_pj,
             stats_.utilized_instances);
        both("Address Generation Energy", "per-cluster", stats_.addr_gen_energy_pj,
             static_cast<double>(stats_.utilized_clusters));
        if (master_) {
            line("Bandwidth Consumption Scale", scale_);
        }
        bandwidth("Shared", stats_.shared_bandwidth, sparse_.shared_format_share, true);
        bandwidth("Read", stats_.read_bandwidth, sparse_.read_format_share, false);
        bandwidth("Write", stats_.write_bandwidth, sparse_.write_format_share, false);
    }

private:
    void scalars(const std::string& kind, std::uint64_t algorithmic, Op random, Op gated,
                 Op skipped) {
        const auto count = [&](Op op) { return sparse_.accesses[at(op)]; };
        const std::string of = " scalar " + kind + " (per-instance)";
        line("Algorithmic" + of, algorithmic);
        line("Actual" + of, count(random));
        line("Gated" + of, count(gated));
        line("Skipped" + of, count(skipped));
    }

    /// Operations follow each other as random, gated, skipped.
    void formats(const std::string& kind, Op random) {
        int op = at(random);
        for (const char* way : {"Actual", "Gated", "Skipped"}) {
            name(way + (" scalar format " + kind + " (per-instance)"));
            if (sparse_.format_bits[op] == 0) {
                out_ << ": 0\n";
            } else {
                out_ << "\n";
                ranks(sparse_.format_accesses[op], ",  ", sparse_.format_accesses[op].size());
            }
            ++op;
        }
    }

    void ranks(const TileAccesses& words, const char* comma, std::size_t count) {
        for (std::size_t r = std::min(count, words.size()); r-- > 0;) {
            out_ << "            Rank " << r << " (metadata, payload): (" << words[r].metadata
                 << comma << words[r].payload << ")\n";
        }
    }

    void bandwidth(const std::string& kind, double words, double format_share, bool shared) {
        line("Average " + kind + " Bandwidth (per-instance)", words, " words/cycle");
        // Dialect master lacks parentheses, in its output and in what it subtracts.
        const double data = master_ ? 1 - format_share * 100.0 : 100 * (1 - format_share);
        out_ << "            Breakdown (Data, Format): (" << data << "%, " << 100 * format_share
             << (shared && master_ ? "%" : "%)") << "\n";
        // In the order of Timeloop's product, which rounds.
        line(kind + " Bandwidth (total)", words * static_cast<double>(sparse_.max_instances),
             " words/cycle");
    }

    const DataSpaceStats& stats_;
    const SparseSpaceStats& sparse_;
    const double scale_;
    bool master_;
};

}  // namespace

void write_sparse_arithmetic(std::ostream& out, const ArithmeticStats& stats) {
    Lines lines(out, "    ", 29);
    lines.line("Utilized instances (max)", stats.utilized_instances);
    lines.line("Utilized instances (average)", stats.average_instances);
    lines.line("Cycles", stats.cycles);
    lines.line("Algorithmic Computes (total)", stats.algorithmic_computes);
    lines.line("Actual Computes (total)", stats.computes);
    lines.line("Gated Computes (total)", stats.gated_computes);
    lines.line("Skipped Computes (total)", stats.skipped_computes);
    lines.line("Energy (total)", stats.energy_pj, " pJ");
    lines.line("Area (total)", stats.area_um2, " um^2");
    out << "\n";
}

void write_sparse_specs(std::ostream& out, const StorageLevel& level, const LevelStats& stats,
                        Dialect dialect) {
    const bool master = dialect == Dialect::master;
    Lines lines(out, "        ", master ? 32 : 29);
    lines.line("Technology", level.technology == Technology::dram ? "DRAM" : "SRAM");
    lines.optional("Data storage size", level.size);
    lines.line("Data word bits", level.word_bits);
    lines.line("Data block size", level.block_size);
    lines.line("Metadata storage width(bits)", level.metadata.width_bits);
    lines.optional("Metadata storage depth", level.metadata.depth);
    lines.line("Cluster size", level.cluster_size);
    lines.line("Instances", std::to_string(level.instances) + " (" + std::to_string(level.mesh_x) +
                                "*" + std::to_string(level.mesh_y) + ")");
    lines.optional("Shared bandwidth", level.shared_bandwidth);
    lines.optional("Read bandwidth", level.read_bandwidth);
    lines.optional("Write bandwidth", level.write_bandwidth);
    lines.line("Multiple buffering", level.multiple_buffering);
    lines.optional("Effective data storage size",
                   level.size ? std::optional(level.effective_size()) : std::nullopt);
    lines.line("Min utilization", level.min_utilization);
    lines.line("Vector read energy", level.energy.of(Op::random_read), " pJ");
    lines.line("Vector write energy", level.energy.of(Op::random_fill), " pJ");
    lines.line("Vector metadata read energy", level.energy.of(Op::random_metadata_read), " pJ");
    lines.line("Vector metadata write energy", level.energy.of(Op::random_metadata_fill), " pJ");
    lines.line("(De)compression energy", level.energy.of(Op::decompression), " pJ");
    if (master) {
        lines.line("Per-instance-cycle leakage", stats.leak_pj, " pJ");
        lines.line("Instances sharing power gating", stats.instances_sharing_power_gating);
        lines.line("Non-power-gated utilization", stats.non_gated_utilization * 100, "%");
        lines.line("Leakage energy (total)", stats.leakage_energy_pj, " pJ");
    }
    lines.line("Area", level.area_um2, " um^2");
}

void write_sparse_space(std::ostream& out, const DataSpaceStats& stats,
                        const SparseSpaceStats& sparse, double scale, Dialect dialect) {
    SpaceLines(out, stats, sparse, scale, dialect == Dialect::master).run();
}

}  // namespace tessera::timeloop
