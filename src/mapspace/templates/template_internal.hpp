// The steps of template generation, in the order in which enumerate_templates() runs them.
//
//   storage_choices()      which memory or toll holds which tensor           (template_storage.cpp)
//   HolderOrders           vertical order of these holders                   (template_order.cpp)
//   insert_temporals()     temporal loops between them, variants of order    (template_loops.cpp)
//   insert_spatials()      spatial loops                                     (template_loops.cpp)
//   insert_missing()       a loop for variables that have none               (template_loops.cpp)
//   constrain()            loops that a constraint forces to one trip go     (constraint.cpp)
//   order_below_networks() orders of spatial loops, where hops depend on it (template_networks.cpp)
//   without_crossings()    tiles stay contiguous                             (constraint.cpp)
//   choose_prologues()     which fused loops have a prologue         (template_line_buffers.cpp)
//   finish()               symbols, labels, surviving constraints            (template_finish.cpp)
//
// Rank variables of bound 1 take no part at all: a loop over one has a single trip, changes no
// count and no limit counts it, because its tile shape is the constant 1.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tessera/mapspace/template.hpp"

namespace tessera::mapspace::detail {

using arch::RankVariableMask;
using arch::TensorMask;
using mapping::NodeKind;

template <class F>
inline void for_each_bit(std::uint64_t mask, F&& f) {
    for (; mask; mask &= mask - 1) {
        f(__builtin_ctzll(mask));
    }
}

/// Goes on to the next combination of one option each, of `options(i)` that place i has; false
/// after the last.
template <class Options>
bool next_combination(std::vector<std::size_t>& pick, Options&& options) {
    for (std::size_t i = 0; i < pick.size(); ++i) {
        if (++pick[i] < options(i)) {
            return true;
        }
        pick[i] = 0;
    }
    return false;
}

/// One node while the template grows.
struct Item {
    NodeKind kind = NodeKind::compute;
    std::int8_t tensor = -1;
    std::int8_t level = -1;
    std::int8_t dim = -1;
    std::int8_t rank_variable = -1;
    bool backing = false;
    bool persistent = false;
    bool must_keep = false;
    /// The previous holder of the tensor could be left out if no loop stands between the two.
    bool spare_outer = false;
    /// Backing holder that keeps what the loop below it reaches, see PmappingNode::line_buffer.
    bool line_buffer = false;
    bool open_order = false;              ///< see PmappingNode::open_order
    std::int32_t prologue = 0, base = 0;  ///< of a loop with a prologue

    bool holder() const {
        return kind == NodeKind::storage || kind == NodeKind::toll;
    }
    bool loop() const {
        return kind == NodeKind::temporal || kind == NodeKind::spatial;
    }
};
using Items = std::vector<Item>;

/// The path, the options, and what the rules read of them as bit masks.
struct Space {
    Space(const arch::Path& path, const MapSpaceOptions& options);

    const arch::Path& path;
    const MapSpaceOptions& options;
    int n_tensors = 0;
    int first_memory = -1;
    bool copy = false;
    TensorMask all = 0, fusable = 0, intermediates = 0, persistent = 0;
    RankVariableMask variables = 0;  ///< those of bound > 1
    // Per local tensor, restricted to `variables`.
    std::vector<RankVariableMask> direct;      ///< a whole rank by themselves
    std::vector<RankVariableMask> expression;  ///< index the tensor otherwise
    std::vector<RankVariableMask> indexing;    ///< both
    std::vector<RankVariableMask> relevant;    ///< as the cost model sees it; sinks a reservation
    std::vector<RankVariableMask> sinks;       ///< direct and relevant
    std::vector<RankVariableMask>
        windows;  ///< with which its backing holder may move as a line buffer
    /// Per tensor: the iterative variable of a running state, else -1.
    std::vector<int> state_variable;
    RankVariableMask states = 0;  ///< all of these

    double fanout(int level) const {
        return path.levels[level].cumulative_fanout;
    }
    std::int64_t bound(int variable) const {
        return path.einsum.rank_variables[variable].bound;
    }
    const std::string& tensor_name(int tensor) const {
        return path.einsum.tensors[tensor].name;
    }
    std::string names(TensorMask tensors) const;
};

/// Why the search for templates dropped something; the last resort of an error message.
struct Reasons {
    std::string unstored, back, order, loops, constraint;
    /// The most telling one.
    std::string text() const;
};

/// Tensors held per level (0 for levels that hold none).
struct Choice {
    std::vector<TensorMask> stored;
    std::vector<TensorMask> must;
};

/// At most `most` of them.
std::vector<Choice> storage_choices(const Space& space, Reasons& reasons,
                                    std::size_t most = std::numeric_limits<std::size_t>::max());

/// What a level may and must hold, whatever stands above it.
struct StoredSets {
    TensorMask may = 0, must = 0;
    bool depend = false;  ///< on what the levels above hold: then anything, and nothing
};
/// Per level.
std::vector<StoredSets> possible_sets(const Space& space);
/// Whether storage_choices() has these tensors; `must` is filled in.
bool allow_choice(const Space& space, Choice& choice);
/// Whether an outer holder right above an inner one, no loop between them, is of no use; the choice
/// without it has to be allowed.
bool may_spare_holder(const Space& space, const Item& outer, const Item& inner);

/// Calls `sink` for every order of the holders of a choice, tolls inserted.
class HolderOrders {
public:
    using Sink = std::function<void(const Items&)>;

    HolderOrders(const Space& space, const std::vector<Choice>& choices);
    void enumerate(const Choice& choice, const Sink& sink);

private:
    bool spare(const Choice& choice, const Item& outer, const Item& inner) const;
    bool may_precede(const Item& upper, const Item& lower) const;
    std::uint64_t options_met(const Item& upper, const Item& lower) const;
    void collect(const Choice& choice);
    void read_options(const Choice& choice);
    void relate(const Choice& choice);
    void place(const Sink& sink);
    void emit(const Sink& sink) const;

    const Space& space_;
    std::vector<std::vector<TensorMask>> choices_;               ///< sorted
    std::vector<std::vector<std::vector<TensorMask>>> options_;  ///< level, option, place
    // State of the current choice.
    Items nodes_, tolls_, prefix_;
    std::vector<std::uint64_t> not_below_;  ///< per node: nodes that may not stand below it
    std::vector<std::uint64_t> met_;    ///< [upper * n + lower]: order options that stay possible
    std::vector<std::uint64_t> left_;   ///< per level: order options still possible
    std::vector<std::uint64_t> spare_;  ///< per node: outer nodes that it makes superfluous
    std::uint64_t remaining_ = 0;
    TensorMask backed_ = 0;
    int last_ = -1;
};

/// Adds temporal loops in every way that the rules allow; `sink` may change its argument. Nothing
/// if the holders leave no place for the loop over an iterative variable.
void insert_temporals(const Space& space, const Items& holders,
                      const std::function<void(Items&)>& sink);
void insert_spatials(const Space& space, Items& items);
void insert_missing(const Space& space, Items& items);

/// Variables that may be looped over in space by `level`: none that an intermediate not yet stored
/// above it does not have. Variables of bound 1 included.
RankVariableMask spatial_variables(const Space& space, const Items& items, int level);

/// Deletes loops that a constraint forces to one trip.
void constrain(const Space& space, Items& items);
/// Calls `sink` for every order of the loops that changes the hops of a network: L9 of
/// docs/mapspace.md. Once, with the loops as they stand, if there are more than
/// `max_orders_below_networks`.
/// \returns false if there are too many, and it was called with one order alone
bool order_below_networks(const Space& space, Items& items,
                          const std::function<void(Items&)>& sink);
constexpr std::size_t max_orders_below_networks = 720;
/// Calls `sink` with every way to keep tiles contiguous: spatial loops in another order, temporal
/// or spatial loops left out.
void without_crossings(const Space& space, Items& items, const std::function<void(Items&)>& sink);
/// Variables whose loops in `dim` must have one trip.
RankVariableMask forced_to_one(const Space& space, const arch::PathDim& dim);
bool forces_one(const arch::LoopBound& bound);

/// Calls `sink` with the template and with every variant in which fused loops have a prologue.
void choose_prologues(const Space& space, const Items& items,
                      const std::function<void(const Items&)>& sink);
/// Calls it with one template without prologues, if there is any variant: its convex bound holds
/// for all of them (docs/ffm-proofs.md, 2.33).
void bound_prologues(const Space& space, const Items& items,
                     const std::function<void(const Items&)>& sink);

/// Bytes equal for templates that differ in nothing but where reservations end up below the fused
/// loops; `sinks` gets the number of loops that each such reservation passes.
std::string structure_key(const Space& space, const Items& items, std::vector<std::uint8_t>& sinks);

/// Index of the last backing holder of a fusable tensor, or after the loop below it if it is a line
/// buffer; 0 if there is none.
int fused_end(const Space& space, const Items& items);

/// Symbols, labels and constraints. False (with a reason) if no tile shapes can be legal.
bool finish(const Space& space, const Items& items, Template& out, Reasons& reasons);

}  // namespace tessera::mapspace::detail
