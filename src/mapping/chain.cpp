#include "mapping/chain.hpp"

#include <algorithm>
#include <iterator>
#include <list>
#include <span>
#include <unordered_set>

#include "tessera/base/error.hpp"

namespace tessera::mapping {

namespace {

// Whether `lower` makes a difference for a holder that `next` follows: only loops that do not end
// its reservation anyway. Keeps the file free of flags without effect.
bool lower_matters(const arch::Path& path, const PmappingNode& holder, const PmappingNode& next) {
    if (holder.kind != NodeKind::storage || holder.backing) {
        return false;
    }
    if (next.kind == NodeKind::spatial) {
        return next.level == holder.level;
    }
    return next.kind == NodeKind::temporal &&
           path.einsum.tensors[holder.tensor].relevancy[next.rank_variable] !=
               workload::Relevancy::irrelevant;
}

// What stands before the last backing holder of a copy counts, what follows it does not.
void keep_order_of_copy(std::vector<Holder>& gap) {
    const auto last =
        std::find_if(gap.rbegin(), gap.rend(), [](const Holder& holder) { return holder.backing; });
    std::for_each(last, gap.rend(),
                  [](Holder& holder) { holder.before_backing = !holder.backing; });
}

// Backing holders first, unless another holder would then become the last one, whose capacity is
// charged further down.
void put_backing_first(std::vector<Holder>& gap) {
    const bool would_sink =
        !gap.empty() && gap.back().backing &&
        std::any_of(gap.begin(), gap.end(), [](const Holder& holder) { return holder.sinks(); });
    if (!would_sink) {
        std::stable_partition(gap.begin(), gap.end(),
                              [](const Holder& holder) { return holder.backing; });
    }
}

/// Holders of several Einsums so far. A list and a set of names, as the root of a long cascade has
/// thousands of holders, few of which more than one Einsum has.
class Merger {
public:
    using Place = std::list<Shared>::iterator;

    /// `next`: where the Einsum's first holder goes at the earliest.
    void merge(std::span<const Holder> holders, int user, Place next);

    Place begin() {
        return list_.begin();
    }
    Place end() {
        return list_.end();
    }

private:
    std::list<Shared> list_;
    std::unordered_set<std::string> tensors_;
};

void Merger::merge(std::span<const Holder> holders, int user, Place next) {
    for (const Holder& holder : holders) {
        Place at = tensors_.insert(holder.tensor).second ? list_.end() : list_.begin();
        bool behind = false;  // not in front of next
        while (at != list_.end() && !at->holder.same_place(holder)) {
            behind = behind || at == next;
            ++at;
        }
        behind = behind || at == next;
        if (at != list_.end() && (behind || !holder.sinks())) {
            at->users.insert(user);
            next = behind ? std::next(at) : next;
        } else {
            list_.insert(next, {holder, {user}});
        }
    }
}

}  // namespace

Pmapping without_null_loops(const arch::Path& path, const Pmapping& nodes) {
    std::vector<std::int64_t> enclosing = path.einsum.bounds();
    Pmapping result;
    for (const PmappingNode& node : nodes) {
        if (node.kind == NodeKind::reservation) {
            continue;
        }
        if (node.rank_variable >= 0) {
            if (node.symbol >= 0) {
                throw Bug("assemble: a loop of Einsum '" + path.einsum.name +
                          "' has no tile shape");
            }
            if (node.tile == enclosing[node.rank_variable] && node.base == 0) {
                continue;
            }
            enclosing[node.rank_variable] = node.largest_tile();
        }
        result.push_back(node);
    }
    return result;
}

Chain chain_of(const Branch& branch) {
    Chain chain;
    chain.path = branch.path;
    const workload::EinsumView& einsum = branch.path->einsum;
    const Pmapping nodes = without_null_loops(*branch.path, branch.nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const PmappingNode& node = nodes[i];
        if (node.is_holder()) {
            const bool toll = node.kind == NodeKind::toll;
            chain.gaps.back().push_back({toll ? TreeKind::toll : TreeKind::storage,
                                         branch.path->levels[node.level].name,
                                         einsum.tensors[node.tensor].name, node.persistent,
                                         node.lower || i + 1 == nodes.size() ||
                                             !lower_matters(*branch.path, node, nodes[i + 1]),
                                         node.backing, node.line_buffer});
        } else if (node.kind != NodeKind::compute) {
            Loop loop;
            loop.rank_variable = einsum.rank_variables[node.rank_variable].name;
            loop.tile_shape = node.tile;
            if (node.base > 0) {
                loop.initial_tile_shape = node.largest_tile();
                loop.n_iterations = node.trips(0);
            }
            if (node.kind == NodeKind::spatial) {
                loop.kind = TreeKind::spatial;
                loop.component = branch.path->levels[node.level].name;
                loop.dim = branch.path->levels[node.level].spatial[node.dim].name;
            }
            chain.loops.push_back(loop);
            chain.gaps.emplace_back();
        }
    }
    std::for_each(chain.gaps.begin(), chain.gaps.end(),
                  einsum.is_copy_operation ? keep_order_of_copy : put_backing_first);
    return chain;
}

std::vector<Shared> merged(const std::vector<std::pair<int, std::vector<Holder>>>& gaps) {
    Merger merger;
    const auto leading = [](const std::vector<Holder>& holders) {
        return static_cast<std::size_t>(std::find_if(holders.begin(), holders.end(),
                                                     [](const Holder& holder) {
                                                         return !holder.backing &&
                                                                !holder.before_backing;
                                                     }) -
                                        holders.begin());
    };
    for (const auto& [user, holders] : gaps) {
        merger.merge(std::span(holders).first(leading(holders)), user, merger.begin());
    }
    const bool none = merger.begin() == merger.end();
    const Merger::Place last = none ? merger.end() : std::prev(merger.end());
    for (const auto& [user, holders] : gaps) {
        merger.merge(std::span(holders).subspan(leading(holders)), user,
                     none ? merger.begin() : std::next(last));
    }
    return {std::make_move_iterator(merger.begin()), std::make_move_iterator(merger.end())};
}

}  // namespace tessera::mapping
