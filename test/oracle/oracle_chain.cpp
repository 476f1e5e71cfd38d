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
    bool windows =
        false;  // the first place of the gap, for the loop with which the line buffer moves
    bool temporal() const {
        return level < 0;
    }
};

// A loop with its trip count, before tile shapes are known.
struct PlacedLoop {
    Slot slot;
    int variable = 0;
    std::int64_t trips = 1;
    workload::Prologue prologue{0, 0};  // base 0: none
    std::int64_t partial_tile = 0;      // its tile shape if that does not divide the bound
};

class Enumerator {
public:
    Enumerator(const Path& path, const MapSpaceOptions& options,
               const std::function<bool(const Pmapping&)>& sink, const LineBuffer& line_buffer)
        : path_(path), options_(options), sink_(sink), line_buffer_(line_buffer) {
        for (const auto& t : path.einsum.tensors) {
            tensors_.push_back(&t);
        }
        if (options.imperfect_temporal != options.imperfect_spatial) {
            throw Unsupported("oracle: partial tiles are for both kinds of loops, or for none");
        }
    }

    bool run() {
        return enumerate_holders(path_, options_, [&](const std::vector<Holder>& holders) {
            holders_ = holders;
            windows_.assign(holders.size(), -1);
            return choose_line_buffer(0);
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

    // --- Line buffers (S1, S2) --------------------------------------------------------------

    bool choose_line_buffer(int i) {
        if (i == static_cast<int>(holders_.size())) {
            return place_loops();
        }
        at(windows_, i) = -1;
        if (const int v = state_variable(i); v >= 0) {
            if (!state_fits(i, v)) {
                return true;
            }
            at(windows_, i) = v;
            return choose_line_buffer(i + 1);
        }
        if (!choose_line_buffer(i + 1)) {
            return false;
        }
        for (int v = 0; v < static_cast<int>(path_.einsum.rank_variables.size()); ++v) {
            if (may_window(i, v)) {
                at(windows_, i) = v;
                if (!choose_line_buffer(i + 1)) {
                    return false;
                }
            }
        }
        at(windows_, i) = -1;
        return true;
    }

    // --- Running states (I1, I2) -------------------------------------------------------------

    // The iterative variable if the holder is the backing one of a running state, else -1.
    int state_variable(int i) const {
        const int v = at(tensors_, at(holders_, i).tensor)->state_variable;
        return at(holders_, i).backing && v >= 0 && at(path_.einsum.rank_variables, v).bound > 1
                   ? v
                   : -1;
    }

    // The chain accesses a running state of this variable.
    bool iterates(int variable) const {
        return (path_.einsum.state_variables() >> variable & 1) != 0;
    }

    // Another state of the variable follows before the loop.
    bool state_follows(int i) const {
        return state_variable(i) >= 0 && i + 1 < static_cast<int>(holders_.size()) &&
               state_variable(i + 1) == state_variable(i);
    }

    bool state_fits(int i, int variable) const {
        for (int j = 0; j < static_cast<int>(holders_.size()); ++j) {
            // All states of the variable in one run.
            const bool run = j < i ? state_follows(j) : true;
            if (state_variable(j) == variable && !run) {
                return false;
            }
        }
        return options_.line_buffers && options_.max_fused_loops != 0 &&
               !stands_first(path_, at(holders_, i)) &&
               (state_follows(i) || directly_indexes_all(variable, unseen(i)));
    }

    bool may_window(int i, int variable) const {
        const Holder& h = at(holders_, i);
        const LocalTensor& t = *at(tensors_, h.tensor);
        if (!options_.line_buffers || options_.max_fused_loops == 0 || !h.backing || t.persistent ||
            !t.intermediate || stands_first(path_, h) ||
            !directly_indexes_all(variable, unseen(i))) {
            return false;
        }
        int found = 0;
        bool forward = true;
        for (const auto& rank : t.ranks) {
            for (const auto& term : rank.terms) {
                if (term.rank_variable == variable) {
                    found += line_buffer_.overlap.contains({t.tensor, rank.rank}) ? 1 : 2;
                    forward = rank.constant == 0;
                    std::int64_t rest = 1;
                    for (const auto& other : rank.terms) {
                        forward = forward && other.coefficient > 0;
                        rest +=
                            &other == &term
                                ? 0
                                : other.coefficient *
                                      (at(path_.einsum.rank_variables, other.rank_variable).bound -
                                       1);
                    }
                    const std::int64_t bound = at(path_.einsum.rank_variables, variable).bound;
                    forward = forward && rest - term.coefficient <= term.coefficient * bound;
                }
            }
        }
        return found == 1 && forward;
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
            if (gap >= 0 && state_follows(gap)) {
                continue;  // no loop between the states of a variable
            }
            if (gap >= 0 && at(windows_, gap) == variable) {
                result.push_back({gap, -1, -1, true});
            }
            if (iterates(variable)) {
                continue;  // that is its only loop
            }
            if (directly_indexes_all(variable, unseen(gap)) &&
                !(options_.max_fused_loops == 0 && fused(gap)) && !belongs_higher(variable, gap)) {
                result.push_back({gap, -1, -1, false});
            }
            for (int l = 0; l < static_cast<int>(path_.levels.size()); ++l) {
                for (int d = 0; d < static_cast<int>(at(path_.levels, l).spatial.size()); ++d) {
                    if (spatial_fits(variable, gap, l, d)) {
                        result.push_back({gap, l, d, false});
                    }
                }
            }
        }
        return result;
    }

    // L5, first half.
    bool belongs_higher(int variable, int gap) const {
        if ((!fused(gap) && !has_network()) || gap < 0 || at(holders_, gap).backing) {
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
        const TensorMask below = unseen(gap);
        for (int t = 0; t < static_cast<int>(tensors_.size()); ++t) {
            if ((below >> t & 1) != 0 && at(tensors_, t)->persistent && at(tensors_, t)->fusable) {
                return false;
            }
        }
        if (gap != last_outside || dim.fanout <= 1 ||
            !directly_indexes_all(variable, below & path_.einsum.intermediates()) ||
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
        return add_prologue(variable, places) &&
               split_rest(variable, places, 0, at(path_.einsum.rank_variables, variable).bound);
    }

    bool split_rest(int variable, const std::vector<Slot>& places, std::size_t next,
                    std::int64_t rest) {
        if (rest == 1) {
            // A loop with which a line buffer moves has more than one trip.
            const bool idle = std::any_of(places.begin() + static_cast<std::ptrdiff_t>(next),
                                          places.end(), [](const Slot& s) { return s.windows; });
            return idle ? true : split_variable(variable + 1);
        }
        if (next == places.size()) {
            return true;
        }
        for (std::int64_t trips = 1; trips <= rest; ++trips) {
            if (rest % trips != 0 || !fits_fanout(places[next], trips) ||
                (places[next].windows && trips == 1) ||
                (trips > 1 && !places[next].windows && windows_below(places, next))) {
                continue;
            }
            if (trips > 1) {
                loops_.push_back({places[next], variable, trips, {0, 0}, 0});
            }
            const bool go_on = split_rest(variable, places, next + 1, rest / trips);
            if (trips > 1) {
                loops_.pop_back();
            }
            if (!go_on) {
                return false;
            }
        }
        return rest != at(path_.einsum.rank_variables, variable).bound ||
               split_partially(variable, places, next);
    }

    // L6: for some divisor of the bound no smaller multiple of it makes as few trips. The reference
    // has the smallest tile alone.
    bool smallest_of_a_kind(std::int64_t bound, std::int64_t tile) const {
        const std::int64_t most = options_.partial_inner_tiles ? 1 : tile;
        for (std::int64_t d = 1; d <= most; ++d) {
            const bool kind = bound % d == 0 && tile % d == 0;
            if (kind && (tile == d || (tile - d) * ((bound + tile - 1) / tile) < bound)) {
                return true;
            }
        }
        return false;
    }

    // L6: the outermost loop of the variable leaves a partial tile.
    bool split_partially(int variable, const std::vector<Slot>& places, std::size_t next) {
        const auto& v = at(path_.einsum.rank_variables, variable);
        if (!options_.imperfect_temporal || !v.simple) {
            return true;
        }
        for (std::int64_t tile = 2; tile < v.bound; ++tile) {
            const std::int64_t trips = (v.bound + tile - 1) / tile;
            if (v.bound % tile == 0 || !fits_fanout(places[next], trips) ||
                !smallest_of_a_kind(v.bound, tile)) {
                continue;
            }
            loops_.push_back({places[next], variable, trips, {0, 0}, tile});
            const bool go_on = split_rest(variable, places, next + 1, tile);
            loops_.pop_back();
            if (!go_on) {
                return false;
            }
        }
        return true;
    }

    // A holder moves with the outermost loop over the variable.
    static bool windows_below(const std::vector<Slot>& places, std::size_t place) {
        return std::any_of(places.begin() + static_cast<std::ptrdiff_t>(place), places.end(),
                           [](const Slot& s) { return s.windows; });
    }

    // How much usage C4 asks for depends on which chains there are.
    bool usage_decides() const {
        return std::ranges::any_of(path_.levels, [](const auto& level) {
            return std::ranges::any_of(level.spatial,
                                       [](const auto& d) { return d.min_usage > 0; });
        });
    }

    // S2: the outermost loop over the variable has a prologue, and one unfused loop of tile shape 1
    // stands below it. Any prologue will do, unless C4 counts the members.
    bool add_prologue(int variable, const std::vector<Slot>& places) {
        const auto& own = at(path_.einsum.rank_variables, variable);
        const std::int64_t bound = own.bound;
        for (const auto& prologue : usage_decides() ? own.prologues : line_buffer_.prologues) {
            const bool plain = prologue.prologue == 0 && prologue.base == bound;
            if (plain || prologue.prologue > prologue.base || bound < prologue.base ||
                bound > prologue.base + prologue.prologue) {
                continue;
            }
            for (std::size_t f = 0; f < places.size(); ++f) {
                const bool others = std::any_of(places.begin(), places.end(), [&](const Slot& s) {
                    return s.windows && s.gap != places[f].gap;
                });
                const bool mine = std::any_of(places.begin(), places.end(), [&](const Slot& s) {
                    return s.windows && s.gap == places[f].gap;
                });
                if (!places[f].temporal() || others || (mine && !places[f].windows) ||
                    !(places[f].windows || fused(places[f].gap))) {
                    continue;
                }
                for (std::size_t q = f + 1; q < places.size(); ++q) {
                    if (!fused(places[q].gap) &&
                        !add_prologue(variable, places[f], places[q], prologue)) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

    bool add_prologue(int variable, const Slot& outer, const Slot& inner,
                      const workload::Prologue& prologue) {
        const std::int64_t bound = at(path_.einsum.rank_variables, variable).bound;
        for (std::int64_t trips = 2; trips <= prologue.base; ++trips) {
            const std::int64_t first = prologue.base / trips + prologue.prologue;
            if (prologue.base % trips != 0 || first > bound || first == 1 ||
                !fits_fanout(inner, first)) {
                continue;
            }
            loops_.push_back({outer, variable, trips, prologue, 0});
            loops_.push_back({inner, variable, first, {0, 0}, 0});
            const bool go_on = split_variable(variable + 1);
            loops_.resize(loops_.size() - 2);
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
            case Op::equal:
                return trips == bound.value;
            case Op::less_equal:
                return trips <= bound.value;
            case Op::greater_equal:
                return trips >= bound.value;
            case Op::less:
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
        auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first);
        if (gap >= 0 && state_follows(gap)) {
            return begin == order_.end();
        }
        if (gap >= 0 && at(windows_, gap) >= 0) {
            if (begin == order_.end() || !begin->slot.windows) {
                return false;
            }
            ++begin;
        }
        if (!fused(gap)) {
            // Among spatial loops alone the order is free. Without a network it changes nothing:
            // one is enough.
            const auto spatial = std::find_if(
                begin, order_.end(), [](const PlacedLoop& l) { return !l.slot.temporal(); });
            return (has_network() || std::is_sorted(spatial, order_.end(), spatial_before)) &&
                   std::none_of(spatial, order_.end(),
                                [](const PlacedLoop& l) { return l.slot.temporal(); });
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

    bool has_network() const {
        return path_.spreads_over_network(static_cast<int>(path_.levels.size()) - 1);
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
                n.line_buffer = at(windows_, gap) >= 0;
                nodes.push_back(n);
            }
            for (; next < order_.size() && order_[next].slot.gap == gap; ++next) {
                const PlacedLoop& l = order_[next];
                PmappingNode n;
                n.kind = l.slot.temporal() ? NodeKind::temporal : NodeKind::spatial;
                n.level = static_cast<std::int8_t>(l.slot.level);
                n.dim = static_cast<std::int8_t>(l.slot.dim);
                n.rank_variable = static_cast<std::int8_t>(l.variable);
                std::int64_t& around = at(tile, l.variable);
                if (l.prologue.base > 0) {
                    n.base = static_cast<std::int32_t>(l.prologue.base);
                    n.prologue = static_cast<std::int32_t>(l.prologue.prologue);
                    n.tile = l.prologue.base / l.trips;
                    around = n.tile + n.prologue;
                } else if (l.partial_tile > 0) {
                    if (around != at(path_.einsum.rank_variables, l.variable).bound) {
                        return true;  // another loop has come to stand outside
                    }
                    n.tile = around = l.partial_tile;
                } else if (around % l.trips != 0) {
                    return true;
                } else {
                    n.tile = around /= l.trips;
                }
                nodes.push_back(n);
                const bool counts =
                    l.prologue.base > 0 || n.tile > 1 || place_below(l.slot, l.variable);
                if ((fused(gap) || l.slot.windows) && counts) {
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
            if (p.gap == slot.gap && slot.windows != p.windows) {
                return slot.windows;
            }
            if (p.gap != slot.gap) {
                return p.gap > slot.gap && (!p.temporal() || refetches_allow(variable, p.gap));
            }
            return !p.temporal() &&
                   (slot.temporal() || std::pair(p.level, p.dim) < std::pair(slot.level, slot.dim));
        });
    }

    // C3 leaves room for a temporal loop over the variable in the gap.
    bool refetches_allow(int variable, int gap) {
        loops_.push_back({{gap, -1, -1, false}, variable, 2, {0, 0}, 0});
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
    const LineBuffer& line_buffer_;
    std::vector<int> windows_;  // per holder: the variable with which it moves, -1: none
    std::vector<const LocalTensor*> tensors_;
    std::vector<Holder> holders_;    // as they stand
    std::vector<PlacedLoop> loops_;  // in no particular order
    std::vector<PlacedLoop> order_;  // as they stand
};

}  // namespace

bool enumerate_chains(const Path& path, const MapSpaceOptions& options,
                      const std::function<bool(const Pmapping&)>& sink,
                      const LineBuffer& line_buffer) {
    return Enumerator(path, options, sink, line_buffer).run();
}

}  // namespace tessera::oracle
