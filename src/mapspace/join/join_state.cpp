// Matching of fused loops. Map:
//   pair tensors -> candidate right loops of every open loop -> injective assignments -> common
//   order (both sides' blocks respected) -> structure of the joined state, in canonical loop order.
#include "mapspace/join_state.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tessera::mapspace::detail {
namespace {

struct Pair {
    const LiveTensor* left;
    const BackedTensor* right;
    int right_index;
};

/// Index of the block (maximal run of loops without a break inside) that holds each loop.
std::vector<int> blocks_of(std::uint32_t breaks, int n) {
    std::vector<int> block(static_cast<std::size_t>(n));
    int b = 0;
    for (int i = 0; i < n; ++i) {
        if (i > 0 && (breaks >> i & 1u)) {
            ++b;
        }
        block[static_cast<std::size_t>(i)] = b;
    }
    return block;
}

bool pair_tensors(const StateStructure& left, const GroupStructure& right,
                  std::vector<Pair>& pairs) {
    for (const LiveTensor& t : left.live) {
        for (std::size_t i = 0; i < right.tensors.size(); ++i) {
            const BackedTensor& r = right.tensors[i];
            if (r.tensor != t.tensor) {
                continue;
            }
            // A reader reaches no further than its producer has come.
            if (r.memory != t.memory || r.level != t.level || r.window_rank != t.window_rank ||
                r.window_base != t.window_base ||
                (r.window_rank >= 0 && !r.running_state &&
                 (r.output || !t.produced || r.window_prologue > t.window_prologue))) {
                return false;
            }
            pairs.push_back({&t, &r, static_cast<int>(i)});
        }
    }
    return true;
}

/// May open loop j be the right group's loop x? Loops above a shared tensor index the same rank on
/// both sides; loops below it that the producer runs inside must too, else the reader would see
/// values that are not finished (or not there yet).
bool compatible(const StateStructure& left, const GroupStructure& right,
                const std::vector<Pair>& pairs, int j, int x) {
    const auto ju = static_cast<std::size_t>(j);
    const auto xu = static_cast<std::size_t>(x);
    if (left.loops[ju].spatial_dim != right.loops[xu].spatial_dim) {
        return false;
    }
    for (const Pair& p : pairs) {
        if (j >= static_cast<int>(p.left->ranks.size())) {
            continue;
        }
        if (j == p.left->level && p.left->window_rank >= 0) {
            if (x != p.right->level) {
                return false;
            }
            continue;
        }
        const int rank = p.left->ranks[ju];
        const bool above = j < p.left->level;
        // A running state may be read before it is written.
        const bool exact = p.left->produced || (p.left->running_state && p.right->output);
        if (!above && !exact) {
            continue;
        }
        if (rank != p.right->rank_of_loop[xu] || (rank < 0 && exact)) {
            return false;
        }
        const FusedLoop& loop = right.loops[xu];
        if (rank >= 0 && p.left->bounds[ju] != std::pair(loop.bound, loop.prologue)) {
            return false;
        }
    }
    return true;
}

/// Enumerates injective assignments of right loops to all open loops.
void assign(const StateStructure& left, const GroupStructure& right, const std::vector<Pair>& pairs,
            std::vector<int>& chosen, std::uint32_t used, std::vector<std::vector<int>>& out) {
    const int j = static_cast<int>(chosen.size());
    if (j == left.n_loops()) {
        out.push_back(chosen);
        return;
    }
    for (int x = 0; x < static_cast<int>(right.loops.size()); ++x) {
        if ((used >> x & 1u) || !compatible(left, right, pairs, j, x)) {
            continue;
        }
        chosen.push_back(x);
        assign(left, right, pairs, chosen, used | 1u << x, out);
        chosen.pop_back();
    }
}

struct Merged {
    std::vector<int> order;            ///< right loops by position
    std::vector<int> left_at;          ///< left loop by position, -1 beyond the open ones
    std::vector<std::uint32_t> after;  ///< by right loop: right loops that must stand outside it
    std::uint32_t breaks = 0;
};

/// A common order of the shared loops that keeps both sides' blocks, then the right's own loops.
bool merge_orders(const StateStructure& left, const GroupStructure& right,
                  const std::vector<int>& right_of_left, Merged& m) {
    const int s = left.n_loops();
    const int n = static_cast<int>(right.loops.size());
    const std::vector<int> left_block = blocks_of(left.breaks, s);
    const std::vector<int> right_block = blocks_of(right.breaks, n);
    std::vector<int> left_of_right(static_cast<std::size_t>(n), -1);
    for (int j = 0; j < s; ++j) {
        left_of_right[static_cast<std::size_t>(right_of_left[static_cast<std::size_t>(j)])] = j;
    }
    m.after.assign(static_cast<std::size_t>(n), 0);
    for (int x = 0; x < n; ++x) {
        for (int y = 0; y < x; ++y) {
            if (right.loops[static_cast<std::size_t>(y)].rank_variable ==
                right.loops[static_cast<std::size_t>(x)].rank_variable) {
                m.after[static_cast<std::size_t>(x)] |= 1u << y;
            }
        }
        const int j = left_of_right[static_cast<std::size_t>(x)];
        for (int i = 0; j >= 0 && i < s; ++i) {
            if (left.loops[static_cast<std::size_t>(j)].after >> i & 1u) {
                m.after[static_cast<std::size_t>(x)] |=
                    1u << right_of_left[static_cast<std::size_t>(i)];
            }
        }
    }
    // Key (shared first, left block, right block): both block orders must be monotone in it.
    auto key = [&](int x) {
        const int j = left_of_right[static_cast<std::size_t>(x)];
        return j >= 0 ? std::tuple<int, int, int>(0, left_block[static_cast<std::size_t>(j)],
                                                  right_block[static_cast<std::size_t>(x)])
                      : std::tuple<int, int, int>(1, 0, right_block[static_cast<std::size_t>(x)]);
    };
    std::vector<int> pending(static_cast<std::size_t>(n));
    std::iota(pending.begin(), pending.end(), 0);
    std::stable_sort(pending.begin(), pending.end(), [&](int a, int b) { return key(a) < key(b); });
    std::uint32_t placed = 0;
    while (!pending.empty()) {
        const auto first_key = key(pending.front());
        auto it = std::find_if(pending.begin(), pending.end(), [&](int x) {
            return key(x) == first_key && (m.after[static_cast<std::size_t>(x)] & ~placed) == 0;
        });
        if (it == pending.end()) {
            return false;
        }
        m.order.push_back(*it);
        placed |= 1u << *it;
        pending.erase(it);
    }
    for (int d = 0; d < n; ++d) {
        const int x = m.order[static_cast<std::size_t>(d)];
        m.left_at.push_back(left_of_right[static_cast<std::size_t>(x)]);
        if (d == 0) {
            continue;
        }
        const int before = m.order[static_cast<std::size_t>(d - 1)];
        if (right_block[static_cast<std::size_t>(before)] >
            right_block[static_cast<std::size_t>(x)]) {
            return false;
        }
        if (key(before) != key(x)) {
            m.breaks |= 1u << d;
        }
    }
    return true;
}

/// Live tensor whose buffer holds `t`: itself, or one of the copy that made it.
int buffer_of(const StateStructure& left, const LiveTensor& t) {
    int found = -1;
    for (std::size_t i = 0; i < left.live.size(); ++i) {
        if (left.live[i].tensor == t.tensor && found < 0) {
            found = static_cast<int>(i);
        }
        if (t.shares_buffer_of >= 0 && left.live[i].tensor == t.shares_buffer_of) {
            return buffer_of(left, left.live[i]);
        }
    }
    return found;
}

/// Some tensor of the right group that lies in the buffer of `t`, -1 if none.
int right_user_of_buffer(const StateStructure& left, const GroupStructure& right,
                         const LiveTensor& t) {
    const int buffer = buffer_of(left, t);
    for (std::size_t i = 0; i < right.tensors.size(); ++i) {
        for (const LiveTensor& other : left.live) {
            if (other.tensor == right.tensors[i].tensor && buffer_of(left, other) == buffer) {
                return static_cast<int>(i);
            }
        }
    }
    return -1;
}

/// Live tensors of the joined state; ranks still in the merged (not yet canonical) order.
void collect_live(const StateStructure& left, const GroupStructure& right, const Merged& m,
                  const std::vector<char>& needed_later, JoinPlan& plan) {
    struct Item {
        LiveTensor live;
        SizeSource size;
    };
    std::vector<Item> items;
    const int s = left.n_loops();
    // Of the loops at the positions that the tensor does not have yet, up to `end`.
    auto add_ranks = [&](const BackedTensor& r, std::size_t end, LiveTensor& t) {
        for (std::size_t d = t.ranks.size(); d < end; ++d) {
            const auto x = static_cast<std::size_t>(m.order[d]);
            t.ranks.push_back(r.rank_of_loop[x]);
            t.bounds.emplace_back();
            if (r.rank_of_loop[x] >= 0) {
                t.bounds.back() = {right.loops[x].bound, right.loops[x].prologue};
            }
        }
    };
    auto right_holds = [&](int tensor) -> const BackedTensor* {
        for (const BackedTensor& r : right.tensors) {
            if (r.tensor == tensor) {
                return &r;
            }
        }
        return nullptr;
    };
    for (std::size_t i = 0; i < left.live.size(); ++i) {
        LiveTensor t = left.live[i];
        const auto n = std::min<std::size_t>(t.ranks.size(), static_cast<std::size_t>(s));
        std::vector<int> ranks(n);
        std::vector<std::pair<std::int64_t, LoopPrologue>> bounds(n);
        for (std::size_t j = 0; j < n; ++j) {
            const auto p = static_cast<std::size_t>(plan.position_of_left[j]);
            // A permutation never crosses the end of a tensor's ranks: a break stands there.
            ranks[p] = t.ranks[j];
            bounds[p] = t.bounds[j];
        }
        t.ranks = std::move(ranks);
        t.bounds = std::move(bounds);
        const BackedTensor* r = right_holds(t.tensor);
        if (r != nullptr && (r->output || t.running_state)) {
            // A second writer: only ranks on which both agree stay complete.
            t.produced = t.produced || r->output;
            for (std::size_t d = 0; d < t.ranks.size(); ++d) {
                if (r->rank_of_loop[static_cast<std::size_t>(m.order[d])] != t.ranks[d]) {
                    t.ranks[d] = -1;
                    t.bounds[d] = {};
                }
            }
        }
        if (r != nullptr && t.running_state) {
            add_ranks(*r, m.order.size(), t);
        }
        items.push_back({t,
                         {static_cast<int>(i), right_user_of_buffer(left, right, t), t.tracked,
                          t.level, t.shares_buffer_of < 0}});
    }
    for (std::size_t i = 0; i < right.tensors.size(); ++i) {
        const BackedTensor& r = right.tensors[i];
        if (std::any_of(left.live.begin(), left.live.end(),
                        [&](const LiveTensor& t) { return t.tensor == r.tensor; })) {
            continue;
        }
        LiveTensor t{r, r.output, {}, {}};
        add_ranks(r,
                  r.output || r.running_state ? right.loops.size()
                                              : static_cast<std::size_t>(std::max(r.level, 0)),
                  t);
        items.push_back({t, {-1, static_cast<int>(i), r.tracked, r.level, r.shares_buffer_of < 0}});
    }
    // A buffer stays while any tensor in it is needed.
    std::vector<char> keep(items.size(), 0);
    for (std::size_t i = 0; i < items.size(); ++i) {
        keep[i] = needed_later[static_cast<std::size_t>(items[i].live.tensor)];
    }
    for (std::size_t pass = 0; pass < items.size(); ++pass) {
        for (std::size_t i = 0; i < items.size(); ++i) {
            for (std::size_t k = 0; keep[i] && k < items.size(); ++k) {
                if (items[k].live.tensor == items[i].live.shares_buffer_of) {
                    keep[k] = 1;
                }
            }
        }
    }
    std::vector<Item> kept;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (keep[i]) {
            kept.push_back(items[i]);
        }
    }
    std::sort(kept.begin(), kept.end(),
              [](const Item& a, const Item& b) { return a.live.tensor < b.live.tensor; });
    for (Item& item : kept) {
        plan.n_open = std::max(plan.n_open, item.live.shared_loops());
        plan.structure.live.push_back(std::move(item.live));
        plan.sizes.push_back(item.size);
    }
}

/// Sorts loops inside each block by what tensors see of them, so that equal states meet.
std::vector<int> canonical_order(const StateStructure& st) {
    const int n = st.n_loops();
    const std::vector<int> block = blocks_of(st.breaks, n);
    auto key = [&](int d) {
        std::vector<int> k{block[static_cast<std::size_t>(d)],
                           st.loops[static_cast<std::size_t>(d)].spatial_dim};
        for (const LiveTensor& t : st.live) {
            k.push_back(d < static_cast<int>(t.ranks.size()) ? t.ranks[static_cast<std::size_t>(d)]
                                                             : -2);
        }
        return k;
    };
    std::vector<int> pending(static_cast<std::size_t>(n)), order;
    std::iota(pending.begin(), pending.end(), 0);
    std::stable_sort(pending.begin(), pending.end(), [&](int a, int b) { return key(a) < key(b); });
    std::uint32_t placed = 0;
    while (!pending.empty()) {
        const int b = block[static_cast<std::size_t>(pending.front())];
        auto it = std::find_if(pending.begin(), pending.end(), [&](int d) {
            return block[static_cast<std::size_t>(d)] == b &&
                   (st.loops[static_cast<std::size_t>(d)].after & ~placed) == 0;
        });
        if (it == pending.end()) {
            it = pending.begin();
        }
        order.push_back(*it);
        placed |= 1u << *it;
        pending.erase(it);
    }
    return order;
}

void apply_order(StateStructure& st, const std::vector<int>& order) {
    std::vector<int> position(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) {
        position[static_cast<std::size_t>(order[p])] = static_cast<int>(p);
    }
    std::vector<OpenLoop> loops(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) {
        loops[p] = st.loops[static_cast<std::size_t>(order[p])];
        std::uint32_t after = 0;
        for (std::size_t d = 0; d < order.size(); ++d) {
            if (loops[p].after >> d & 1u) {
                after |= 1u << position[d];
            }
        }
        loops[p].after = after;
    }
    st.loops = std::move(loops);
    for (LiveTensor& t : st.live) {
        LiveTensor old = t;
        for (std::size_t d = 0; d < old.ranks.size(); ++d) {
            t.ranks[static_cast<std::size_t>(position[d])] = old.ranks[d];
            t.bounds[static_cast<std::size_t>(position[d])] = old.bounds[d];
        }
    }
}

/// Loops, breaks and ranks of the joined state, closed loops dropped, canonical order applied.
void finish_structure(const StateStructure& left, const GroupStructure& right, const Merged& m,
                      JoinPlan& plan) {
    StateStructure& st = plan.structure;
    const int n = plan.n_open;
    std::vector<int> position(right.loops.size(), -1);
    for (std::size_t p = 0; p < m.order.size(); ++p) {
        position[static_cast<std::size_t>(m.order[p])] = static_cast<int>(p);
    }
    for (int p = 0; p < n; ++p) {
        const auto x = static_cast<std::size_t>(m.order[static_cast<std::size_t>(p)]);
        OpenLoop loop{right.loops[x].spatial_dim, 0};
        for (std::size_t y = 0; y < right.loops.size(); ++y) {
            if ((m.after[x] >> y & 1u) && position[y] < n) {
                loop.after |= 1u << position[y];
            }
        }
        st.loops.push_back(loop);
    }
    const std::uint32_t inside = n > 0 ? (1u << n) - 1 : 0;
    st.breaks = m.breaks;
    for (LiveTensor& t : st.live) {
        const auto limit =
            static_cast<std::size_t>(t.produced || t.running_state ? n : std::max(t.level, 0));
        if (t.ranks.size() > limit) {
            t.ranks.resize(limit);
            t.bounds.resize(limit);
        }
        if (t.level > 0) {
            st.breaks |= 1u << t.level;
        }
        if (t.window_rank >= 0) {
            st.breaks |= 1u << (t.level + 1);
        }
        st.breaks |= 1u << t.ranks.size();
    }
    st.breaks |= 1u << left.n_loops();
    st.breaks &= inside & ~1u;
    const std::vector<int> order = canonical_order(st);
    apply_order(st, order);
    std::vector<int> merged = m.order;
    for (int p = 0; p < n; ++p) {
        merged[static_cast<std::size_t>(p)] =
            m.order[static_cast<std::size_t>(order[static_cast<std::size_t>(p)])];
    }
    plan.order = merged;
    for (std::size_t p = 0; p < merged.size(); ++p) {
        position[static_cast<std::size_t>(merged[p])] = static_cast<int>(p);
    }
    for (int j = 0; j < left.n_loops(); ++j) {
        plan.position_of_left[static_cast<std::size_t>(j)] =
            position[static_cast<std::size_t>(plan.right_of_left[static_cast<std::size_t>(j)])];
    }
}

/// Most loops above a tensor that is needed later.
template <class Tensors>
int deepest(const Tensors& tensors, const std::vector<char>& needed_later) {
    int level = 0;
    for (const auto& t : tensors) {
        level = needed_later[static_cast<std::size_t>(t.tensor)] ? std::max(level, t.shared_loops())
                                                                 : level;
    }
    return level;
}

}  // namespace

std::vector<JoinPlan> match(const StateStructure& left, const GroupStructure& right,
                            const std::vector<char>& needed_later, bool reference_depth_rule) {
    std::vector<JoinPlan> plans;
    std::vector<Pair> pairs;
    if (left.loops.size() > right.loops.size() || !pair_tensors(left, right, pairs) ||
        (reference_depth_rule &&
         deepest(left.live, needed_later) > deepest(right.tensors, needed_later))) {
        return plans;
    }
    std::vector<std::vector<int>> assignments;
    std::vector<int> chosen;
    assign(left, right, pairs, chosen, 0, assignments);
    for (const std::vector<int>& right_of_left : assignments) {
        Merged m;
        if (!merge_orders(left, right, right_of_left, m)) {
            continue;
        }
        JoinPlan plan;
        plan.n_left = left.n_loops();
        plan.n_right = static_cast<int>(right.loops.size());
        plan.right_of_left = right_of_left;
        plan.position_of_left.assign(static_cast<std::size_t>(plan.n_left), 0);
        for (std::size_t p = 0; p < m.left_at.size(); ++p) {
            if (m.left_at[p] >= 0) {
                plan.position_of_left[static_cast<std::size_t>(m.left_at[p])] = static_cast<int>(p);
            }
        }
        for (const Pair& p : pairs) {
            plan.shared.push_back(
                {p.right->tracked, p.right->level, buffer_of(left, *p.left), p.right_index});
        }
        collect_live(left, right, m, needed_later, plan);
        finish_structure(left, right, m, plan);
        plans.push_back(std::move(plan));
    }
    return plans;
}

bool fits(const GroupStructure& st, const std::vector<int>& asked) {
    for (std::size_t i = 0; i < asked.size(); i += 3) {
        for (const BackedTensor& b : st.tensors) {
            if (b.tensor == asked[i] && (b.memory != asked[i + 1] || b.level != asked[i + 2])) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace tessera::mapspace::detail
