// The cost analysis of one Einsum, written once over an abstract number: `double` evaluates a
// mapping, `Formula` formulates a template.
//
// Map of the method (rules and symbols: docs/model.md):
//   Analysis::run            loops_pass: trip counts, steps, operations, fan-out use
//                            tensor_pass per tensor: scan (outer to inner), then settle (inner to
//                            outer) merge_copy for copy Einsums
//   scan                     walks the tensor's nest once and notes at every holder the tile, the
//                            products of trip counts above it and of the segment since the holder
//                            above
//   settle                   turns the notes into traffic: what a holder exchanges with its child
//   is
//                            the child's tile times the trips of the segment between them
// Its other methods, for who runs it:
//   traffic_analysis.hpp     settle and merge_copy
//   partial_tiles.hpp        the trips of loops over variables with a partial last tile
//   network_analysis.hpp     hops and link traffic, and how many units of a distributed memory are
//   used
// The linear pass equals the textbook recursion over nodes: a record is only read by the next
// holder outwards, so products of trips between two holders are all that is needed.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "nest_plan.hpp"
#include "path_tables.hpp"
#include "tessera/mapping/pmapping.hpp"
#include "tessera/model/formula.hpp"
#include "tessera/model/formula_pool.hpp"

namespace tessera::model {

/// What one holder does. Actions are net (skipped first accesses taken off), before actions_scale.
template <class Num>
struct HolderCounts {
    int node = 0;    ///< index of the holder in the pmapping
    int tensor = 0;  ///< copy Einsums: the input, for all that lie in one buffer with it
    int level = 0;
    Num reads{}, writes{};            ///< all instances together
    Num unit_reads{}, unit_writes{};  ///< busiest instance
    Num down{}, up{};                 ///< values that leave and enter the outermost memory, else 0
    Num bits{};                       ///< occupancy of one instance, n_instances not included
    Num least_bits{};                 ///< nowhere above it: OccupancyFormula::least_bits
    int loops_above = 0;              ///< above the reservation, in the pmapping's own order
    bool persistent = false;
};

template <class Num>
struct NetworkCounts {
    int level = 0;   ///< of the network
    int source = 0;  ///< level of the holder that sends
    int tensor = 0;
    Num hops{};       ///< all deliveries together
    Num max_hops{};   ///< longest route of one delivery
    int traffic = 0;  ///< first of n_dim_names entries of Analysis::traffic
};

/// A distributed memory divides what its units hold and do by the number of units in use.
template <class Num>
struct HolderNote {
    Num tile{};                             ///< values at the holder
    Num temporal{}, relevant{}, spatial{};  ///< products of trips above
    Num segment{}, segment_first{};         ///< since the holder above; for first accesses
    Num bits{}, least_bits{};
    Num units{};
    int place = 0;  ///< among the steps of the tensor's nest
    int loops_above = 0;
    int node = 0;
    int level = 0;
};

template <class Num>
class Analysis {
public:
    /// \pre `plan` was built for these nodes and tables; nodes end with the compute.
    void run(const PathTables& tables, std::span<const mapping::PmappingNode> nodes,
             const NestPlan& plan);

    std::vector<HolderCounts<Num>> holders;  ///< by tensor, outer to inner
    std::vector<NetworkCounts<Num>> networks;
    std::vector<Num> traffic;  ///< see NetworkCounts::traffic
    std::vector<Num> used;     ///< per PathTables::dims entry: instances in use
    std::vector<char> looped;  ///< per PathTables::dims entry: some loop uses the dimension
    /// Of `used`, what is in use on average over the iterations: less where tiles are partial.
    Num average_used(int dim) const;
    bool has_partial_tiles() const {
        return !partial_.empty();
    }
    Num operations{};  ///< computes, all instances together
    Num steps{};       ///< of the busiest instance: each iteration takes the time of a whole one
    /// Copy Einsums: per holder node the entry of `holders` that it was merged into; else empty.
    std::vector<std::pair<int, int>> merged;

private:
    using Nodes = std::span<const mapping::PmappingNode>;

    static Num tile_of(const mapping::PmappingNode& node);
    void enter(const mapping::PmappingNode& node);
    Num average_tile(const mapping::PmappingNode& node) const;
    bool may_be_partial(Nodes nodes, const mapping::PmappingNode& loop, bool outermost) const;
    Num rounded_up(const Num& trips, int variable, bool outermost) const;
    void loops_pass(Nodes nodes);
    void tensor_pass(Nodes nodes, const NestPlan& plan, int tensor);
    void scan(Nodes nodes, const NestPlan& plan, int tensor);

    // traffic_analysis.hpp
    struct Exchange {
        Num down{};     ///< values that a holder asks its parent for
        Num up{};       ///< values that it sends up
        Num first{};    ///< of those asked for, values that are still zero
        int place = 0;  ///< of who asks: behind a toll not the toll, but whom it hands on to
    };
    struct Values {
        Num reads{}, writes{};
    };
    void settle(Nodes nodes, int tensor);
    Exchange own_exchange(const mapping::PmappingNode& node, const HolderNote<Num>& note,
                          const Exchange& child, bool has_parent) const;
    HolderCounts<Num> charge(const mapping::PmappingNode& node, const HolderNote<Num>& note,
                             const Exchange& own, const Exchange& child) const;
    Values values_moved(const mapping::PmappingNode& node, const HolderNote<Num>& note,
                        const Exchange& own, const Exchange& child, bool unit) const;
    void merge_copy(const NestPlan::CopySource& source);
    Num values(const TensorFacts& tensor, const std::vector<Num>& shape) const;
    void hold_open(Nodes below, const TensorFacts& tensor, const Num& bits_per_value,
                   HolderNote<Num>& note);
    const Num& trips_for(const NestStep& step) const {
        return step.relevancy == workload::Relevancy::irrelevant ? whole_trips_[step.node]
                                                                 : trips_[step.node];
    }
    bool reused(const mapping::PmappingNode& node, const NestStep& step, int tensor) const;
    int dim_index(const mapping::PmappingNode& node) const {
        return t_->levels[node.level].first_dim + node.dim;
    }

    // partial_tiles.hpp
    struct PartialLoop {
        int node = 0;
        int dim = -1;         ///< into PathTables::dims; -1: temporal
        Num outer{}, tile{};  ///< tile shapes around it and inside
        bool temporal() const {
            return dim < 0;
        }
    };
    /// All loops over a variable one of which may leave a partial last tile, as they are written.
    struct PartialVariable {
        int variable = 0;
        std::vector<PartialLoop> loops;
    };
    /// Which loops count: those above the place `from`, but for spatial ones above the place `to`
    /// (`unit`) and shared ones below it.
    struct PartialTrips {
        int from = 0, to = 0;
        bool unit = false;   ///< what the first instance at `to` does
        bool first = false;  ///< of it what is done for the first time
    };
    void find_partial(Nodes nodes);
    std::uint64_t partial_variables(Nodes nodes) const;
    bool is_partial(const mapping::PmappingNode& loop) const {
        return partial_variables_ >> loop.rank_variable & 1;
    }
    Num times_partial(Num amount, int tensor, const PartialTrips& wanted) const;
    template <class Counts>
    Num tiles_of(const PartialVariable& partial, const Counts& counts) const;

    // network_analysis.hpp
    void network_pass(Nodes nodes, std::span<const NestStep> steps, int tensor);
    void start_route(int note, int tensor);
    void loop_over_routes(Nodes nodes, const NestStep& step, int at, int tensor, int first_route);
    Num active_units(int level);

    const PathTables* t_ = nullptr;
    /// Per variable, at the current position: what an iteration covers on average, and the most.
    /// They differ only below a loop with a prologue.
    std::vector<Num> shape_, largest_;
    std::vector<Num> trips_;        ///< per node, average for partial tiles
    std::vector<Num> whole_trips_;  ///< per node, partial tiles rounded up
    std::uint64_t partial_variables_ = 0;
    std::vector<PartialVariable> partial_;
    std::vector<int> place_;    ///< per node: its step in the tensor's nest; loops of partial_ only
    std::vector<char> shared_;  ///< of the same: one transfer serves all instances
    std::vector<HolderNote<Num>> notes_;
    std::vector<Num> tile_at_;  ///< per step of the tensor's nest, network pass only
    std::vector<Num> below_;    ///< per dim: trips of deeper spatial loops, network pass only
};

template <class Num>
Num Analysis<Num>::tile_of(const mapping::PmappingNode& node) {
    if constexpr (std::is_same_v<Num, Formula>) {
        if (node.symbol >= 0) {
            return Formula::symbol(node.symbol);
        }
    }
    return Num(static_cast<double>(node.tile));
}

// A loop with a prologue covers all values of its variable in base / tile iterations: traffic,
// which is linear in the tile, counts the average, and a capacity the first iteration.
template <class Num>
Num Analysis<Num>::average_tile(const mapping::PmappingNode& node) const {
    const Num tile = tile_of(node);
    return node.base > 0 ? tile * Num(t_->bounds[node.rank_variable] / node.base) : tile;
}

template <class Num>
void Analysis<Num>::enter(const mapping::PmappingNode& node) {
    shape_[node.rank_variable] = average_tile(node);
    largest_[node.rank_variable] =
        node.prologue > 0 ? tile_of(node) + Num(node.prologue) : tile_of(node);
}

// Numbers speak for themselves: of the loops over a variable the outermost may leave a partial last
// tile. A template says which loops may.
template <class Num>
bool Analysis<Num>::may_be_partial(Nodes nodes, const mapping::PmappingNode& loop,
                                   bool outermost) const {
    if constexpr (std::is_same_v<Num, Formula>) {
        if (t_->convention.round_up_partial_tiles) {
            return loop.imperfect;
        }
        return std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) {
            return node.rank_variable == loop.rank_variable && node.imperfect;
        });
    }
    return outermost;
}

// The reference counts whole iterations of the outermost loop over a variable alone. Of a template
// that is the first one with more than one trip: around it is the whole bound.
template <class Num>
Num Analysis<Num>::rounded_up(const Num& trips, int variable, bool outermost) const {
    if (outermost || t_->convention.round_up_partial_tiles) {
        return ceil(trips);
    }
    const Num whole = max(shape_[variable] - Num(t_->bounds[variable] - 1), Num(0));  // 1 or 0
    return max(trips, ceil(trips) * whole);
}

template <class Num>
void Analysis<Num>::run(const PathTables& tables, Nodes nodes, const NestPlan& plan) {
    t_ = &tables;
    holders.clear();
    networks.clear();
    traffic.clear();
    merged.clear();
    loops_pass(nodes);
    for (int t = 0; t < tables.n_tensors; ++t) {
        tensor_pass(nodes, plan, t);
    }
    if (tables.copy) {
        merge_copy(plan.copy_source());
        operations = Num(0);
        steps = Num(0);
    }
}

template <class Num>
void Analysis<Num>::loops_pass(Nodes nodes) {
    const PathTables& t = *t_;
    shape_.resize(t.n_variables);
    for (int v = 0; v < t.n_variables; ++v) {
        shape_[v] = Num(t.bounds[v]);
    }
    largest_ = shape_;
    trips_.resize(nodes.size());
    whole_trips_.resize(nodes.size());
    used.assign(t.dims.size(), Num(1));
    looped.assign(t.dims.size(), 0);
    operations = Num(1);
    steps = Num(1);
    find_partial(nodes);
    std::uint64_t seen = 0, below_prologue = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const int v = nodes[i].rank_variable;
        if (v < 0) {
            continue;
        }
        const Num tile = tile_of(nodes[i]);
        trips_[i] = (nodes[i].base > 0 ? Num(nodes[i].base) : shape_[v]) / tile;
        if (t.only_last >> v & 1) {
            trips_[i] = Num(1);
        }
        const bool outermost = !(seen >> v & 1);
        const bool partial =
            nodes[i].base == 0 && (t.simple >> v & 1) && may_be_partial(nodes, nodes[i], outermost);
        whole_trips_[i] = partial ? rounded_up(trips_[i], v, outermost) : trips_[i];
        seen |= std::uint64_t{1} << v;
        operations = operations * trips_[i];
        const Num& counted = t.convention.round_up_partial_tiles ? whole_trips_[i] : trips_[i];
        if (nodes[i].kind == mapping::NodeKind::temporal) {
            steps = steps * counted;
        } else {
            const int dim = dim_index(nodes[i]);
            used[dim] = used[dim] * (below_prologue >> v & 1 ? largest_[v] / tile : counted);
            looped[dim] = 1;
        }
        below_prologue &= ~(std::uint64_t{1} << v);
        below_prologue |= std::uint64_t{nodes[i].base > 0} << v;
        enter(nodes[i]);
    }
}

template <class Num>
void Analysis<Num>::tensor_pass(Nodes nodes, const NestPlan& plan, int tensor) {
    scan(nodes, plan, tensor);
    if (t_->has_networks || t_->has_distributed) {
        network_pass(nodes, plan.tensor(tensor), tensor);
    }
    settle(nodes, tensor);
}

/// An extent: one factor of a formula, where these are kept so.
inline double whole(double extent) {
    return extent;
}
inline Formula whole(const Formula& extent) {
    return extent.is_constant() ? extent : FormulaPool::current().whole(extent);
}

template <class Num>
Num Analysis<Num>::values(const TensorFacts& tensor, const std::vector<Num>& shape) const {
    Num total(1);
    for (int r = tensor.begin; r < tensor.end; ++r) {
        const TensorFacts::Rank& rank = t_->ranks[r];
        if (rank.plain) {
            total = total * shape[rank.variable];
            continue;
        }
        Num extent(1 + rank.offset);
        for (int i = rank.begin; i < rank.end; ++i) {
            const TensorFacts::Term& term = t_->terms[i];
            extent = extent + (shape[term.variable] - Num(1)) * Num(term.coefficient);
        }
        total = total * whole(extent);
    }
    return total;
}

// The least that is held when any one of the partially relevant loops right below may come first,
// and what would be held below all of them.
template <class Num>
void Analysis<Num>::hold_open(Nodes below, const TensorFacts& tensor, const Num& bits_per_value,
                              HolderNote<Num>& note) {
    const std::vector<Num> shape = shape_, largest = largest_;
    std::vector<Num> inside = largest_;  // of all of them
    for (const mapping::PmappingNode& node : below) {
        // The next holder ends the gap, and with it the choice.
        if (node.kind != mapping::NodeKind::temporal ||
            !((tensor.relevant | tensor.partial) >> node.rank_variable & 1)) {
            break;
        }
        if (!(tensor.partial >> node.rank_variable & 1)) {
            continue;  // the reservation has sunk through it
        }
        enter(node);
        inside[node.rank_variable] = largest_[node.rank_variable];
        note.bits = min(note.bits, values(tensor, largest_) * bits_per_value);
        shape_ = shape;
        largest_ = largest;
    }
    note.least_bits = values(tensor, inside) * bits_per_value;
}

// Multicast or spatial reduction: one transfer serves all instances.
template <class Num>
bool Analysis<Num>::reused(const mapping::PmappingNode& node, const NestStep& step,
                           int tensor) const {
    return step.relevancy == workload::Relevancy::irrelevant &&
           (t_->dims[dim_index(node)].may_reuse >> tensor & 1);
}

template <class Num>
void Analysis<Num>::scan(Nodes nodes, const NestPlan& plan, int tensor) {
    const std::span<const NestStep> steps = plan.tensor(tensor);
    const TensorFacts& facts = t_->tensors[tensor];
    for (int v = 0; v < t_->n_variables; ++v) {
        shape_[v] = Num(t_->bounds[v]);
    }
    largest_ = shape_;
    notes_.clear();
    tile_at_.resize(steps.size());
    Num temporal(1), relevant(1), spatial(1), segment(1), segment_first(1);
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const NestStep& step = steps[s];
        const mapping::PmappingNode& node = nodes[step.node];
        if (node.is_loop() && is_partial(node)) {
            // times_partial() has their trips.
            const bool spatial = node.kind == mapping::NodeKind::spatial;
            place_[step.node] = static_cast<int>(s);
            shared_[step.node] = spatial && reused(node, step, tensor);
            enter(node);
            if (t_->has_networks && spatial) {
                tile_at_[s] = values(facts, shape_);
            }
            continue;
        }
        switch (step.kind) {
            case NestStep::Kind::temporal: {
                const Num& trips = trips_for(step);
                temporal = temporal * trips;
                segment = segment * trips;
                if (step.relevancy == workload::Relevancy::relevant &&
                    !(facts.updates >> node.rank_variable & 1)) {
                    relevant = relevant * trips;
                    segment_first = segment_first * trips;
                }
                enter(node);
                break;
            }
            case NestStep::Kind::spatial: {
                const Num& trips = trips_for(step);
                spatial = spatial * trips;
                if (!reused(node, step, tensor)) {
                    segment = segment * trips;
                    segment_first = segment_first * trips;
                }
                enter(node);
                if (t_->has_networks) {
                    tile_at_[s] = values(facts, shape_);
                }
                break;
            }
            case NestStep::Kind::reservation: {
                HolderNote<Num>& note = notes_.back();
                const Num bits_per_value(t_->holder(node.level, tensor).bits_per_value);
                note.bits = values(facts, largest_) * bits_per_value;
                note.least_bits = note.bits;
                if (node.open_order) {
                    const Nodes below = nodes.subspan(static_cast<std::size_t>(step.node) + 1);
                    hold_open(below, facts, bits_per_value, note);
                }
                note.loops_above = plan.loops_above(nodes, step.node);
                break;
            }
            case NestStep::Kind::holder:
                notes_.push_back({values(facts, shape_), temporal, relevant, spatial, segment,
                                  segment_first, Num(0), Num(0), Num(1), static_cast<int>(s), 0,
                                  step.node, node.level});
                segment = Num(1);
                segment_first = Num(1);
                break;
            case NestStep::Kind::compute:
                notes_.push_back({Num(1), temporal, relevant, spatial, segment, segment_first,
                                  Num(0), Num(0), Num(1), static_cast<int>(s), 0, step.node,
                                  node.level});
                break;
        }
    }
}

}  // namespace tessera::model
