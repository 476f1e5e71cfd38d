// The Timeloop cost model for dense mappings, as Timeloop computes it: same counts, energies and
// cycles to the last bit that is printed. Two evaluators give the same numbers:
//   evaluate()     as written in the rules, with every printed figure;
//   CompiledModel  compiled per problem and architecture, cost only, no allocation per mapping.
// Neither has process-wide state: every object may be used beside any other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "timeloop/architecture.hpp"
#include "timeloop/mapping.hpp"
#include "timeloop/problem.hpp"

namespace tessera::timeloop {

/// What Timeloop takes from its environment variables, here an argument.
struct ModelOptions {
    Dialect dialect = Dialect::v3_0_3;
    bool first_read_elision = true;  ///< TIMELOOP_ENABLE_FIRST_READ_ELISION
    bool link_transfers = true;      ///< not TIMELOOP_DISABLE_LINK_TRANSFERS
};

/// Why a mapping is no mapping, or ok.
struct Fit {
    /// From `metadata` on: of sparse designs, see describe().
    enum class Kind : std::uint8_t {
        ok,
        kept_nowhere,
        capacity,
        min_utilization,
        metadata,
        instances,
        no_decompression,
        no_compression,
        no_partition,
        unaligned_formats,
        too_many_ranks,
        ranks_do_not_fit,
        no_source,
        fanout,
        two_skips,
        child_format,
        block_size,
        operands,
        density
    };
    Kind kind = Kind::ok;
    int level = -1;            ///< storage level, -1: arithmetic; kept_nowhere: the data space
    std::uint64_t needed = 0;  ///< scalars
    double available = 0;      ///< effective size, or the least number of scalars

    bool ok() const {
        return kind == Kind::ok;
    }
};
// ---- Counters have 64 bits as Timeloop's; what could come near that is refused.

/// The most points of a problem for which no count of words overflows on any architecture.
double most_iterations(const Problem& problem);
/// Words of all data spaces, and the most that they may be.
double words_of(const Problem& problem);
inline constexpr double most_words = 9223372036854775808.0;

/// "mapped tile size 40 exceeds buffer capacity 32", with the level's name.
std::string describe(const Fit& fit, const Problem& problem, const Architecture& architecture);

// ---- What an evaluation says: every figure that stats.txt, map+stats.xml and the JSON file print.
// Counts that Timeloop keeps in unsigned 64-bit counters are kept the same way, so that a negative
// count prints as it does there (Stats::wrapped tells). Energies in pJ, areas in um^2.

struct ArithmeticStats {
    std::uint64_t utilized_instances = 0, computes = 0, cycles = 0;
    double energy_pj = 0, area_um2 = 0;  ///< all instances
    // Sparse designs only: there `computes` are those really done.
    std::uint64_t average_instances = 0;  ///< rounded down, as Timeloop counts with it
    std::uint64_t algorithmic_computes = 0, gated_computes = 0, skipped_computes = 0;
};

/// One data space in one storage level; per instance unless said otherwise.
struct DataSpaceStats {
    bool kept = false;
    std::uint64_t partition_size = 0, utilized_capacity = 0;
    double utilized_instances = 0;
    std::uint64_t utilized_clusters = 0;
    std::uint64_t reads = 0, updates = 0, fills = 0;
    std::uint64_t temporal_reductions = 0;
    std::uint64_t address_generations = 0;  ///< per cluster
    double energy_per_access_pj = 0;        ///< NaN without any access
    double energy_pj = 0;
    double temporal_reduction_energy_pj = 0;
    double addr_gen_energy_pj = 0;                                         ///< per cluster
    double shared_bandwidth = 0, read_bandwidth = 0, write_bandwidth = 0;  ///< words / cycle

    double total_energy_pj() const {
        return energy_pj * utilized_instances;
    }
};

struct LevelStats {
    std::vector<DataSpaceStats> data_spaces;
    std::vector<SparseSpaceStats> sparse;  ///< per data space; empty for dense designs
    std::uint64_t cycles = 0;
    double slowdown = 1;  ///< bandwidth throttling
    std::uint64_t addr_gen_bits = 0;
    // Dialect master; all zero in 3.0.3.
    double leak_pj = 0;  ///< per instance and cycle
    double instances_sharing_power_gating = 1, non_gated_utilization = 1;
    double leakage_energy_pj = 0;
    /// Storage, reduction, address generation and leakage, all instances.
    double energy_pj = 0;
    std::uint64_t accesses = 0;  ///< scalar reads, updates and fills of all instances
    double area_um2 = 0;         ///< all instances
};

/// One row `@multicast m @scatter s` of a network.
struct AccessRecord {
    std::uint64_t multicast = 1, scatter = 1;
    double accesses = 0, hops = 0;
};

/// One data space in one network; per instance of the storage level above it.
struct NetworkDataSpaceStats {
    std::uint64_t fanout = 0, multicast_factor = 0;
    std::vector<AccessRecord> ingresses;  ///< ascending (multicast, scatter)
    double total_ingresses = 0;
    double link_transfers = 0;  ///< printed as an integer
    std::uint64_t spatial_reductions = 0;
    double num_hops = 0;  ///< on average
    double energy_per_hop_pj = 0, energy_pj = 0, link_transfer_energy_pj = 0;
    double spatial_reduction_energy_pj = 0;
    double utilized_instances = 0;
};

struct NetworkStats {
    std::string name;  ///< "GB <==> RF"
    std::vector<NetworkDataSpaceStats> data_spaces;
    double energy_pj = 0;  ///< all instances
};

struct Stats {
    ArithmeticStats arithmetic;
    std::vector<LevelStats> levels;      ///< as Architecture::storage
    std::vector<NetworkStats> networks;  ///< network i lies below storage level i
    std::uint64_t cycles = 0;
    double energy_pj = 0;
    double utilization = 0;
    double area_um2 = 0;  ///< the true sum; Timeloop's own summary prints 0
    std::uint64_t elementwise_ops = 0, reduction_ops = 0, total_ops = 0;
    std::uint64_t minimal_accesses = 0;  ///< `Total memory accesses required`
    double optimal_ops_per_byte = 0;
    std::vector<double> ops_per_byte;  ///< per storage level; negative: no accesses

    /// A counter went below zero (imperfect factors only) or beyond 2^63 (cycles at a bandwidth of
    /// almost nothing) and wrapped around as Timeloop's does: the figures are what Timeloop prints
    /// and mean nothing.
    bool wrapped = false;
    /// Data spaces whose outermost level does not hold them whole: Timeloop forgets the rest and
    /// charges nothing. One text each, naming level and data space.
    std::vector<std::string> forgotten;
    /// Points of the problem: what `arithmetic.computes` would be if it were not for `miscounted`.
    double problem_computes = 0;
    bool sparse = false;  ///< of a sparse design
    /// Timeloop counts loops with a shorter last pass as if every pass were whole: computes, their
    /// energy, utilization and operational intensities are Timeloop's and not those of the problem.
    bool miscounted = false;

    /// Share of the arithmetic that the problem keeps busy.
    double problem_utilization() const {
        return utilization * problem_computes / static_cast<double>(arithmetic.computes);
    }
    double edp() const {  ///< J * cycle
        return energy_pj * static_cast<double>(cycles) / 1e12;
    }
    /// As Timeloop's summary prints them: partly in single precision.
    double printed_edp() const {
        return static_cast<float>(cycles) * energy_pj / 1e12;
    }
    double printed_gflops() const {
        return static_cast<float>(total_ops) / static_cast<float>(cycles);
    }
};

struct Evaluation {
    Fit fit;
    Stats stats;  ///< complete also where the mapping does not fit, unless kept_nowhere
};

/// Evaluates one mapping. The architecture carries its energies (apply_default_energies,
/// apply_ert). \pre structural_fault() is empty. \throws UserError as CompiledModel does, and for
/// imperfect mappings with so many iterations that counters overflow (there: Cost::wrapped).
Evaluation evaluate(const Problem& problem, const Architecture& architecture,
                    const Mapping& mapping, const ModelOptions& options = {});

/// The cost of one mapping, without the figures behind it.
struct Cost {
    Fit fit;
    double energy_pj = 0;
    std::uint64_t cycles = 0;
    double utilization = 0;
    bool wrapped = false;                                  ///< see Stats::wrapped
    bool forgets = false;                                  ///< see Stats::forgotten
    std::uint64_t accesses[FlatMapping::max_levels] = {};  ///< per storage level, all instances

    double edp() const {
        return energy_pj * static_cast<double>(cycles) / 1e12;
    }
};

/// The cost of evaluate(), also where counters would overflow (`wrapped`). The only one that knows
/// sparse designs: CompiledModel takes them for dense ones.
Cost cost_of(const Problem& problem, const Architecture& architecture, const Mapping& mapping,
             const ModelOptions& options);

/// Compiled once per problem and architecture. Immutable: threads share it, each with its own
/// Workspace.
class CompiledModel {
public:
    /// \throws UserError from check_topology(), for more levels, dimensions, ranks or data
    /// spaces than the evaluators hold, or for counts that could overflow.
    CompiledModel(const Problem& problem, const Architecture& architecture,
                  const ModelOptions& options = {});
    ~CompiledModel();

    /// Scratch memory of one thread. Grows to its largest mapping, then stays.
    class Workspace {
    public:
        Workspace();
        ~Workspace();

    private:
        friend class CompiledModel;
        struct Impl;
        std::unique_ptr<Impl> impl_;
    };

    /// Capacities alone, far cheaper: tile sizes from the products of loop ends.
    Fit check_capacity(const FlatMapping& mapping) const;

    /// The same numbers as evaluate(), bit by bit. Where the mapping does not fit, only
    /// `Cost::fit` is set.
    void evaluate(const FlatMapping& mapping, Workspace& workspace, Cost& cost) const;

private:
    struct Impl;
    std::unique_ptr<const Impl> impl_;
};

}  // namespace tessera::timeloop
