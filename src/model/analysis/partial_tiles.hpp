// Fourth part of analysis.hpp: variables whose outermost loop leaves a partial last tile.
//
// All loops over such a variable form a chain bound B > tiles T1 > T2 > ..., in which each tile
// shape divides the one around it, but for T1 and B. A value x of the variable has one digit per
// loop, the iteration (or instance) in which its tile is, and iterations without values do not take
// place. Digits of 0 leave room for most: if some x below B has these digits, so has one that has 0
// instead of any of them. So
//   - instance 0 of every spatial loop takes part in all that any does, with tiles as large: it is
//     the busiest. Its values are those whose digits of spatial loops are 0.
//   - what is done once for all instances is done for instance 0,
//   - what happens for the first time happens where digits of temporal loops are 0.
// So every count is one of x < B whose digits of some loops are 0, these loops not counting. Leave
// out the outermost of these, with tile T inside U: of every U values the first T stay. The others
// close up, and what stays is a chain again, with leading(B, U, T) values in place of B. When all
// are left out, n values remain.
//   - A tensor that the variable indexes moves all of them, whatever stands further in: n / T tiles
//     of the stop that asks, T each on average.
//   - One that it does not index moves its tile for every iteration: ceil(n / T) times, T of the
//     innermost loop that counts. Loops further in need not be left out then.
// Steps of the computes are not counted so: the last iteration takes the time of a whole one.
// Iterations of different variables are independent, so their numbers are multiplied. A spatial
// loop counts where the tensor's nest has it (NestPlan); digits are those of the loops as written.
#pragma once

#include <cmath>

#include "analysis.hpp"

namespace tessera::model {

// A template says which loops may leave a partial tile; numbers speak for themselves.
template <class Num>
std::uint64_t Analysis<Num>::partial_variables(Nodes nodes) const {
    if (!t_->convention.round_up_partial_tiles) {
        return 0;
    }
    std::uint64_t partial = 0, seen = 0, other = t_->only_last | ~t_->simple;
    for (const mapping::PmappingNode& node : nodes) {
        if (node.rank_variable < 0) {
            continue;
        }
        const std::uint64_t variable = std::uint64_t{1} << node.rank_variable;
        other |= node.base > 0 ? variable : 0;
        bool leaves = node.imperfect;
        if constexpr (std::is_same_v<Num, double>) {
            const double trips = t_->bounds[node.rank_variable] / static_cast<double>(node.tile);
            leaves = !(seen & variable) && trips != std::floor(trips);
        }
        partial |= leaves ? variable : 0;
        seen |= variable;
    }
    return partial & ~other;
}

template <class Num>
void Analysis<Num>::find_partial(Nodes nodes) {
    partial_.clear();
    partial_variables_ = partial_variables(nodes);
    if (partial_variables_ == 0) {
        return;
    }
    place_.assign(nodes.size(), 0);
    shared_.assign(nodes.size(), 0);
    for (int v = 0; v < t_->n_variables; ++v) {
        if (!(partial_variables_ >> v & 1)) {
            continue;
        }
        PartialVariable& partial = partial_.emplace_back();
        partial.variable = v;
        Num outer(t_->bounds[v]);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i].rank_variable == v) {
                const Num tile = tile_of(nodes[i]);
                const bool temporal = nodes[i].kind == mapping::NodeKind::temporal;
                partial.loops.push_back(
                    {static_cast<int>(i), temporal ? -1 : dim_index(nodes[i]), outer, tile});
                outer = tile;
            }
        }
    }
}

/// Iterations of the loops that count.
template <class Num>
template <class Counts>
Num Analysis<Num>::tiles_of(const PartialVariable& partial, const Counts& counts) const {
    std::size_t end = partial.loops.size();
    while (end > 0 && !counts(partial.loops[end - 1])) {
        --end;
    }
    if (end == 0) {
        return Num(1);
    }
    Num values(t_->bounds[partial.variable]);
    for (std::size_t i = 0; i < end; ++i) {
        const PartialLoop& loop = partial.loops[i];
        values = counts(loop) ? values : leading(values, loop.outer, loop.tile);
    }
    return ceil(values / partial.loops[end - 1].tile);
}

template <class Num>
Num Analysis<Num>::average_used(int dim) const {
    Num average = used[dim];
    for (const PartialVariable& partial : partial_) {
        const auto temporal = [](const PartialLoop& loop) { return loop.temporal(); };
        for (const PartialLoop& loop : partial.loops) {
            average = loop.dim == dim ? average / whole_trips_[loop.node] : average;
        }
        average = average *
                  tiles_of(partial,
                           [dim](const PartialLoop& loop) {
                               return loop.temporal() || loop.dim == dim;
                           }) /
                  tiles_of(partial, temporal);
    }
    return average;
}

/// `amount` times the trips of all these variables; of one that indexes the tensor their average,
/// for an amount with a tile of full size.
template <class Num>
Num Analysis<Num>::times_partial(Num amount, int tensor, const PartialTrips& wanted) const {
    const TensorFacts& facts = t_->tensors[tensor];
    for (const PartialVariable& partial : partial_) {
        const int v = partial.variable;
        const bool relevant = facts.relevant >> v & 1;
        const bool returns = !relevant || (facts.updates >> v & 1);
        const auto above = [&](const PartialLoop& loop) { return place_[loop.node] < wanted.from; };
        const auto counts = [&](const PartialLoop& loop) {
            if (!above(loop) || (wanted.first && loop.temporal() && returns)) {
                return false;
            }
            return loop.temporal() ||
                   (place_[loop.node] < wanted.to ? !wanted.unit : !shared_[loop.node]);
        };
        if (!relevant) {
            amount = amount * tiles_of(partial, counts);
            continue;
        }
        Num values(t_->bounds[v]), tile = values;
        for (const PartialLoop& loop : partial.loops) {
            if (!above(loop)) {
                break;  // a tensor has loops that index it in their order
            }
            values = counts(loop) ? values : leading(values, loop.outer, loop.tile);
            tile = loop.tile;
        }
        amount = amount * values / tile;  // first times: what is whole stays whole
    }
    return amount;
}

}  // namespace tessera::model
