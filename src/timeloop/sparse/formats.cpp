// Which loops of a level make which rank of its format. A level whose tiles are handed on whole
// keeps the ranks of the next inner level inside its own.
#include <algorithm>

#include "state.hpp"

namespace tessera::timeloop::sparse {

namespace {

/// Loops over a data space at one level and those without an inner level that keeps it, innermost
/// first, with the tile of each.
struct Candidates {
    std::vector<NestLoop> loops;
    std::vector<sparsity::Tile> tiles;
};

/// Gives loops to the ranks of one level, beginning at one end.
class RankMaker {
public:
    RankMaker(const Candidates& from, const Held& held, sparsity::Tile scalar)
        : from_(from), held_(held), scalar_(std::move(scalar)) {}

    std::vector<RankLoops> ranks;
    std::vector<sparsity::Tile> tiles;  ///< of each rank's loops

    /// \return whether loops are left over
    bool outer_to_inner(int least) {
        int next = static_cast<int>(from_.loops.size()) - 1;
        int rank = own_ranks();
        const auto left = [&] { return next >= 0; };
        while (rank > least && next >= 0) {
            skip_trivial(next, -1);
            if (next < 0) {
                break;
            }
            --rank;
            const NestLoop& loop = from_.loops[static_cast<std::size_t>(next)];
            const std::vector<int>* rule = rule_for(rank, loop.dimension);
            if (has_rules(rank) && rule == nullptr) {
                // At the far end: Timeloop's.
                ranks.emplace_back();
                tiles.push_back(from_.tiles.front());
                continue;
            }
            RankLoops flattened = {loop};
            const sparsity::Tile tile = from_.tiles[static_cast<std::size_t>(next)];
            --next;
            flatten(next, -1, left, rule, flattened);
            ranks.insert(ranks.begin(), std::move(flattened));
            tiles.insert(tiles.begin(), tile);
        }
        for (; rank > least; --rank) {
            ranks.emplace(ranks.begin());
            tiles.insert(tiles.begin(), from_.tiles.front());
        }
        skip_trivial(next, -1);
        return next >= 0;
    }

    bool inner_to_outer(int least) {
        const int count = static_cast<int>(from_.loops.size());
        int next = 0, rank = least - 1;
        const auto left = [&] { return next < count; };
        sparsity::Tile tile = scalar_;
        while (rank < own_ranks() - 1 && next < count) {
            skip_trivial(next, 1);
            if (next < count) {
                ++rank;
                const NestLoop& loop = from_.loops[static_cast<std::size_t>(next)];
                const std::vector<int>* rule = rule_for(rank, loop.dimension);
                if (has_rules(rank) && rule == nullptr) {
                    ranks.emplace_back();
                    tiles.push_back(tile);
                    continue;
                }
                RankLoops flattened = {loop};
                tile = from_.tiles[static_cast<std::size_t>(next)];
                ++next;
                flatten(next, 1, left, rule, flattened);
                ranks.push_back(std::move(flattened));
                tiles.push_back(tile);
            }
            tile = scalar_;
        }
        for (; rank < own_ranks() - 1; ++rank) {
            ranks.emplace_back();
            tiles.push_back(from_.tiles.front());
        }
        skip_trivial(next, 1);
        return next < count;
    }

private:
    int own_ranks() const {
        return held_.format == nullptr ? 1 : static_cast<int>(held_.rank_count());
    }
    bool has_rules(int rank) const {
        return held_.format != nullptr &&
               !held_.format->ranks[static_cast<std::size_t>(rank)].flattened.empty();
    }
    const std::vector<int>* rule_for(int rank, int dimension) const {
        if (held_.format == nullptr) {
            return nullptr;
        }
        for (const auto& rule : held_.format->ranks[static_cast<std::size_t>(rank)].flattened) {
            if (std::find(rule.begin(), rule.end(), dimension) != rule.end()) {
                return &rule;
            }
        }
        return nullptr;
    }
    void skip_trivial(int& next, int step) const {
        while (next >= 0 && next < static_cast<int>(from_.loops.size()) &&
               from_.loops[static_cast<std::size_t>(next)].trivial()) {
            next += step;
        }
    }
    /// The loops after the first that the rule makes part of the same rank; without a format all.
    template <class Left>
    void flatten(int& next, int step, const Left& left, const std::vector<int>* rule,
                 RankLoops& into) const {
        if (held_.format != nullptr && rule == nullptr) {
            return;
        }
        for (; left(); next += step) {
            const NestLoop& loop = from_.loops[static_cast<std::size_t>(next)];
            const bool ruled = rule == nullptr ||
                               std::find(rule->begin(), rule->end(), loop.dimension) != rule->end();
            if (!ruled && !loop.trivial()) {
                return;
            }
            if (!loop.trivial()) {
                into.push_back(loop);
            }
        }
    }

    const Candidates& from_;
    const Held& held_;
    sparsity::Tile scalar_;
};

class RankDefinition {
public:
    explicit RankDefinition(State& state) : state_(state) {}

    void define(int level, int space) {
        Held& held = state_.of(level, space);
        const Held* child = held.child < 0 ? nullptr : &state_.of(held.child, space);
        const bool keeps_ranks = held.compressed() && child != nullptr && child->points > 1;
        const std::size_t inner = child == nullptr           ? 0
                                  : child->format == nullptr ? 1
                                                             : child->rank_count();
        if (keeps_ranks) {
            check_alignment(level, held, *child, inner);
        }
        Candidates candidates = loops_of(level, space, held.child + 1);
        if (!keeps_ranks) {
            widen(held.child + 1, candidates.loops);
        }
        const sparsity::Tile scalar = state_.project(space, state_.scalar());
        RankMaker maker(candidates, held, scalar);
        const int least = keeps_ranks ? static_cast<int>(inner) : 0;
        const bool outward = held.format != nullptr && held.format->inner_to_outer;
        if (outward ? maker.inner_to_outer(least) : maker.outer_to_inner(least)) {
            misfit(Fit::Kind::too_many_ranks, level);
        }
        held.ranks = std::move(maker.ranks);
        held.subtiles = std::move(maker.tiles);
        if (keeps_ranks) {
            held.ranks.insert(held.ranks.begin(), child->ranks.begin(), child->ranks.end());
            held.subtiles.insert(held.subtiles.begin(), child->subtiles.begin(),
                                 child->subtiles.end());
        } else {
            held.subtiles.insert(held.subtiles.begin(), scalar);
        }
        const std::size_t own = held.format == nullptr ? 1 : held.rank_count();
        if (held.ranks.size() != own || held.subtiles.size() != own + 1) {
            misfit(Fit::Kind::ranks_do_not_fit, level, held.ranks.size(), static_cast<double>(own));
        }
        for (const RankLoops& rank : held.ranks) {
            Extents extents = state_.scalar();
            for (const NestLoop& loop : rank) {
                extents[static_cast<std::size_t>(loop.dimension)] *= loop.end;
            }
            held.fibers.push_back(sparsity::points_of(state_.project(space, extents)));
        }
    }

private:
    void check_alignment(int level, const Held& held, const Held& child, std::size_t inner) const {
        if (inner > held.rank_count()) {
            misfit(Fit::Kind::unaligned_formats, level);
        }
        for (std::size_t r = 0; child.compressed() && r < inner; ++r) {
            if (held.format->ranks[r].format != child.format->ranks[r].format) {
                misfit(Fit::Kind::unaligned_formats, level);
            }
        }
    }

    Candidates loops_of(int level, int space, int innermost) const {
        Candidates result;
        for (int i = innermost; i <= level; ++i) {
            for (const NestLoop& loop : state_.loops[static_cast<std::size_t>(i)]) {
                if (state_.uses[static_cast<std::size_t>(space)]
                               [static_cast<std::size_t>(loop.dimension)]) {
                    result.loops.push_back(loop);
                    result.tiles.push_back(state_.project(space, loop.extents));
                }
            }
        }
        return result;
    }

    /// The innermost loop over a dimension takes in those of all inner levels.
    void widen(int below, std::vector<NestLoop>& loops) const {
        Extents inner = state_.scalar();
        for (int i = 0; i < below; ++i) {
            for (const NestLoop& loop : state_.loops[static_cast<std::size_t>(i)]) {
                inner[static_cast<std::size_t>(loop.dimension)] *= loop.end;
            }
        }
        for (NestLoop& loop : loops) {
            loop.end *= inner[static_cast<std::size_t>(loop.dimension)];
            inner[static_cast<std::size_t>(loop.dimension)] = 1;
        }
    }

    State& state_;
};

}  // namespace

void check_formats(const State& state) {
    for (int s = 0; state.design.formats && s < state.spaces; ++s) {
        const Held* parent = nullptr;
        int parent_level = -1;
        for (int i = state.levels - 1; i >= 0; --i) {
            const Held& held = state.of(i, s);
            if (!held.kept) {
                continue;
            }
            const MetadataStorage& storage =
                state.architecture.storage[static_cast<std::size_t>(i)].metadata;
            const bool unpacked = parent != nullptr && parent->compressed() && !held.compressed();
            if (unpacked && !storage.decompresses) {
                misfit(Fit::Kind::no_decompression, i);
            }
            if (unpacked && state.writes(s) && !storage.compresses) {
                misfit(Fit::Kind::no_compression, i);
            }
            if (parent != nullptr && parent->compressed() && held.compressed() &&
                parent->rank_count() < held.rank_count()) {
                misfit(Fit::Kind::no_partition, parent_level);
            }
            parent = &held;
            parent_level = i;
        }
    }
}

void define_ranks(State& state) {
    if (!state.design.formats) {
        return;
    }
    RankDefinition definition(state);
    for (int s = 0; s < state.spaces; ++s) {
        for (int i = 0; i < state.levels; ++i) {
            if (state.of(i, s).kept) {
                definition.define(i, s);
            }
        }
    }
}

}  // namespace tessera::timeloop::sparse
