// Loops between the holders of one order.
//
// Temporal loops. The holders form groups: all that stand above every loop (persistent ones and
// those of the outermost memory), then one group per holder (in a copy, per run of one memory).
// Each gap below a group may get one temporal loop per rank variable; the rules of gap_loops()
// leave out those that cannot help. Order inside a gap matters only for where the reservation of
// the holder above it ends up, so the canonical order is: variables through which it sinks, then
// those that stop it after one loop (every choice of the first one is a variant), then the rest.
//
// Running states. Their holders stand next to each other, right above the only loop over their
// iterative variable, which is temporal: a holder keeps one state from iteration to iteration, as a
// line buffer (docs/mapspace.md, I1 and I2).
//
// Spatial loops stand as low as they can: below the last holder that lies above their fan-out.
// Their order counts below a network alone (template_networks.cpp).
#include <algorithm>

#include "mapspace/tile_shapes/test_switches.hpp"
#include "template_internal.hpp"

namespace tessera::mapspace::detail {

namespace {

struct Group {
    int begin = 0, end = 0;
};

/// The orders in which the loops of one gap are written.
struct Gap {
    struct Order {
        std::vector<std::int8_t> loops;
        bool line_buffer = false;  ///< the holder above moves with the first loop
        bool open = false;         ///< see PmappingNode::open_order
    };
    std::vector<Order> orders;
};

Item loop(NodeKind kind, int variable) {
    Item item;
    item.kind = kind;
    item.rank_variable = static_cast<std::int8_t>(variable);
    return item;
}

bool fans_out(const arch::PathLevel& level) {
    return std::any_of(level.spatial.begin(), level.spatial.end(),
                       [](const arch::PathDim& dim) { return dim.fanout > 1; });
}

class TemporalLoops {
public:
    TemporalLoops(const Space& space, const Items& holders);
    void enumerate(const std::function<void(Items&)>& sink);

private:
    void group(const Items& holders);
    bool place_states(std::vector<RankVariableMask>& loops,
                      const std::vector<TensorMask>& seen_above);
    int state_of(std::size_t g) const;
    void find_crossings();
    bool foreign_spatials_below(std::size_t g) const;
    bool shares_memory_below(const Group& group) const;
    RankVariableMask gap_loops(std::size_t g, bool fused, TensorMask seen) const;
    RankVariableMask worth_above_next(std::size_t g, RankVariableMask stay) const;
    Gap orders(std::size_t g, RankVariableMask loops, bool fused, TensorMask seen) const;
    void add_line_buffer(std::size_t g, TensorMask seen, Gap& gap) const;
    bool superfluous_holder(const std::vector<RankVariableMask>& loops) const;

    const Space& space_;
    Items holders_;
    bool open_orders_ = false;  ///< a reservation's place changes no cost
    std::vector<Group> groups_;
    std::vector<RankVariableMask> crossing_;  ///< per group, see find_crossings()
    std::vector<int> state_loop_;  ///< per group: the iterative variable of the loop below, or -1
};

/// A network is charged from the reservation on.
bool reservations_cost_nothing(const arch::Path& path) {
    return std::ranges::none_of(path.levels, [](const arch::PathLevel& level) {
        return level.kind == arch::LevelKind::network || level.distributed();
    });
}

TemporalLoops::TemporalLoops(const Space& space, const Items& holders)
    : space_(space),
      open_orders_(space.options.open_loop_orders && reservations_cost_nothing(space.path)) {
    group(holders);
    find_crossings();
}

void TemporalLoops::group(const Items& holders) {
    const auto above_all_loops = [&](const Item& i) {
        return i.persistent || i.level == space_.first_memory;
    };
    for (const Item& item : holders) {
        if (above_all_loops(item)) {
            holders_.push_back(item);
        }
    }
    std::stable_sort(holders_.begin(), holders_.end(),
                     [](const Item& a, const Item& b) { return a.level < b.level; });
    groups_.push_back({0, static_cast<int>(holders_.size())});
    int level = -1;
    for (const Item& item : holders) {
        if (above_all_loops(item)) {
            continue;
        }
        holders_.push_back(item);
        const int end = static_cast<int>(holders_.size());
        if (space_.copy && level == item.level) {
            groups_.back().end = end;
        } else {
            groups_.push_back({end - 1, end});
        }
        level = item.level;
    }
}

// A spatial loop of a level above a holder's, but written below it, is taken above it for its
// tensor. A temporal loop over the same variable between the two would make the tile non-contiguous
// and is removed later, so variables for which that can happen must keep a loop on either side: the
// rules that move loops up or down skip them below the holder.
void TemporalLoops::find_crossings() {
    crossing_.assign(groups_.size(), 0);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        for (int h = groups_[g].begin; h < groups_[g].end; ++h) {
            const Item& holder = holders_[h];
            int highest_below = holder.level;
            for (int below = h + 1; below < static_cast<int>(holders_.size()); ++below) {
                highest_below = std::min<int>(highest_below, holders_[below].level);
            }
            bool crossed = false;
            for (int s = highest_below + 1; s <= holder.level; ++s) {
                crossed |= fans_out(space_.path.levels[s]);
            }
            for (std::size_t k = g; crossed && k < groups_.size(); ++k) {
                crossing_[k] |= space_.indexing[holder.tensor];
            }
        }
    }
}

// The fan-out falls again below this group: spatial loops of an outer level may be written here.
bool TemporalLoops::foreign_spatials_below(std::size_t g) const {
    if (g == 0 || g + 1 == groups_.size()) {
        return false;
    }
    const auto widest = [&](int begin, int end) {
        double widest = 0;
        for (int h = begin; h < end; ++h) {
            widest = std::max(widest, space_.fanout(holders_[h].level));
        }
        return widest;
    };
    const double here = widest(groups_[g].begin, groups_[g].end);
    return groups_[g].begin > 0 && widest(0, groups_[g].begin) < here &&
           widest(groups_[g + 1].begin, groups_[g + 1].end) < here;
}

bool TemporalLoops::shares_memory_below(const Group& group) const {
    for (int h = group.begin; h < group.end; ++h) {
        for (std::size_t below = group.end; below < holders_.size(); ++below) {
            if (holders_[below].level == holders_[h].level) {
                return true;
            }
        }
    }
    return false;
}

// Variables that get a temporal loop below group `g`. Why leaving out the others loses nothing:
//   recomputation  over a variable that a tensor produced or loaded further down does not have, a
//                  loop would produce or load it again; outside the mapspace
//   copy           a part and the whole of a tensor would stand in one memory; outside the mapspace
//   toll           a toll stores nothing, so the loop may as well stand above it: same counts
//   sink           a holder's tile is fetched once per trip of a loop that indexes its tensor, be
//                  the loop above it or below; above it, it occupies less. (Not so for backing
//                  holders, whose place decides what is fused. Below a network a loop above spatial
//                  loops may bring hops of other tensors: there it is a condition, L5.)
//   hoist          a loop that does not index the next holder's tensor may as well stand below that
//                  holder: its tile and all traffic stay. Not in the fused region, where the holder
//                  would then live longer; not if the loop may stop the reservation above; not if
//                  the next memory may not send the tensor twice.
RankVariableMask TemporalLoops::gap_loops(std::size_t g, bool fused, TensorMask seen) const {
    const Group& group = groups_[g];
    RankVariableMask loops = space_.variables;
    if (space_.copy && shares_memory_below(group)) {
        return 0;
    }
    for_each_bit(space_.all & ~seen, [&](int t) { loops &= space_.direct[t]; });
    if (space_.options.max_fused_loops == 0 && (space_.fusable & ~seen)) {
        return 0;
    }
    if (foreign_spatials_below(g)) {
        return loops;
    }
    if (group.end > group.begin && holders_[group.begin].kind == NodeKind::toll) {
        return 0;
    }
    const RankVariableMask fixed = crossing_[g];
    RankVariableMask stopping = 0;
    for (int h = group.begin; h < group.end; ++h) {
        const Item& holder = holders_[h];
        stopping |= space_.expression[holder.tensor];
        if (!holder.backing) {
            loops &= ~(space_.sinks[holder.tensor] & ~fixed);
        }
    }
    const bool hoist = !fused || hoist_fused_loops_in_tests.load(std::memory_order_relaxed);
    return hoist ? loops & worth_above_next(g, stopping | fixed) : loops;
}

// The rule "hoist". `stay`: variables that it must not touch.
RankVariableMask TemporalLoops::worth_above_next(std::size_t g, RankVariableMask stay) const {
    RankVariableMask loops = ~RankVariableMask{0};
    for (std::size_t next = g + 1; next < groups_.size(); ++next) {
        if (holders_[groups_[next].begin].kind == NodeKind::toll) {
            continue;
        }
        for (int h = groups_[next].begin; h < groups_[next].end; ++h) {
            const Item& holder = holders_[h];
            const bool no_resend =
                space_.path.levels[holder.level].no_resend_to_below >> holder.tensor & 1;
            if (!no_resend) {
                loops &= space_.indexing[holder.tensor] | stay;
            }
        }
        break;
    }
    return loops;
}

Gap TemporalLoops::orders(std::size_t g, RankVariableMask loops, bool fused,
                          TensorMask seen) const {
    const Group& group = groups_[g];
    RankVariableMask sinking = 0, stopping = 0;
    if (group.end - group.begin == 1 && !space_.copy) {
        const Item& holder = holders_[group.begin];
        if (holder.kind == NodeKind::storage && !holder.backing) {
            sinking = loops & space_.relevant[holder.tensor];
            stopping = loops & space_.indexing[holder.tensor] & ~sinking;
        }
    }
    const RankVariableMask rest = loops & ~sinking & ~stopping;
    Gap gap;
    const auto add = [&](std::initializer_list<RankVariableMask> parts) {
        std::vector<std::int8_t> order;
        for (const RankVariableMask mask : parts) {
            for_each_bit(mask, [&](int v) { order.push_back(static_cast<std::int8_t>(v)); });
        }
        gap.orders.push_back({std::move(order)});
    };
    if (!stopping || (!fused && open_orders_)) {
        add({sinking, stopping, rest});
        gap.orders.back().open = (stopping & (stopping - 1)) != 0;
    } else {
        for_each_bit(stopping, [&](int v) {
            const RankVariableMask first = RankVariableMask{1} << v;
            add({sinking, first, stopping & ~first, rest});
        });
    }
    add_line_buffer(g, seen, gap);
    return gap;
}

// The holder above moves with one more loop, the first of the gap. Whatever is backed further down
// must be indexed by it directly, as for every loop above a backing holder.
void TemporalLoops::add_line_buffer(std::size_t g, TensorMask seen, Gap& gap) const {
    const Group& group = groups_[g];
    const Item& holder = holders_[group.end > group.begin ? group.end - 1 : 0];
    if (group.end == group.begin || group.end - group.begin > 1 || !holder.backing ||
        holder.persistent || holder.kind != NodeKind::storage || space_.copy ||
        space_.state_variable[holder.tensor] >= 0) {
        return;
    }
    RankVariableMask by = space_.windows[holder.tensor];
    for_each_bit(space_.all & ~seen, [&](int t) { by &= space_.direct[t]; });
    if (space_.options.max_fused_loops == 0 || foreign_spatials_below(g) ||
        holder.level == space_.first_memory) {
        return;
    }
    const std::size_t plain = gap.orders.size();
    for_each_bit(by, [&](int v) {
        for (std::size_t k = 0; k < plain; ++k) {
            Gap::Order order = gap.orders[k];
            order.loops.insert(order.loops.begin(), static_cast<std::int8_t>(v));
            order.line_buffer = true;
            gap.orders.push_back(std::move(order));
        }
    });
}

// See HolderOrders::spare(): the outer of two holders of one tensor with no loop between them.
bool TemporalLoops::superfluous_holder(const std::vector<RankVariableMask>& loops) const {
    for (std::size_t g = 1; g < groups_.size(); ++g) {
        if (!holders_[groups_[g].begin].spare_outer) {
            continue;
        }
        RankVariableMask between = 0;
        std::size_t outer = g;
        do {
            --outer;
            between |= loops[outer];
        } while (outer > 0 && holders_[groups_[outer].begin].kind == NodeKind::toll);
        if (!between) {
            return true;
        }
    }
    return false;
}

/// The iterative variable of the running state that the group holds, or -1.
int TemporalLoops::state_of(std::size_t g) const {
    if (g == 0 || groups_[g].end - groups_[g].begin != 1) {
        return -1;
    }
    const Item& holder = holders_[groups_[g].begin];
    return holder.backing ? space_.state_variable[holder.tensor] : -1;
}

// Below the last state of a variable stands its loop; no other gap has one, and none of the gaps
// between its states any. False: the states do not stand so.
bool TemporalLoops::place_states(std::vector<RankVariableMask>& loops,
                                 const std::vector<TensorMask>& seen_above) {
    state_loop_.assign(groups_.size(), -1);
    if (space_.states == 0) {
        return true;
    }
    if (!space_.options.line_buffers || space_.options.max_fused_loops == 0) {
        return false;
    }
    for (RankVariableMask& gap : loops) {
        gap &= ~space_.states;
    }
    bool stand = true;
    for_each_bit(space_.states, [&](int v) {
        TensorMask missing = 0;
        for (int t = 0; t < space_.n_tensors; ++t) {
            missing |= TensorMask{space_.state_variable[t] == v} << t;
        }
        for (std::size_t g = 1; g < groups_.size() && missing; ++g) {
            if (state_of(g) != v) {
                continue;
            }
            missing &= ~(TensorMask{1} << holders_[groups_[g].begin].tensor);
            if (missing) {
                stand = stand && g + 1 < groups_.size() && state_of(g + 1) == v;
                loops[g] = 0;
                continue;
            }
            stand = stand && !foreign_spatials_below(g);
            for_each_bit(space_.all & ~seen_above[g],
                         [&](int t) { stand = stand && (space_.direct[t] >> v & 1); });
            state_loop_[g] = v;
            loops[g] |= RankVariableMask{1} << v;
        }
        stand = stand && !missing;
    });
    return stand;
}

void TemporalLoops::enumerate(const std::function<void(Items&)>& sink) {
    const std::size_t n = groups_.size();
    std::vector<RankVariableMask> loops(n);
    std::vector<char> fused(n);
    std::vector<TensorMask> seen_above(n);
    TensorMask seen = 0;
    for (std::size_t g = 0; g < n; ++g) {
        for (int h = groups_[g].begin; h < groups_[g].end; ++h) {
            seen |= TensorMask{1} << holders_[h].tensor;
        }
        seen_above[g] = seen;
        fused[g] = (space_.fusable & ~seen) != 0;
        loops[g] = gap_loops(g, fused[g] != 0, seen);
    }
    if (!place_states(loops, seen_above) || superfluous_holder(loops)) {
        return;
    }
    std::vector<Gap> gaps;
    gaps.reserve(n);
    for (std::size_t g = 0; g < n; ++g) {
        gaps.push_back(orders(g, loops[g] & ~space_.states, fused[g] != 0, seen_above[g]));
        for (Gap::Order& order : gaps.back().orders) {
            if (state_loop_[g] >= 0) {
                order.loops.insert(order.loops.begin(), static_cast<std::int8_t>(state_loop_[g]));
            }
        }
    }
    std::vector<std::size_t> pick(n, 0);
    Items items;
    do {
        items.clear();
        for (std::size_t g = 0; g < n; ++g) {
            items.insert(items.end(), holders_.begin() + groups_[g].begin,
                         holders_.begin() + groups_[g].end);
            const Gap::Order& order = gaps[g].orders[pick[g]];
            if (order.line_buffer || state_of(g) >= 0) {
                items.back().line_buffer = true;
            }
            if (order.open) {
                items.back().open_order = true;
            }
            for (std::int8_t v : order.loops) {
                items.push_back(loop(NodeKind::temporal, v));
            }
        }
        sink(items);
    } while (next_combination(pick, [&](std::size_t g) { return gaps[g].orders.size(); }));
}

/// Index right below the last holder that lies above `level`.
int below_holders_above(const Items& items, int level) {
    int index = 0;
    for (int i = 0; i < static_cast<int>(items.size()); ++i) {
        if (items[i].holder() && items[i].level < level) {
            index = i + 1;
        }
    }
    return index;
}

}  // namespace

void insert_temporals(const Space& space, const Items& holders,
                      const std::function<void(Items&)>& sink) {
    TemporalLoops(space, holders).enumerate(sink);
}

RankVariableMask spatial_variables(const Space& space, const Items& items, int level) {
    const int point = below_holders_above(items, level);
    // A holder inside the fan-out has its loops around it, wherever they stand.
    TensorMask seen = 0;
    for (int i = 0; i < point; ++i) {
        if (items[i].holder() && items[i].level < level) {
            seen |= TensorMask{1} << items[i].tensor;
        }
    }
    if (space.persistent & space.fusable & ~seen) {
        return 0;  // its users run at different times, and each could spread it in its own way
    }
    RankVariableMask allowed = ~RankVariableMask{0};
    for_each_bit(space.intermediates & ~seen,
                 [&](int t) { allowed &= space.path.einsum.tensors[t].directly_indexing; });
    const std::size_t n = space.path.einsum.rank_variables.size();
    return n == 64 ? allowed : allowed & ((RankVariableMask{1} << n) - 1);
}

namespace {

// Where spatial loops go, `point` being right below the holder: below the temporal loops.
int spatial_place(const Items& items, int point) {
    const int n = static_cast<int>(items.size());
    int spatials = point;
    while (spatials < n && items[spatials].kind == NodeKind::spatial) {
        ++spatials;
    }
    int end = spatials;
    while (end < n && items[end].kind == NodeKind::temporal) {
        ++end;
    }
    return end == spatials ? point : end;
}

/// Whether a memory has holders on both sides of a place.
bool splits_a_memory(const Items& items, int place) {
    const auto middle = items.begin() + place;
    return std::any_of(items.begin(), middle, [&](const Item& above) {
        return above.holder() && std::any_of(middle, items.end(), [&](const Item& below) {
                   return below.holder() && below.level == above.level;
               });
    });
}

}  // namespace

void insert_spatials(const Space& space, Items& items) {
    const auto& levels = space.path.levels;
    for (int l = 0; l < static_cast<int>(levels.size()); ++l) {
        if (!fans_out(levels[l])) {
            continue;
        }
        const RankVariableMask variables =
            spatial_variables(space, items, l) & space.variables & ~space.states;
        const int point = below_holders_above(items, l);
        if (space.copy && splits_a_memory(items, spatial_place(items, point))) {
            continue;  // no loop stands between holders of one memory, as for temporal loops
        }
        for (int d = 0; d < static_cast<int>(levels[l].spatial.size()); ++d) {
            if (levels[l].spatial[d].fanout <= 1) {
                continue;  // one instance: every loop would have one trip
            }
            for_each_bit(variables, [&](int v) {
                Item item = loop(NodeKind::spatial, v);
                item.level = static_cast<std::int8_t>(l);
                item.dim = static_cast<std::int8_t>(d);
                items.insert(items.begin() + spatial_place(items, point), item);
            });
        }
    }
}

// A variable that no gap took gets its loop below the last backing holder and below the last place
// where the fan-out falls.
void insert_missing(const Space& space, Items& items) {
    RankVariableMask missing = space.variables;
    for (const Item& item : items) {
        if (item.kind == NodeKind::temporal) {
            missing &= ~(RankVariableMask{1} << item.rank_variable);
        }
    }
    if (!missing) {
        return;
    }
    int point = 0;
    double widest = 1;
    for (int i = 0; i < static_cast<int>(items.size()); ++i) {
        if (items[i].holder()) {
            const double fanout = space.fanout(items[i].level);
            if (items[i].backing || fanout < widest) {
                point = i + 1;
            }
            widest = std::max(widest, fanout);
        }
        if (items[i].kind == NodeKind::temporal && point == i) {
            point = i + 1;
        }
    }
    for_each_bit(missing,
                 [&](int v) { items.insert(items.begin() + point, loop(NodeKind::temporal, v)); });
}

}  // namespace tessera::mapspace::detail
