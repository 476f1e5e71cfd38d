// The hardware as one Einsum on one compute node sees it.
//
// `Path` is the flattened root-to-compute list of levels with every expression evaluated for the
// Einsum, all scales applied, in SI units. The cost model and the mapspace read nothing else of the
// architecture. Immutable after building; safe to read from any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tessera/arch/convention.hpp"
#include "tessera/base/comparison.hpp"
#include "tessera/spec/expression.hpp"
#include "tessera/workload/einsum_view.hpp"

namespace tessera::arch {

using workload::RankVariableMask;
using workload::TensorMask;

enum class LevelKind : std::uint8_t { memory, toll, compute, container, network, array };
enum class Direction : std::uint8_t { up_and_down, up, down };
enum class Topology : std::uint8_t { mesh, all_to_all };

/// Comparison of trip counts: `expression` variables, one by one or their product, against `value`.
struct LoopBound {
    using Op = base::Comparison;
    RankVariableMask variables = 0;
    bool product = false;
    Op op = Op::equal;
    double value = 1;
    Position where;
};

/// One spatial dimension of a level.
struct PathDim {
    std::string name;
    std::int64_t fanout = 1;
    TensorMask may_reuse = ~0ull;  ///< multicast and spatial reduction allowed for these tensors
    TensorMask reuse = 0;  ///< loops over variables that index these tensors must have trip count 1
    std::vector<LoopBound> loop_bounds;
    double min_usage = 0;  ///< best effort, in [0, 1]
    double usage_scale = 1;
    bool power_gateable = false;
    Position where;
};

/// Values of a tensor in a box of these sizes, by rank variable, as the convention counts offsets
/// and signs.
double values_in(const workload::LocalTensor& tensor, const std::vector<std::int64_t>& sizes,
                 const Convention& convention);
/// Share of a fan-out in use.
double share_in_use(const PathDim& dim, double used);
/// Most instances that may be in use. Physical: no more than there are; and the reference's rule,
/// that the share in use is at most 1. One may always be.
double most_used(const PathDim& dim, bool physical);
/// Fewest instances whose share in use is `min_usage`, as share_in_use() rounds it.
double least_used(const PathDim& dim);
/// Most bits that a memory of this size holds: sums of shares of distributed memories and of
/// fractional bits per value are rounded.
inline double most_bits(double size_bits) {
    return size_bits * (1 + 1e-12);
}

/// Where the instances of a distributed memory sit (memory inside an Array).
struct PhysicalDim {
    std::string name;
    std::int64_t fanout = 1;
    double stride = 1;
};

/// One action with all scales applied. Throughput may be infinite. The action of a compute is one
/// point of the Einsum's iteration space, with all operations that the Einsum does there.
struct PathAction {
    std::string name;  ///< read, write, compute or hop
    double energy_j = 0;
    double throughput_per_s = std::numeric_limits<double>::infinity();
    double latency_s = 0;  ///< networks: seconds per hop
    std::vector<double>
        values_per_action;  ///< per local tensor (memories, tolls); networks: values per hop unit
};

/// `total_latency` compiled to postfix: evaluated over numbers and over formulas alike.
struct LatencyProgram {
    enum class Op : std::uint8_t {
        constant,
        n_calls,
        max_hops,
        max_link_traffic,
        add,
        sub,
        mul,
        div,
        max,
        min,
        ceil,
        floor
    };
    struct Step {
        Op op = Op::constant;
        double value = 0;  ///< constant
        int action = 0;    ///< n_calls: index into PathLevel::actions
    };
    std::vector<Step> steps;
};

/// One level of the path. Fields that do not apply to the kind keep their defaults.
struct PathLevel {
    LevelKind kind = LevelKind::memory;
    std::string name;
    bool enabled = true;
    /// Compute: an operation of the Einsum that it does not have; then it is not enabled.
    std::string lacks_operation;
    std::vector<PathDim> spatial;  ///< fan-out of this level and of everything after it
    double cumulative_fanout = 1;  ///< product of all fan-outs down to and including this level
    std::vector<PathAction>
        actions;               ///< memory: read, write; toll: read; compute: compute; network: hop
    double actions_scale = 1;  ///< multiplies action counts (energy and latency)
    LatencyProgram latency;
    bool has_latency = true;  ///< false: container and array

    // memory, toll
    double size_bits = std::numeric_limits<double>::infinity();
    double bank_bits = 0;  ///< a bank holds bits of one tensor alone; 0: there are no banks
    /// A given mapping that overflows it runs without the holders that do not fit; and whatever it
    /// must keep, it may do without.
    bool bypass_on_overflow = false;
    bool skip_initial_output_write = true;
    std::vector<double> bits_per_value;  ///< per local tensor; occupancy and traffic
    std::vector<Direction> direction;    ///< toll, per local tensor
    std::vector<PhysicalDim> physical;   ///< distributed memory: its own placement

    // network
    Topology topology = Topology::mesh;
    std::vector<double> actions_per_value;  ///< per local tensor: bits per value / bits per action

    // mapper options, evaluated while storage choices are made (they may use memory names and
    // `Above`)
    spec::Expression keep, may_keep, back;
    bool has_may_keep = false, has_keep = false;
    TensorMask no_refetch_from_above = 0;
    TensorMask no_resend_to_below = 0;
    /// Allowed orders; each order lists disjoint tensor sets from outer to inner.
    std::vector<std::vector<spec::Expression>> tensor_order_options;
    bool force_memory_hierarchy_order = true;
    Position where;

    bool holds_tensors() const {
        return kind == LevelKind::memory || kind == LevelKind::toll;
    }
    bool distributed() const;
    int find_dim(const std::string& name) const;  ///< index into spatial or -1
};

/// One component of the whole architecture that leaks, on the path or not.
struct Leak {
    std::string component;
    double leak_power_w = 0;  ///< all instances together
    /// Dimensions on the way down whose unused instances are switched off.
    struct Gate {
        int level = 0;  ///< index into Path::levels; -1: not on this path (unused, so fully gated)
        int dim = 0;
        double fanout = 1;
    };
    std::vector<Gate> gates;
    bool off = false;  ///< a power-gated branch that this Einsum does not use
};

/// The flattened hardware of one Einsum on one compute.
struct Path {
    workload::EinsumView einsum;
    std::vector<PathLevel> levels;  ///< outermost first; the last one is the compute
    std::vector<Leak> leaks;        ///< every component of the tree, in file order
    spec::Symbols symbols;          ///< einsum_symbols plus variables and `<component>` attributes

    int find_level(const std::string& name) const;  ///< index or -1
    int first_memory() const;                       ///< index of the outermost memory
    /// Whether spatial loops of `level` spread data over a network: then hops depend on the order
    /// in which they and the loops around them stand.
    bool spreads_over_network(int level) const;
    const PathLevel& compute() const {
        return levels.back();
    }
    /// Why the compute may not run the Einsum, e.g. "`enabled` is false"; empty if it may.
    std::string refusal() const;
};

/// Evaluates a tensor-set expression for the path. `extra` holds memory names decided so far and
/// Above. \throws UserError naming the expression's position.
TensorMask evaluate_tensors(const spec::Expression& expression, const spec::Symbols& extra);

}  // namespace tessera::arch
