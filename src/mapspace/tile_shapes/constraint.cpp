// Constraints that remove loops from a template, and the removal that keeps tiles contiguous.
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

// A holder followed by a temporal loop and later by a spatial loop of its own or an outer level,
// both over one variable of its tensor: the spatial loop is taken above the holder, whose tile
// would then be the union of distant pieces. The temporal one goes.
void drop_crossings(const Space& space, Items& items) {
    std::vector<char> drop(items.size(), false);
    const int n = static_cast<int>(items.size());
    for (int h = 0; h < n; ++h) {
        if (!items[h].holder()) {
            continue;
        }
        for_each_bit(space.indexing[items[h].tensor], [&](int v) {
            std::vector<int> temporals;
            for (int i = h + 1; i < n; ++i) {
                if (items[i].rank_variable != v) {
                    continue;
                }
                if (items[i].kind == NodeKind::temporal) {
                    temporals.push_back(i);
                } else if (items[i].level <= items[h].level) {
                    for (const int t : temporals) {
                        drop[t] = true;
                    }
                }
            }
        });
    }
    erase_marked(items, drop);
}

}  // namespace tessera::mapspace::detail
