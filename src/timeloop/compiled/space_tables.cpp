#include <algorithm>
#include <cstdlib>

#include "compiled_nest.hpp"

namespace tessera::timeloop {

SpaceTables::SpaceTables(const Problem& problem)
    : dimensions_(static_cast<int>(problem.dimensions.size())),
      spaces_(static_cast<int>(problem.data_spaces.size())) {
    steps_.resize(spaces_ * max_dimensions);
    first_rank_.push_back(0);
    for (int space = 0; valid_ && space < spaces_; ++space) {
        add_space(problem, space);
    }
    if (valid_) {
        index_touches(problem);
    }
}

void SpaceTables::add_space(const Problem& problem, int space) {
    // Compared values are sums of a handful of offsets, each below the extent of its rank.
    constexpr double room = 32, largest = 2e18;
    double radix = 1;
    for (const std::vector<Term>& rank : problem.data_spaces[space].ranks) {
        const double extent = rank_extent<double>(
            rank, [&](int d) { return static_cast<double>(problem.dimensions[d].bound - 1); });
        double digit = 1;  // a power of two, so that the radix is an exact integer
        while (digit < room * extent) {
            digit *= 2;
        }
        for (const Term& term : rank) {
            // Below the next radix, so that the product fits. A dimension of one value never moves,
            // whatever its coefficient.
            if (radix * digit < largest && problem.dimensions[term.dimension].bound > 1) {
                steps_[space * max_dimensions + term.dimension] +=
                    static_cast<std::int64_t>(radix) * term.value;
            }
        }
        radix *= digit;
    }
    const int ranks = static_cast<int>(problem.data_spaces[space].ranks.size());
    first_rank_.push_back(first_rank_.back() + ranks);
    valid_ = radix < largest && first_rank_.back() <= max_ranks;
}

void SpaceTables::index_touches(const Problem& problem) {
    for (int d = 0; d < dimensions_; ++d) {
        for (int space = 0; space < spaces_; ++space) {
            touch_begin_.push_back(static_cast<int>(touches_.size()));
            int at = first_rank_[space];
            for (const std::vector<Term>& rank : problem.data_spaces[space].ranks) {
                for (const Term& term : rank) {
                    if (term.dimension == d) {
                        touches_.push_back({at, term.value, std::abs(term.value)});
                    }
                }
                ++at;
            }
        }
        touch_begin_.push_back(static_cast<int>(touches_.size()));
    }
}

std::uint64_t SpaceTables::residue(const std::int64_t* extents, int space, int dimension,
                                   std::int64_t steps) const {
    const int begin = touch_begin(dimension, space), end = touch_begin(dimension, space + 1);
    std::int64_t whole = 1, kept = 1;
    if (end == begin + 1) {
        const int moving = touches_[begin].rank;
        for (int r = first_rank_[space]; r < first_rank_[space + 1]; ++r) {
            whole *= r == moving ? 1 : extents[r];
        }
        return static_cast<std::uint64_t>(
            whole * std::min(extents[moving], touches_[begin].magnitude * steps));
    }
    for (int r = first_rank_[space]; r < first_rank_[space + 1]; ++r) {
        std::int64_t moved = 0;
        for (int t = begin; t < end; ++t) {
            moved += touches_[t].rank == r ? touches_[t].value * steps : 0;
        }
        whole *= extents[r];
        kept *= std::max<std::int64_t>(0, extents[r] - std::abs(moved));
    }
    return static_cast<std::uint64_t>(whole - kept);
}

}  // namespace tessera::timeloop
