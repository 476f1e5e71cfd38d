// map+stats.xml: which fields of Timeloop's objects stand where in the archive.

#include <optional>
#include <ostream>

#include "timeloop/write.hpp"
#include "xml_archive.hpp"

namespace tessera::timeloop {

namespace {

using xml::Archive;

class XmlWriter {
public:
    XmlWriter(std::ostream& out, const Evaluated& evaluated)
        : archive_(out),
          problem_(evaluated.problem),
          arch_(evaluated.architecture),
          mapping_(evaluated.mapping),
          stats_(evaluated.stats),
          loops_(printed_loops(evaluated.problem, evaluated.mapping)) {}

    void run() {
        archive_.element("engine", "Engine", [&] {
            archive_.element("topology_", "Topology", [&] {
                levels();
                networks();
            });
        });
        archive_.element("mapping", "Mapping", [&] { bypass(); });
        archive_.raw("<" + archive_.tracked("a") + ">", 1);
        archive_.element("workload_", "Workload", [&] { workload(); });
        archive_.raw("</a>", -1);
        archive_.finish();
    }

private:
    void count(std::size_t items, int version) {
        archive_.value("count", items);
        archive_.value("item_version", version);
    }

    /// An attribute that may be absent. Attributes are classes by the type of their value.
    template <class T>
    void attribute(const char* name, const char* type, const std::optional<T>& value) {
        if (value) {
            archive_.element(name, type, [&] { archive_.value("t_", *value); });
        } else {
            archive_.empty(name, type);
        }
    }
    void whole(const char* name, std::optional<std::int64_t> value) {
        attribute(name, "Attribute<whole>", value);
    }
    void real(const char* name, std::optional<double> value) {
        attribute(name, "Attribute<real>", value);
    }

    /// One item per data space. `get(d)` gives it.
    template <class Get>
    void per_space(const char* name, const char* type, const Get& get) {
        archive_.element(name, type, [&] {
            archive_.element("PerDataSpace", "", [&] {
                for (std::size_t d = 0; d < problem_.data_spaces.size(); ++d) {
                    archive_.value("item", get(d));
                }
            });
        });
    }

    void levels() {
        archive_.element("levels_", "Levels", [&] {
            count(arch_.storage.size() + 1, 1);
            archive_.element(
                "item", "LevelPointer",
                [&] { archive_.object("model::ArithmeticUnits", [&] { arithmetic(); }); }, 1);
            for (std::size_t i = 0; i < arch_.storage.size(); ++i) {
                archive_.element("item", "LevelPointer", [&] {
                    archive_.object("model::BufferLevel", [&] { buffer(i); });
                });
            }
        });
    }

    void level_name(const std::string& name) {
        archive_.element("LevelSpecs", "LevelSpecs", [&] { archive_.value("level_name", name); });
    }

    void arithmetic() {
        const ArithmeticLevel& level = arch_.arithmetic;
        const ArithmeticStats& stats = stats_.arithmetic;
        archive_.empty("Level", "Level");
        archive_.element("specs_", "ArithmeticSpecs", [&] {
            level_name(level.name);
            whole("instances", level.instances);
            whole("meshX", level.mesh_x);
            whole("meshY", level.mesh_y);
            whole("word_bits", level.word_bits);
        });
        archive_.value("energy_", stats.energy_pj);
        archive_.value("area_", stats.area_um2);
        archive_.value("cycles_", stats.cycles);
        const bool sparse = stats_.sparse;
        archive_.value("utilized_instances_", stats.utilized_instances);
        archive_.value("avg_utilized_instances_",
                       sparse ? stats.average_instances : stats.utilized_instances);
        archive_.value("algorithmic_computes_",
                       sparse ? stats.algorithmic_computes : stats.computes);
        archive_.value("random_computes_", stats.computes);
        archive_.value("gated_computes_", stats.gated_computes);
        archive_.value("skipped_computes_", stats.skipped_computes);
    }

    void buffer(std::size_t index) {
        archive_.empty("Level", "Level");
        archive_.element("subnest_", "Loops", [&] {
            count(loops_[index].size(), 0);
            for (const Loop& loop : loops_[index]) {
                archive_.element("item", "Loop", [&] {
                    archive_.value("dimension", loop.dimension);
                    archive_.value("start", 0);
                    archive_.value("end", loop.end);
                    archive_.value("stride", 1);
                    archive_.value("spacetime_dimension", static_cast<int>(loop.kind));
                });
            }
        });
        archive_.element("specs_", "BufferSpecs", [&] { specs(index); });
        archive_.element("stats_", "BufferStats", [&] { stats(stats_.levels[index]); });
    }

    void specs(std::size_t index) {
        const StorageLevel& level = arch_.storage[index];
        level_name(level.name);
        attribute("name", "Attribute<text>", std::optional<std::string>(level.name));
        attribute("technology", "Attribute<technology>",
                  std::optional<int>(level.technology == Technology::dram ? 1 : 0));
        whole("size", level.size);
        whole("word_bits", level.word_bits);
        whole("addr_gen_bits", static_cast<std::int64_t>(stats_.levels[index].addr_gen_bits));
        whole("block_size", level.block_size);
        whole("cluster_size", level.cluster_size);
        whole("instances", level.instances);
        whole("meshX", level.mesh_x);
        whole("meshY", level.mesh_y);
        real("shared_bandwidth", level.shared_bandwidth);
        real("read_bandwidth", level.read_bandwidth);
        real("write_bandwidth", level.write_bandwidth);
        real("multiple_buffering", level.multiple_buffering);
        real("min_utilization", level.min_utilization);
        whole("num_ports", level.num_ports);
        whole("num_banks", level.num_banks);
        for (const char* name : {"read_network_name", "fill_network_name", "drain_network_name",
                                 "update_network_name"}) {
            archive_.empty(name, "Attribute<text>");
        }
    }

    void stats(const LevelStats& level) {
        const char* whole_numbers = "PerDataSpace<whole>";
        const char* real_numbers = "PerDataSpace<real>";
        const auto w = [&](const char* name, auto field) {
            per_space(name, whole_numbers,
                      [&](std::size_t d) { return level.data_spaces[d].*field; });
        };
        const auto r = [&](const char* name, auto field) {
            per_space(name, real_numbers,
                      [&](std::size_t d) { return level.data_spaces[d].*field; });
        };
        // Of dense designs all accesses are done, none gated or skipped.
        const auto operation = [&](const char* name, StorageOperation what,
                                   std::uint64_t DataSpaceStats::*done) {
            per_space(name, whole_numbers, [&](std::size_t d) {
                return stats_.sparse     ? level.sparse[d].accesses[at(what)]
                       : done == nullptr ? 0
                                         : level.data_spaces[d].*done;
            });
        };
        const auto share = [&](const char* name, double SparseSpaceStats::*field) {
            per_space(name, real_numbers,
                      [&](std::size_t d) { return stats_.sparse ? level.sparse[d].*field : 0.0; });
        };
        using S = DataSpaceStats;
        using Op = StorageOperation;
        per_space("keep", "PerDataSpace<bool>",
                  [&](std::size_t d) { return level.data_spaces[d].kept; });
        w("partition_size", &S::partition_size);
        w("utilized_capacity", &S::utilized_capacity);
        r("utilized_instances", &S::utilized_instances);
        w("utilized_clusters", &S::utilized_clusters);
        w("reads", &S::reads);
        w("updates", &S::updates);
        w("fills", &S::fills);
        operation("gated_reads", Op::gated_read, nullptr);
        operation("skipped_reads", Op::skipped_read, nullptr);
        operation("random_reads", Op::random_read, &S::reads);
        operation("gated_fills", Op::gated_fill, nullptr);
        operation("skipped_fills", Op::skipped_fill, nullptr);
        operation("random_fills", Op::random_fill, &S::fills);
        operation("gated_updates", Op::gated_update, nullptr);
        operation("skipped_updates", Op::skipped_update, nullptr);
        operation("random_updates", Op::random_update, &S::updates);
        formats(level);
        per_space("decompression_counts", whole_numbers, [](std::size_t) { return 0; });
        operation("compression_counts", Op::compression, nullptr);
        w("address_generations", &S::address_generations);
        w("temporal_reductions", &S::temporal_reductions);
        r("shared_bandwidth", &S::shared_bandwidth);
        r("read_bandwidth", &S::read_bandwidth);
        r("write_bandwidth", &S::write_bandwidth);
        per_space("energy_per_algorithmic_access", real_numbers, [&](std::size_t d) {
            return stats_.sparse ? level.sparse[d].energy_per_algorithmic_access_pj
                                 : level.data_spaces[d].energy_per_access_pj;
        });
        r("energy_per_access", &S::energy_per_access_pj);
        r("energy", &S::energy_pj);
        r("temporal_reduction_energy", &S::temporal_reduction_energy_pj);
        r("addr_gen_energy", &S::addr_gen_energy_pj);
        archive_.value("cycles", level.cycles);
        archive_.value("slowdown", level.slowdown);
        share("format_shared_bandwidth_ratio", &SparseSpaceStats::shared_format_share);
        share("format_read_bandwidth_ratio", &SparseSpaceStats::read_format_share);
        share("format_write_bandwidth_ratio", &SparseSpaceStats::write_format_share);
    }

    /// Accesses to compressed formats: none in dense designs.
    void formats(const LevelStats& level) {
        using Op = StorageOperation;
        format_accesses(level, "random_format_reads", Op::random_metadata_read);
        format_accesses(level, "gated_format_reads", Op::gated_metadata_read);
        format_accesses(level, "skipped_format_reads", Op::skipped_metadata_read);
        format_accesses(level, "random_format_fills", Op::random_metadata_fill);
        format_accesses(level, "gated_format_fills", Op::gated_metadata_fill);
        format_accesses(level, "skipped_format_fills", Op::skipped_metadata_fill);
        format_accesses(level, "random_format_updates", Op::random_metadata_update);
        format_accesses(level, "gated_format_updates", Op::gated_metadata_update);
        format_accesses(level, "skipped_format_updates", Op::skipped_metadata_update);
    }

    void format_accesses(const LevelStats& level, const char* name, StorageOperation operation) {
        archive_.element(name, "PerDataSpace<formats>", [&] {
            archive_.element("PerDataSpace", "", [&] {
                for (std::size_t d = 0; d < problem_.data_spaces.size(); ++d) {
                    archive_.element("item", "Formats", [&] {
                        ranks(stats_.sparse ? level.sparse[d].format_accesses[at(operation)]
                                            : TileAccesses{});
                    });
                }
            });
        });
    }

    void ranks(const TileAccesses& accesses) {
        count(accesses.size(), 0);
        for (const RankAccesses& rank : accesses) {
            archive_.number_silently("Rank");
            archive_.element("item", "", [&] {
                count(2, 0);
                archive_.value("item", rank.metadata);
                archive_.value("item", rank.payload);
            });
        }
    }

    void networks() {
        archive_.element("networks_", "Networks", [&] {
            count(stats_.networks.size(), 0);
            for (const int index : arch_.networks_by_name()) {
                archive_.element("item", "NetworkPair", [&] {
                    archive_.value("first", stats_.networks[index].name);
                    archive_.element(
                        "second", "NetworkPointer",
                        [&] { archive_.object("model::LegacyNetwork", [&] { network(index); }); },
                        1);
                });
            }
        });
    }

    void network(std::size_t index) {
        const StorageLevel& level = arch_.storage[index];
        const Network& network = level.network;
        archive_.empty("Network", "Network");
        archive_.element("specs_", "LegacySpecs", [&] {
            archive_.element("NetworkSpecs", "NetworkSpecs",
                             [&] { archive_.value("name", stats_.networks[index].name); });
            whole("word_bits", network.word_bits.value_or(level.word_bits));
            real("router_energy", network.router_energy_pj);
            real("wire_energy", network.wire_energy_pj_per_bit_mm);
            real("tile_width", network.tile_width_um.value_or(0));
            real("energy_per_hop", network.energy_per_hop_pj);
            real("ingress_energy", network.energy_per_ingress_pj);
            whole("fill_latency", network.fill_latency);
            whole("drain_latency", network.drain_latency);
        });
        archive_.element("stats_", "LegacyStats",
                         [&] { network_stats(stats_.networks[index].data_spaces); });
    }

    void network_stats(const std::vector<NetworkDataSpaceStats>& spaces) {
        using S = NetworkDataSpaceStats;
        const auto put = [&](const char* name, const char* type, auto field) {
            per_space(name, type, [&](std::size_t d) { return spaces[d].*field; });
        };
        const char* whole_numbers = "PerDataSpace<whole>";
        const char* real_numbers = "PerDataSpace<real>";
        put("fanout", whole_numbers, &S::fanout);
        put("multicast_factor", whole_numbers, &S::multicast_factor);
        per_space("distributed_multicast_factor", whole_numbers, [](std::size_t) { return 0; });
        per_space("distributed_multicast", "PerDataSpace<bool>", [](std::size_t) { return false; });
        per_space("link_transfers", whole_numbers, [&](std::size_t d) {
            return static_cast<std::uint64_t>(spaces[d].link_transfers);
        });
        put("spatial_reductions", whole_numbers, &S::spatial_reductions);
        put("link_transfer_energy", real_numbers, &S::link_transfer_energy_pj);
        put("num_hops", real_numbers, &S::num_hops);
        put("energy_per_hop", real_numbers, &S::energy_per_hop_pj);
        put("energy", real_numbers, &S::energy_pj);
        put("spatial_reduction_energy", real_numbers, &S::spatial_reduction_energy_pj);
    }

    void bypass() {
        archive_.element("datatype_bypass_nest", "", [&] {
            for (std::size_t d = 0; d < problem_.data_spaces.size(); ++d) {
                std::string bits(32, '0');
                for (std::size_t i = 0; i < mapping_.levels.size() && i < bits.size(); ++i) {
                    bits[bits.size() - 1 - i] =
                        mapping_.levels[i].keeps(static_cast<int>(d)) ? '1' : '0';
                }
                archive_.element("item", "Bits", [&] { archive_.value("bits", bits); });
            }
        });
    }

    /// A map from numbers to whole numbers.
    template <class Items, class Get>
    void numbers(const char* name, const Items& items, const Get& get) {
        archive_.element(name, "Numbers", [&] {
            count(items.size(), 0);
            for (std::size_t i = 0; i < items.size(); ++i) {
                archive_.element("item", "NumberPair", [&] {
                    archive_.value("first", i);
                    archive_.value("second", get(items[i]));
                });
            }
        });
    }

    void workload() {
        numbers("factorized_bounds_", problem_.dimensions,
                [](const Dimension& dimension) { return dimension.bound; });
        numbers("coefficients_", problem_.coefficients,
                [](const Coefficient& coefficient) { return coefficient.value; });
        archive_.element("densities_", "Densities", [&] {
            count(problem_.data_spaces.size(), 0);
            for (std::size_t d = 0; d < problem_.data_spaces.size(); ++d) {
                archive_.element("item", "DensityPair", [&] {
                    archive_.value("first", d);
                    archive_.element(
                        "second", "DensityPointer", [&] { density(d); }, 1);
                });
            }
        });
    }

    void density(std::size_t space) {
        const sparsity::DensitySpec& spec = problem_.data_spaces[space].density;
        const std::string type =
            stats_.sparse ? stats_.levels.front().sparse[space].density : "fixed-structured";
        switch (spec.distribution) {
            case sparsity::Distribution::hypergeometric:
                distribution("problem::HypergeometricDistribution", type, [&] {
                    archive_.value("average_density", spec.density);
                    archive_.value("workload_tensor_size", words(problem_.data_spaces[space]));
                });
                break;
            case sparsity::Distribution::banded:
                distribution("problem::BandedDistribution", type, [] {});
                break;
            default:
                distribution("problem::FixedStructuredDistribution", type,
                             [&] { archive_.value("fixed_density", spec.density); });
        }
    }

    std::uint64_t words(const DataSpace& space) const {
        std::uint64_t result = 1;
        for (const std::vector<Term>& rank : space.ranks) {
            result *= rank_extent<std::uint64_t>(rank, [&](int d) {
                return static_cast<std::uint64_t>(
                    problem_.dimensions[static_cast<std::size_t>(d)].bound - 1);
            });
        }
        return result;
    }

    template <class Fields>
    void distribution(const std::string& class_name, const std::string& type,
                      const Fields& fields) {
        archive_.object(class_name, [&] {
            archive_.empty("DensityDistribution", "DensityDistribution");
            archive_.element("specs_", class_name + "::Specs", [&] {
                archive_.element("DensityDistributionSpecs", "DensitySpecs",
                                 [&] { archive_.value("type", std::string("UNSET")); });
                archive_.value("type", type);
                fields();
            });
        });
    }

    Archive archive_;
    const Problem& problem_;
    const Architecture& arch_;
    const Mapping& mapping_;
    const Stats& stats_;
    std::vector<std::vector<Loop>> loops_;
};

}  // namespace

void write_xml(std::ostream& out, const Evaluated& evaluated) {
    XmlWriter(out, evaluated).run();
}

}  // namespace tessera::timeloop
