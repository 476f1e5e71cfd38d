// Constraints that remove loops from a template, and what keeps tiles contiguous where memories may
// leave their order.
#include <algorithm>

#include "mapspace/templates/template_internal.hpp"

namespace tessera::mapspace::detail {

bool forces_one(const arch::LoopBound& bound) {
    return bound.value == 1 &&
           (bound.op == arch::LoopBound::Op::equal || bound.op == arch::LoopBound::Op::less_equal);
}

RankVariableMask forced_to_one(const Space& space, const arch::PathDim& dim) {
    RankVariableMask forced = 0;
    for_each_bit(dim.reuse & space.all, [&](int t) {
        const auto& tensor = space.path.einsum.tensors[t];
        forced |= tensor.directly_indexing | tensor.expression_indexing;
    });
    for (const arch::LoopBound& bound : dim.loop_bounds) {
        if (forces_one(bound)) {
            forced |= bound.variables;
        }
    }
    return forced;
}

namespace {

// Marks the temporal loops in (begin, end) over variables that are not relevant to the tensor: each
// of their trips would fetch the tile again.
void mark_refetches(const Space& space, const Items& items, int tensor, int begin, int end,
                    std::vector<char>& drop) {
    for (int i = begin + 1; i < end; ++i) {
        if (items[i].kind == NodeKind::temporal &&
            !(space.relevant[tensor] >> items[i].rank_variable & 1)) {
            drop[i] = true;
        }
    }
}

// A holder may not be fetched again from above, or may not send again to below.
void drop_refetches(const Space& space, const Items& items, std::vector<char>& drop) {
    const int n = static_cast<int>(items.size());
    for (int i = 0; i < n; ++i) {
        if (items[i].kind != NodeKind::storage) {
            continue;
        }
        const arch::PathLevel& level = space.path.levels[items[i].level];
        const int tensor = items[i].tensor;
        const auto is_holder = [&](const Item& item) {
            return item.holder() && item.tensor == tensor;
        };
        if (level.no_refetch_from_above >> tensor & 1) {
            const auto first = std::find_if(items.begin(), items.end(), is_holder);
            mark_refetches(space, items, tensor, static_cast<int>(first - items.begin()), i, drop);
        }
        if (level.no_resend_to_below >> tensor & 1) {
            const auto next = std::find_if(items.begin() + i + 1, items.end(), is_holder);
            mark_refetches(space, items, tensor, i, static_cast<int>(next - items.begin()), drop);
        }
    }
}

// A distributed memory spreads a tensor over its units by the spatial loops that follow. The units
// share what they hold, so a loop that does not index the tensor reads the same values from several
// places; the reference has no such loops. The Einsums that share a tensor would have to spread it
// alike, so a shared tensor is not spread at all.
void drop_spread(const Space& space, const Items& items, std::vector<char>& drop) {
    const auto distributed = [&](const Item& item) {
        return item.kind == NodeKind::storage && space.path.levels[item.level].distributed();
    };
    int holder = -1, array = -1;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Item& item = items[i];
        if (item.kind == NodeKind::storage) {
            holder = distributed(item) ? item.tensor : -1;
            if (distributed(item) && item.backing && (space.fusable >> item.tensor & 1)) {
                array = item.level + 1;
                while (array < static_cast<int>(space.path.levels.size()) &&
                       space.path.levels[array].spatial.empty()) {
                    ++array;
                }
            }
        }
        if (item.kind != NodeKind::spatial) {
            continue;
        }
        const bool copies = holder >= 0 && !(space.indexing[holder] >> item.rank_variable & 1);
        const bool spreads = item.level == array;
        drop[i] |= spreads || (copies && !space.options.copies_in_distributed_memories);
    }
}

void erase_marked(Items& items, const std::vector<char>& drop) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!drop[i]) {
            items[kept++] = items[i];
        }
    }
    items.resize(kept);
}

}  // namespace

void constrain(const Space& space, Items& items) {
    std::vector<char> drop(items.size(), false);
    drop_refetches(space, items, drop);
    drop_spread(space, items, drop);
    const auto& levels = space.path.levels;
    std::vector<std::vector<RankVariableMask>> forced(levels.size());
    for (std::size_t l = 0; l < levels.size(); ++l) {
        for (const arch::PathDim& dim : levels[l].spatial) {
            forced[l].push_back(forced_to_one(space, dim));
        }
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].kind == NodeKind::spatial &&
            (forced[items[i].level][items[i].dim] >> items[i].rank_variable & 1)) {
            drop[i] = true;
        }
    }
    erase_marked(items, drop);
}

namespace {

/// Whether holders may leave the order of their levels: only then tiles can fall into pieces.
bool has_free_order(const Space& space) {
    return !space.options.force_memory_hierarchy_order || space.persistent != 0 ||
           std::ranges::any_of(space.path.levels, [](const arch::PathLevel& level) {
               return level.kind == arch::LevelKind::toll ||
                      (level.holds_tensors() && !level.force_memory_hierarchy_order);
           });
}

/// For the holder at `h` the loop at `i` stands above it: it is written there, or it is a spatial
/// loop of its own or an outer level.
bool is_around(const Items& items, int h, int i) {
    return i < h || (items[i].kind == NodeKind::spatial && items[i].level <= items[h].level);
}

/// Two loops over one variable, `upper` written above `lower`, that change places as a tensor sees
/// them: `lower` is taken above one of its holders and `upper` is not. Its tile would be the union
/// of distant pieces.
bool cross(const Space& space, const Items& items, int upper, int lower) {
    const int v = items[upper].rank_variable;
    for (int h = 0; h < upper; ++h) {
        if (items[h].holder() && (space.indexing[items[h].tensor] >> v & 1) &&
            !is_around(items, h, upper) && is_around(items, h, lower)) {
            return true;
        }
    }
    return false;
}

/// Puts the spatial loops of [begin, end), a gap, in the order of their levels. False: they were.
bool sort_spatials(Items& items, int begin, int end) {
    std::vector<int> places;
    Items spatials;
    for (int i = begin; i < end; ++i) {
        if (items[i].kind == NodeKind::spatial) {
            places.push_back(i);
            spatials.push_back(items[i]);
        }
    }
    const auto outer = [](const Item& a, const Item& b) { return a.level < b.level; };
    if (std::ranges::is_sorted(spatials, outer)) {
        return false;
    }
    std::ranges::stable_sort(spatials, outer);
    for (std::size_t k = 0; k < places.size(); ++k) {
        items[places[k]] = spatials[k];
    }
    return true;
}

bool spatials_cross(const Space& space, const Items& items, int begin, int end) {
    for (int i = begin; i < end; ++i) {
        for (int j = i + 1; items[i].kind == NodeKind::spatial && j < end; ++j) {
            if (items[j].kind == NodeKind::spatial &&
                items[i].rank_variable == items[j].rank_variable && cross(space, items, i, j)) {
                return true;
            }
        }
    }
    return false;
}

/// Ways to put the spatial loops of each gap. Where those of inner levels, which stand above the
/// others, would cross them, outer levels go first; of a fused gap that other Einsums share both
/// orders are kept, as theirs may cross.
std::vector<Items> spatial_orders(const Space& space, const Items& items) {
    std::vector<Items> all{items};
    const int n = static_cast<int>(items.size()), fused = fused_end(space, items);
    for (int begin = 0, end = 0; begin < n; begin = end + 1) {
        for (end = begin; end < n && items[end].loop(); ++end) {
        }
        Items sorted = items;
        if (!sort_spatials(sorted, begin, end)) {
            continue;
        }
        const bool crossed = spatials_cross(space, items, begin, end);
        if (!crossed && begin >= fused) {
            continue;
        }
        for (std::size_t k = 0, before = all.size(); k < before; ++k) {
            Items other = all[k];
            std::copy(sorted.begin() + begin, sorted.begin() + end, other.begin() + begin);
            if (crossed) {
                all[k] = std::move(other);
            } else {
                all.push_back(std::move(other));
            }
        }
    }
    return all;
}

/// The loops over one variable that cross, and what may stay of them together.
class Crossings {
public:
    Crossings(const Space& space, const Items& items, int variable) {
        const int n = static_cast<int>(items.size());
        for (int s = 0; s < n; ++s) {
            std::vector<int> crossed;
            for (int t = 0; t < s && items[s].kind == NodeKind::spatial; ++t) {
                if (items[s].rank_variable == variable && items[t].rank_variable == variable &&
                    items[t].kind == NodeKind::temporal && cross(space, items, t, s)) {
                    crossed.push_back(t);
                }
            }
            if (!crossed.empty()) {
                spatials_.emplace_back(s, std::move(crossed));
            }
        }
    }

    /// Each a list of loops that go, so that the others do not cross and none more could stay.
    std::vector<std::vector<int>> removals() const {
        std::vector<std::vector<int>> result;
        for (unsigned stay = 0; stay < 1U << spatials_.size(); ++stay) {
            std::vector<int> gone;
            for (std::size_t k = 0; k < spatials_.size(); ++k) {
                const auto& [spatial, temporals] = spatials_[k];
                if (stay >> k & 1) {
                    gone.insert(gone.end(), temporals.begin(), temporals.end());
                } else {
                    gone.push_back(spatial);
                }
            }
            if (none_could_stay(stay, gone)) {
                result.push_back(std::move(gone));
            }
        }
        return result;
    }

private:
    bool none_could_stay(unsigned stay, const std::vector<int>& gone) const {
        const auto is_gone = [&](int loop) { return std::ranges::find(gone, loop) != gone.end(); };
        for (std::size_t k = 0; k < spatials_.size(); ++k) {
            if (!(stay >> k & 1) && std::ranges::all_of(spatials_[k].second, is_gone)) {
                return false;
            }
        }
        return true;
    }

    std::vector<std::pair<int, std::vector<int>>> spatials_;  ///< with the temporal ones they cross
};

void remove_crossings(const Space& space, const Items& items,
                      const std::function<void(Items&)>& sink) {
    std::vector<std::vector<std::vector<int>>> removals;
    for_each_bit(space.variables,
                 [&](int v) { removals.push_back(Crossings(space, items, v).removals()); });
    std::vector<std::size_t> pick(removals.size(), 0);
    do {
        std::vector<char> drop(items.size(), false);
        for (std::size_t k = 0; k < pick.size(); ++k) {
            for (const int i : removals[k][pick[k]]) {
                drop[i] = true;
            }
        }
        Items kept = items;
        erase_marked(kept, drop);
        sink(kept);
    } while (next_combination(pick, [&](std::size_t k) { return removals[k].size(); }));
}

}  // namespace

void without_crossings(const Space& space, Items& items, const std::function<void(Items&)>& sink) {
    if (!has_free_order(space)) {
        sink(items);
        return;
    }
    for (const Items& ordered : spatial_orders(space, items)) {
        remove_crossings(space, ordered, sink);
    }
}

}  // namespace tessera::mapspace::detail
