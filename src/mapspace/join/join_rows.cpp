// See join.hpp for the columns, coexistence.hpp for the arithmetic of one pair: joined held from
// left held, the right Einsum's cumulative occupancies and what both sides hold; joined peak from
// left peak likewise, and the right Einsum itself. Then loops below the deepest live tensor close.
#include "join_rows.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "join_later.hpp"
#include "mapspace/pareto.hpp"
#include "mapspace/relaxed/completion_bounds.hpp"
#include "tessera/arch/path.hpp"
#include "tessera/base/hash.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/model/coexistence.hpp"

namespace tessera::mapspace::detail {
namespace {

// Sums of the same costs in another order differ by rounding; a bound must never drop the very
// solution that it came from.
constexpr double tie_slack = 1e-11;
/// Pairs of rows between two looks at the stop token.
constexpr std::size_t poll_every = 256;

/// Right rows by the trip counts of the loops that become the open ones.
class RightIndex {
public:
    RightIndex(const PmappingGroup& right, const std::vector<int>& loops, const StepBound& bound)
        : loops_(loops) {
        key_.resize(loops.size());
        for (std::size_t r = 0; r < right.rows(); ++r) {
            if (!bound.has_completion(r)) {
                continue;
            }
            const std::int64_t* trips = right.trips_of(r);
            for (std::size_t j = 0; j < loops.size(); ++j) {
                key_[j] = trips[loops[j]];
            }
            rows_.emplace_back(base::hash_row(key_.data(), key_.size()),
                               static_cast<std::uint32_t>(r));
        }
        std::sort(rows_.begin(), rows_.end());
    }

    /// Hashes and rows, ascending.
    std::span<const std::pair<std::uint64_t, std::uint32_t>> find(const std::int64_t* trips,
                                                                  int n) const {
        const auto [first, last] =
            std::equal_range(rows_.begin(), rows_.end(),
                             std::pair(base::hash_row(trips, static_cast<std::size_t>(n)), 0u),
                             [](const auto& a, const auto& b) { return a.first < b.first; });
        return {first, last};
    }

private:
    std::vector<int> loops_;
    std::vector<std::int64_t> key_;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> rows_;
};

/// All pairs of one pairing. Its vectors are scratch: no allocation per pair.
class Combination {
public:
    Combination(const Pairing& pairing, const StepBound& bound, StateGroup& out)
        : pairing_(pairing),
          left_(pairing.left),
          right_(pairing.right),
          plan_(pairing.plan),
          bound_(bound),
          layout_(out.layout),
          out_(out),
          row_(static_cast<std::size_t>(layout_.stride())),
          shared_(static_cast<std::size_t>(plan_.n_left + 2)),
          joined_(static_cast<std::size_t>(plan_.n_right + 2)),
          peak_(static_cast<std::size_t>(std::max(plan_.n_open, plan_.n_left) + 1)),
          trips_(static_cast<std::size_t>(plan_.n_open)) {}

    /// Returns the number of pairs looked at.
    std::uint64_t run(const std::vector<TrackedMemory>& memories, CapacityMiss& miss) {
        const RightIndex index(right_, plan_.right_of_left, bound_);
        std::uint64_t pairs = 0;
        RowLimit limit;
        for (std::size_t i = 0; i < left_.rows(); ++i) {
            if (i % poll_every == 0) {
                base::poll_stop();
            }
            for (const auto& [hash, j] : index.find(left_.trips_of(i), plan_.n_left)) {
                if (pairs % poll_every == 0) {
                    base::poll_stop();
                }
                if (!same_loops(i, j)) {
                    continue;
                }
                ++pairs;
                const double* l = left_.row(i);
                const double* r = right_.row(j);
                if (may_be_best(l, r, j) && fits(l, r, memories, miss)) {
                    append(i, j);
                }
            }
            limit.hold(out_);
        }
        return pairs;
    }

private:
    bool same_loops(std::size_t i, std::size_t j) const {
        const std::int64_t* left = left_.trips_of(i);
        const std::int64_t* right = right_.trips_of(j);
        for (int q = 0; q < plan_.n_left; ++q) {
            if (left[q] != right[plan_.right_of_left[static_cast<std::size_t>(q)]]) {
                return false;
            }
        }
        return true;
    }

    /// Adds the objectives. False: no mapping with these two is better than what is known.
    bool may_be_best(const double* l, const double* r, std::uint32_t j) {
        for (int k = 0; k < layout_.k; ++k) {
            row_[static_cast<std::size_t>(k)] = l[k] + r[k];
        }
        return !bound_.pruned_by_bound(row_.data()) &&
               !bound_.pruned_by_completions(row_.data(), j);
    }

    bool fits(const double* l, const double* r, const std::vector<TrackedMemory>& memories,
              CapacityMiss& miss) {
        for (int m = 0; m < layout_.memories; ++m) {
            const double size = arch::most_bits(memories[static_cast<std::size_t>(m)].size_bits);
            const double use = combine_memory(m, size, l, r);
            if (!(use <= size)) {
                if (miss.memory < 0 || use < miss.bits) {
                    miss = {m, use};
                }
                return false;
            }
        }
        for (std::size_t z = 0; z < plan_.sizes.size(); ++z) {
            row_[static_cast<std::size_t>(layout_.size(static_cast<int>(z)))] =
                size_of(l, r, plan_.sizes[z]);
        }
        return true;
    }

    void append(std::size_t i, std::uint32_t j) {
        // The open loops of the joined state are loops of the right row.
        const std::int64_t* right = right_.trips_of(j);
        for (int p = 0; p < plan_.n_open; ++p) {
            trips_[static_cast<std::size_t>(p)] = right[plan_.order[static_cast<std::size_t>(p)]];
        }
        out_.values.insert(out_.values.end(), row_.begin(), row_.end());
        out_.trips.insert(out_.trips.end(), trips_.begin(), trips_.end());
        out_.from.push_back({pairing_.left_index, static_cast<std::uint32_t>(i),
                             pairing_.right_index, j, pairing_.plan_index});
    }

    /// Size of a live tensor. Its users may see boxes of different size (halo, broadcast copies):
    /// the largest counts, in the reference the first user's.
    double size_of(const double* l, const double* r, const SizeSource& z) const {
        const double before = z.left >= 0 ? l[left_.layout.size(z.left)] : 0.0;
        if (z.right < 0 || (z.left >= 0 && bound_.reference_sizes)) {
            return before;
        }
        return std::max(before, r[right_.size_column(z.right)]);
    }

    /// Fills the held and peak columns of memory m. Returns the highest use; above `size_bits` the
    /// row is not complete.
    double combine_memory(int m, double size_bits, const double* l, const double* r) {
        const int s = plan_.n_left;
        const int n = plan_.n_right;
        const int open = plan_.n_open;
        double* shared = shared_.data() + 1;  // index -1..s
        double* joined = joined_.data() + 1;  // index -1..n
        double* peak = peak_.data();
        find_shared(m, l, r, shared);
        const model::Appended all{&l[left_.layout.held(m, 0)], &r[right_.occupancy_column(m, 0)],
                                  shared, s};
        for (int d = -1; d <= n; ++d) {
            joined[d] = all.held(d);
        }
        std::fill(peak_.begin(), peak_.end(), 0.0);
        for (int d = 0; d <= s; ++d) {
            double& target = peak[std::min(d, open)];
            target = std::max(target, all.peak(l[left_.layout.peak(m, d)], d));
        }
        peak[open] = std::max(peak[open], joined[n]);  // the right Einsum itself
        for (int d = open - 1; d >= 0; --d) {
            peak[d] = std::max(peak[d], peak[d + 1]);
        }
        const double use = peak[0];
        if (use > size_bits) {
            return use;
        }
        if (bound_.later != nullptr) {
            settle_peaks(peak, open, *bound_.later, m, size_bits);
        }
        double* out = row_.data();
        for (int d = -1; d < open; ++d) {
            out[layout_.held(m, d)] = joined[d];
        }
        double live = joined[open - 1];
        for (const SizeSource& z : plan_.sizes) {
            if (z.tracked == m && z.level == open && z.counts) {
                live += size_of(l, r, z);
            }
        }
        out[layout_.held(m, open)] = live;
        for (int d = 0; d <= open; ++d) {
            out[layout_.peak(m, d)] = peak[d];
        }
        return use;
    }

    /// What both sides hold in memory m, by depth.
    void find_shared(int m, const double* l, const double* r, double* shared) {
        std::fill(shared_.begin(), shared_.end(), 0.0);
        for (const SharedTensor& x : plan_.shared) {
            if (x.tracked != m) {
                continue;
            }
            const double before = l[left_.layout.size(x.left_index)];
            const double twice = bound_.reference_sizes
                                     ? before
                                     : std::min(before, r[right_.size_column(x.right_index)]);
            for (int d = x.level; d <= plan_.n_left; ++d) {
                shared[d] += twice;
            }
        }
    }

    const Pairing& pairing_;
    const StateGroup& left_;
    const PmappingGroup& right_;
    const JoinPlan& plan_;
    const StepBound& bound_;
    const StateLayout layout_;
    StateGroup& out_;
    std::vector<double> row_, shared_, joined_, peak_;
    std::vector<std::int64_t> trips_;  // of the open loops
};

}  // namespace

bool StepBound::pruned_by_bound(const double* o) const {
    if (incumbents == nullptr) {
        return false;
    }
    const double first = o[0] + future[0];
    const double second = goal == JoinGoal::single ? 0.0 : o[1] + future[1];
    if (goal == JoinGoal::pareto) {
        return std::any_of(incumbents->begin(), incumbents->end(), [&](const auto& p) {
            return (p[0] < first * (1 - tie_slack) && p[1] <= second) ||
                   (p[0] <= first && p[1] < second * (1 - tie_slack));
        });
    }
    const double value = goal == JoinGoal::edp ? first * second : first;
    return std::any_of(incumbents->begin(), incumbents->end(), [&](const auto& p) {
        const double known = goal == JoinGoal::edp ? p[0] * p[1] : p[0];
        return known < value * (1 - tie_slack);
    });
}

bool StepBound::has_completion(std::size_t right_row) const {
    return completions == nullptr ||
           std::isfinite((*least)[right_row * completions->sums().width()]);
}

bool StepBound::pruned_by_completions(const double* o, std::size_t right_row) const {
    return completions != nullptr &&
           completions->sums().pruned(o, &(*least)[right_row * completions->sums().width()]);
}

void RowLimit::hold(StateGroup& group) {
    if (group.rows() >= next_) {
        prune_pareto(group);
        next_ = std::max(next_, 2 * group.rows());
    }
}

std::uint64_t combine(const Pairing& pairing, const std::vector<TrackedMemory>& memories,
                      const StepBound& bound, StateGroup& out, CapacityMiss& miss) {
    return Combination(pairing, bound, out).run(memories, miss);
}

std::vector<std::uint32_t> pareto_rows(const double* values, int stride, int compared,
                                       const std::int64_t* keys, int key_width, std::size_t rows) {
    // One per thread: they keep their memory.
    thread_local ParetoFilter filter;
    thread_local std::vector<std::vector<double>> columns;
    thread_local std::vector<const double*> minimise, same;
    minimise.clear();
    same.clear();
    const auto width = static_cast<std::size_t>(stride);
    const auto keys_wide = static_cast<std::size_t>(key_width);
    std::size_t used = 0;
    const auto add_column = [&](const auto* from, std::size_t step,
                                std::vector<const double*>& to) {
        bool varies = false;
        for (std::size_t r = 1; r < rows && !varies; ++r) {
            varies = from[r * step] != from[0];
        }
        if (!varies) {
            return;  // the same in all rows: decides nothing
        }
        std::vector<double>& column =
            used < columns.size() ? columns[used] : columns.emplace_back();
        ++used;
        column.resize(rows);
        for (std::size_t r = 0; r < rows; ++r) {
            column[r] = static_cast<double>(from[r * step]);
        }
        to.push_back(column.data());
    };
    for (int c = 0; c < compared; ++c) {
        add_column(values + c, width, minimise);
    }
    for (std::size_t k = 0; k < keys_wide; ++k) {
        add_column(keys + k, keys_wide, same);
    }
    const std::span<const std::uint32_t> kept = filter(minimise, same, rows);
    return {kept.begin(), kept.end()};
}

void prune_pareto(StateGroup& g) {
    const std::vector<std::uint32_t> keep =
        pareto_rows(g.values.data(), g.layout.stride(), g.layout.compared(), g.trips.data(),
                    g.layout.n, g.rows());
    keep_rows(g.values, static_cast<std::size_t>(g.layout.stride()), keep);
    keep_rows(g.trips, static_cast<std::size_t>(g.layout.n), keep);
    keep_rows(g.from, 1, keep);
}

}  // namespace tessera::mapspace::detail
