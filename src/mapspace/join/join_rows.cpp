// One pair of rows: costs, bounds, what memories hold (join_held.hpp). Then loops below the deepest
// live tensor close.
#include "join_rows.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "join_held.hpp"
#include "join_later.hpp"
#include "mapspace/pareto.hpp"
#include "mapspace/relaxed/completion_bounds.hpp"
#include "tessera/arch/path.hpp"
#include "tessera/base/hash.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::mapspace::detail {
namespace {

// Sums of the same costs in another order differ by rounding; a bound must never drop the very
// solution that it came from.
constexpr double tie_slack = 1e-11;
/// Pairs of rows between two looks at the stop token.
constexpr std::size_t poll_every = 256;

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
          held_(plan_, left_.layout, right_, bound.reference_sizes),
          trips_(static_cast<std::size_t>(plan_.n_open)) {}

    /// Returns the number of pairs looked at.
    std::uint64_t run(const std::vector<TrackedMemory>& memories, CapacityMiss& miss) {
        const MatchingRows matching(right_, plan_.right_of_left, bound_);
        std::uint64_t pairs = 0;
        RowLimit limit;
        for (std::size_t i = 0; i < left_.rows(); ++i) {
            if (i % poll_every == 0) {
                base::poll_stop();
            }
            const double* l = left_.row(i);
            matching.for_each(left_.trips_of(i), [&](std::uint32_t j) {
                if (pairs++ % poll_every == 0) {
                    base::poll_stop();
                }
                const double* r = right_.row(j);
                if (may_be_best(l, r, j) && fits(l, r, memories, miss)) {
                    append(i, j);
                }
            });
            limit.hold(out_);
        }
        return pairs;
    }

private:
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
                held_.size_of(l, r, plan_.sizes[z]);
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

    /// Fills the held and peak columns of memory m. Returns the highest use; above `size_bits` the
    /// row is not complete.
    double combine_memory(int m, double size_bits, const double* l, const double* r) {
        const int open = plan_.n_open;
        held_.find(m, l, r);
        double* peak = held_.peak().data();
        peak[open] = std::max(peak[open], held_.held(plan_.n_right));  // the right Einsum itself
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
            out[layout_.held(m, d)] = held_.held(d);
        }
        out[layout_.held(m, open)] = held_.live(m, l, r);
        for (int d = 0; d <= open; ++d) {
            out[layout_.peak(m, d)] = peak[d];
        }
        return use;
    }

    const Pairing& pairing_;
    const StateGroup& left_;
    const PmappingGroup& right_;
    const JoinPlan& plan_;
    const StepBound& bound_;
    const StateLayout layout_;
    StateGroup& out_;
    std::vector<double> row_;
    HeldTogether<StateLayout> held_;
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

MatchingRows::MatchingRows(const PmappingGroup& right, const std::vector<int>& loops,
                           const StepBound& bound)
    : right_(right), loops_(loops) {
    std::vector<std::int64_t> key(loops.size());
    for (std::size_t r = 0; r < right.rows(); ++r) {
        if (!bound.has_completion(r)) {
            continue;
        }
        const std::int64_t* trips = right.trips_of(r);
        for (std::size_t j = 0; j < loops.size(); ++j) {
            key[j] = trips[loops[j]];
        }
        rows_.emplace_back(base::hash_row(key.data(), key.size()), static_cast<std::uint32_t>(r));
    }
    std::sort(rows_.begin(), rows_.end());
}

std::pair<const MatchingRows::Row*, const MatchingRows::Row*> MatchingRows::find(
    const std::int64_t* trips) const {
    return std::equal_range(rows_.data(), rows_.data() + rows_.size(),
                            Row(base::hash_row(trips, loops_.size()), 0u),
                            [](const Row& a, const Row& b) { return a.first < b.first; });
}

bool MatchingRows::same(const std::int64_t* trips, std::uint32_t row) const {
    for (std::size_t q = 0; q < loops_.size(); ++q) {
        if (trips[q] != right_.trips_of(row)[loops_[q]]) {
            return false;
        }
    }
    return true;
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

}  // namespace tessera::mapspace::detail
