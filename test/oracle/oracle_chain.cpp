// Map of this file, from the outside in:
//   (the holders and their order come from oracle_holders)
//   Slots        where a loop over a variable may stand, given the holders (L1, L3, C1)
//   Splits       all factorisations of a variable's bound over its slots (L2, L6)
//   Orders       all orders of the loops in a gap (L4, L5), then the conditions on the whole chain
#include "oracle/oracle_chain.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "oracle/oracle_holders.hpp"

namespace tessera::oracle {

namespace {

using arch::Path;
using arch::PathLevel;
using mapping::NodeKind;
using mapping::Pmapping;
using mapping::PmappingNode;
using mapspace::MapSpaceOptions;
using workload::LocalTensor;
using workload::RankVariableMask;
using workload::TensorMask;

template <class T>
auto& at(T& items, int index) {
    return items[static_cast<std::size_t>(index)];
}

// A place for a loop: the gap below holder `gap` (-1: above all holders), temporal or over a
// dimension.
struct Slot {
    int gap = 0;
    int level = -1, dim = -1;
    bool temporal() const {
        return level < 0;
    }
};

// A loop with its trip count, before tile shapes are known.
struct PlacedLoop {
    Slot slot;
    int variable = 0;
    std::int64_t trips = 1;
};

class Enumerator {
public:
    Enumerator(const Path& path, const MapSpaceOptions& options,
               const std::function<bool(const Pmapping&)>& sink)
        : path_(path), options_(options), sink_(sink) {
        for (const auto& t : path.einsum.tensors) {
            tensors_.push_back(&t);
        }
        if (options.imperfect_temporal || options.imperfect_spatial) {
            throw Unsupported("oracle: imperfect tile shapes are not supported");
        }
    }

    bool run() {
        return enumerate_holders(path_, options_, [&](const std::vector<Holder>& holders) {
            holders_ = holders;
            return place_loops();
        });
    }

private:
    // --- Slots ---------------------------------------------------------------------------------

    // Tensors whose backing holder stands below the gap.
    TensorMask unseen(int gap) const {
        TensorMask mask = path_.einsum.all();
        for (int i = 0; i <= gap; ++i) {
            mask &= ~(TensorMask{1} << at(holders_, i).tensor);
        }
        return mask;
    }

    bool fused(int gap) const {
        return (unseen(gap) & path_.einsum.fusable()) != 0;
    }

    bool directly_indexes_all(int variable, TensorMask tensors) const {
        for (int t = 0; t < static_cast<int>(tensors_.size()); ++t) {
            if ((tensors >> t & 1) != 0 &&
                (at(tensors_, t)->directly_indexing >> variable & 1) == 0) {
                return false;
            }
        }
        return true;
    }

    std::vector<Slot> slots(int variable) const {
        std::vector<Slot> result;
        int first = -1;  // lowest gap with no holder of the first group below it
        for (int i = 0; i < static_cast<int>(holders_.size()); ++i) {
            if (stands_first(path_, at(holders_, i))) {
                first = i;
            }
        }
        for (int gap = first; gap < static_cast<int>(holders_.size()); ++gap) {
            if (directly_indexes_all(variable, unseen(gap)) &&
                !(options_.max_fused_loops == 0 && fused(gap)) && !belongs_higher(variable, gap)) {
                result.push_back({gap, -1, -1});
            }
            for (int l = 0; l < static_cast<int>(path_.levels.size()); ++l) {
                for (int d = 0; d < static_cast<int>(at(path_.levels, l).spatial.size()); ++d) {
                    if (spatial_fits(variable, gap, l, d)) {
                        result.push_back({gap, l, d});
                    }
                }
            }
        }
        return result;
    }

    // L5, first half.
    bool belongs_higher(int variable, int gap) const {
        if (options_.loops_below_holders || !fused(gap) || gap < 0 || at(holders_, gap).backing) {
            return false;
        }
        const LocalTensor& t = *at(tensors_, at(holders_, gap).tensor);
        return (t.directly_indexing >> variable & 1) != 0;
    }

    bool spatial_fits(int variable, int gap, int l, int d) const {
        int last_outside = -1;
        for (int i = 0; i < static_cast<int>(holders_.size()); ++i) {
            if (at(holders_, i).level < l) {
                last_outside = i;
            }
        }
        const arch::PathDim& dim = at(at(path_.levels, l).spatial, d);
        if (gap != last_outside || dim.fanout <= 1 ||
            !directly_indexes_all(variable, unseen(gap) & path_.einsum.intermediates()) ||
            (options_.max_fused_loops == 0 && fused(gap))) {
            return false;
        }
        for (int t = 0; t < static_cast<int>(tensors_.size()); ++t) {
            const LocalTensor& tensor = *at(tensors_, t);
            const RankVariableMask indexing = tensor.directly_indexing | tensor.expression_indexing;
            if ((dim.reuse >> t & 1) != 0 && (indexing >> variable & 1) != 0) {
                return false;
            }
        }
        return true;
    }

    // --- Splits --------------------------------------------------------------------------------

    bool place_loops() {
        loops_.clear();
        return split_variable(0);
    }

    bool split_variable(int variable) {
        if (variable == static_cast<int>(path_.einsum.rank_variables.size())) {
            return constraints_hold() ? order_gaps() : true;
        }
        const auto places = slots(variable);
        return split_rest(variable, places, 0, at(path_.einsum.rank_variables, variable).bound);
    }

    bool split_rest(int variable, const std::vector<Slot>& places, std::size_t next,
                    std::int64_t rest) {
        if (rest == 1) {
            return split_variable(variable + 1);
        }
        if (next == places.size()) {
            return true;
        }
        for (std::int64_t trips = 1; trips <= rest; ++trips) {
            if (rest % trips != 0 || !fits_fanout(places[next], trips)) {
                continue;
            }
            if (trips > 1) {
                loops_.push_back({places[next], variable, trips});
            }
            const bool go_on = split_rest(variable, places, next + 1, rest / trips);
            if (trips > 1) {
                loops_.pop_back();
            }
            if (!go_on) {
                return false;
            }
        }
        return true;
    }

    std::int64_t used(int level, int dim) const {
        std::int64_t product = 1;
        for (const PlacedLoop& l : loops_) {
            product *= l.slot.level == level && l.slot.dim == dim ? l.trips : 1;
        }
        return product;
    }

    bool fits_fanout(const Slot& slot, std::int64_t trips) const {
        return slot.temporal() || used(slot.level, slot.dim) * trips <=
                                      at(at(path_.levels, slot.level).spatial, slot.dim).fanout;
    }

    // C2 and C3; C1 is among the slots.
    bool constraints_hold() const {
        for (int l = 0; l < static_cast<int>(path_.levels.size()); ++l) {
            for (int d = 0; d < static_cast<int>(at(path_.levels, l).spatial.size()); ++d) {
                const auto& dim = at(at(path_.levels, l).spatial, d);
                for (const auto& bound : dim.loop_bounds) {
                    if (!bound_holds(bound, l, d)) {
                        return false;
                    }
                }
            }
        }
        for (int i = 0; i < static_cast<int>(holders_.size()); ++i) {
            if (!refetch_holds(i)) {
                return false;
            }
        }
        return true;
    }

    bool bound_holds(const arch::LoopBound& bound, int level, int dim) const {
        double product = 1;
        for (int v = 0; v < static_cast<int>(path_.einsum.rank_variables.size()); ++v) {
            if ((bound.variables >> v & 1) == 0) {
                continue;
            }
            double trips = 1;
            for (const PlacedLoop& l : loops_) {
                if (l.variable == v && l.slot.level == level && l.slot.dim == dim) {
                    trips = static_cast<double>(l.trips);
                }
            }
            product *= trips;
            if (!bound.product && !compare(trips, bound)) {
                return false;
            }
        }
        return !bound.product || compare(product, bound);
    }

    static bool compare(double trips, const arch::LoopBound& bound) {
        using Op = arch::LoopBound::Op;
        switch (bound.op) {
            case Op::eq:
                return trips == bound.value;
            case Op::le:
                return trips <= bound.value;
            case Op::ge:
                return trips >= bound.value;
            case Op::lt:
                return trips < bound.value;
            default:
                return trips > bound.value;
        }
    }

    bool refetch_holds(int i) const {
        const Holder& h = at(holders_, i);
        const PathLevel& level = at(path_.levels, h.level);
        int first = i, next = static_cast<int>(holders_.size());
        for (int j = 0; j < static_cast<int>(holders_.size()); ++j) {
            if (at(holders_, j).tensor == h.tensor) {
                first = std::min(first, j);
                next = j > i ? std::min(next, j) : next;
            }
        }
        const bool refetch = (level.no_refetch_from_above >> h.tensor & 1) != 0;
        const bool resend = (level.no_resend_to_below >> h.tensor & 1) != 0;
        return (!refetch || only_relevant(h.tensor, first, i)) &&
               (!resend || only_relevant(h.tensor, i, next));
    }

    bool only_relevant(int tensor, int upper, int lower) const {
        return std::all_of(loops_.begin(), loops_.end(), [&](const PlacedLoop& l) {
            return !l.slot.temporal() || l.slot.gap < upper || l.slot.gap >= lower ||
                   at(tensors_, tensor)->relevancy[static_cast<std::size_t>(l.variable)] ==
                       workload::Relevancy::relevant;
        });
    }

    // --- Orders --------------------------------------------------------------------------------

    bool order_gaps() {
        order_.clear();
        return order_gap(-1);
    }

    bool order_gap(int gap) {
        if (gap == static_cast<int>(holders_.size())) {
            return finish();
        }
        std::vector<PlacedLoop> here;
        for (const PlacedLoop& l : loops_) {
            if (l.slot.gap == gap) {
                here.push_back(l);
            }
        }
        std::vector<std::size_t> index(here.size());
        for (std::size_t i = 0; i < index.size(); ++i) {
            index[i] = i;
        }
        const std::size_t before = order_.size();
        do {
            order_.resize(before);
            for (const std::size_t i : index) {
                order_.push_back(here[i]);
            }
            if (order_fits(gap, before) && !order_gap(gap + 1)) {
                return false;
            }
        } while (std::next_permutation(index.begin(), index.end()));
        order_.resize(before);
        return true;
    }

    // L4 and the second half of L5 for the loops of the gap, which begin at `first`.
    bool order_fits(int gap, std::size_t first) const {
        const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first);
        if (!fused(gap)) {
            // Among spatial loops alone the order is free and changes nothing: one is enough.
            const auto spatial = std::find_if(
                begin, order_.end(), [](const PlacedLoop& l) { return !l.slot.temporal(); });
            return std::is_sorted(spatial, order_.end(), spatial_before) &&
                   std::none_of(spatial, order_.end(),
                                [](const PlacedLoop& l) { return l.slot.temporal(); });
        }
        if (options_.loops_below_holders) {
            return temporals_above_spatials_of_one_variable(begin);
        }
        if (gap < 0 || at(holders_, gap).backing || begin == order_.end()) {
            return true;
        }
        const LocalTensor& t = *at(tensors_, at(holders_, gap).tensor);
        const auto partial = [&](const PlacedLoop& l) {
            return l.slot.temporal() && (t.expression_indexing >> l.variable & 1) != 0 &&
                   (t.directly_indexing >> l.variable & 1) == 0;
        };
        return partial(*begin) || std::none_of(begin, order_.end(), partial);
    }

    bool temporals_above_spatials_of_one_variable(
        std::vector<PlacedLoop>::const_iterator begin) const {
        for (auto later = begin; later != order_.end(); ++later) {
            const bool below_spatial = std::any_of(begin, later, [&](const PlacedLoop& l) {
                return !l.slot.temporal() && l.variable == later->variable;
            });
            if (later->slot.temporal() && below_spatial) {
                return false;
            }
        }
        return true;
    }

    static bool spatial_before(const PlacedLoop& a, const PlacedLoop& b) {
        return std::tuple(a.slot.level, a.slot.dim, a.variable) <
               std::tuple(b.slot.level, b.slot.dim, b.variable);
    }

    bool finish() {
        Pmapping nodes;
        std::vector<std::int64_t> tile;
        for (const auto& v : path_.einsum.rank_variables) {
            tile.push_back(v.bound);
        }
        std::vector<int> counted(tile.size(), 0);
        std::size_t next = 0;
        for (int gap = -1; gap < static_cast<int>(holders_.size()); ++gap) {
            if (gap >= 0) {
                const Holder& h = at(holders_, gap);
                PmappingNode n;
                n.kind = NodeKind::storage;
                n.tensor = static_cast<std::int8_t>(h.tensor);
                n.level = static_cast<std::int8_t>(h.level);
                n.backing = h.backing;
                n.persistent = h.backing && at(tensors_, h.tensor)->persistent;
                nodes.push_back(n);
            }
            for (; next < order_.size() && order_[next].slot.gap == gap; ++next) {
                const PlacedLoop& l = order_[next];
                PmappingNode n;
                n.kind = l.slot.temporal() ? NodeKind::temporal : NodeKind::spatial;
                n.level = static_cast<std::int8_t>(l.slot.level);
                n.dim = static_cast<std::int8_t>(l.slot.dim);
                n.rank_variable = static_cast<std::int8_t>(l.variable);
                n.tile = at(tile, l.variable) /= l.trips;
                nodes.push_back(n);
                if (fused(gap) && (n.tile > 1 || place_below(l.slot, l.variable))) {
                    ++at(counted, l.variable);
                }
            }
        }
        return loop_limits_hold(counted) ? sink_(with_compute(std::move(nodes))) : true;
    }

    // Whether another loop over the variable may stand further down than `slot`.
    bool place_below(const Slot& slot, int variable) {
        const auto places = slots(variable);
        return std::any_of(places.begin(), places.end(), [&](const Slot& p) {
            if (p.gap != slot.gap) {
                return p.gap > slot.gap && (!p.temporal() || refetches_allow(variable, p.gap));
            }
            return !p.temporal() &&
                   (slot.temporal() || std::pair(p.level, p.dim) < std::pair(slot.level, slot.dim));
        });
    }

    // C3 leaves room for a temporal loop over the variable in the gap.
    bool refetches_allow(int variable, int gap) {
        loops_.push_back({{gap, -1, -1}, variable, 2});
        bool allowed = true;
        for (int i = 0; i < static_cast<int>(holders_.size()); ++i) {
            allowed = allowed && refetch_holds(i);
        }
        loops_.pop_back();
        return allowed;
    }

    // L8.
    bool loop_limits_hold(const std::vector<int>& counted) const {
        int total = 0;
        for (const int c : counted) {
            total += c;
            if (options_.max_fused_loops_per_rank_variable != MapSpaceOptions::unlimited &&
                c > options_.max_fused_loops_per_rank_variable) {
                return false;
            }
        }
        return options_.max_fused_loops == MapSpaceOptions::unlimited ||
               total <= options_.max_fused_loops;
    }

    Pmapping with_compute(Pmapping nodes) const {
        PmappingNode n;
        n.kind = NodeKind::compute;
        n.level = static_cast<std::int8_t>(path_.levels.size() - 1);
        nodes.push_back(n);
        return nodes;
    }

    const Path& path_;
    const MapSpaceOptions& options_;
    const std::function<bool(const Pmapping&)>& sink_;
    std::vector<const LocalTensor*> tensors_;
    std::vector<Holder> holders_;    // as they stand
    std::vector<PlacedLoop> loops_;  // in no particular order
    std::vector<PlacedLoop> order_;  // as they stand
};

}  // namespace

bool enumerate_chains(const Path& path, const MapSpaceOptions& options,
                      const std::function<bool(const Pmapping&)>& sink) {
    return Enumerator(path, options, sink).run();
}

}  // namespace tessera::oracle
