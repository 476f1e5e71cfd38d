#include "mapspace/pareto.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "pareto_window.hpp"
#include "tessera/base/stop.hpp"

// Rows are grouped by key with a hash table, then each group is reduced by the cheapest method for
// its number of columns that vary:
//   0  the first row;  1  the first minimum;
//   2+ few rows: each with the survivors so far;  many rows: sort so that a row can only be pruned
//      by an earlier one, then sweep (2, 3) or compare with a window of survivors (4+), unless a
//      sample says that this does not pay.

namespace tessera::mapspace {

namespace {

/// Groups up to this size are compared pair by pair.
constexpr std::size_t kFew = 24;

/// Rows between two looks at the stop token where each costs many comparisons.
constexpr std::size_t kPollEvery = 64;

/// From this size on columns are put in order, and comparisons have to pay.
constexpr std::size_t kMany = 1024;
constexpr std::size_t kSampledRows = 64, kSampledPairs = 512;

/// Bijective for a fixed h, so that one key needs no comparison beside its hash.
std::uint64_t mix(std::uint64_t h, double value) {
    h = (h ^ std::bit_cast<std::uint64_t>(value + 0.0)) * 0x9e3779b97f4a7c15ull;
    return h ^ (h >> 32);
}

}  // namespace

void ParetoFilter::group_rows(std::span<const double* const> keys, std::size_t rows) {
    order_.resize(rows);
    begins_.assign(1, 0);
    if (keys.empty()) {
        for (std::size_t r = 0; r < rows; ++r) {
            order_[r] = static_cast<std::uint32_t>(r);
        }
        begins_.push_back(static_cast<std::uint32_t>(rows));
        return;
    }
    hashes_.assign(rows, 0);
    for (const double* key : keys) {
        for (std::size_t r = 0; r < rows; ++r) {
            hashes_[r] = mix(hashes_[r], key[r]);
        }
    }
    // Groups are numbered by first appearance.
    table_.assign(std::bit_ceil(std::max<std::size_t>(16, 2 * rows)), Slot{0, 0});
    group_of_.resize(rows);
    firsts_.clear();
    std::vector<std::uint32_t>& sizes = begins_;
    const std::size_t mask = table_.size() - 1;
    for (std::size_t r = 0; r < rows; ++r) {
        std::size_t slot = hashes_[r] & mask;
        for (; table_[slot].group != 0; slot = (slot + 1) & mask) {
            if (table_[slot].hash != hashes_[r]) {
                continue;
            }
            const std::uint32_t first = firsts_[table_[slot].group - 1];
            if (keys.size() == 1 || std::all_of(keys.begin(), keys.end(), [&](const double* key) {
                    return key[first] == key[r];
                })) {
                break;
            }
        }
        if (table_[slot].group == 0) {
            firsts_.push_back(static_cast<std::uint32_t>(r));
            sizes.push_back(0);
            table_[slot] = {hashes_[r], static_cast<std::uint32_t>(firsts_.size())};
        }
        group_of_[r] = table_[slot].group - 1;
        ++sizes[table_[slot].group];
    }
    // Counting sort: rows of one group stay in their order.
    for (std::size_t g = 1; g < begins_.size(); ++g) {
        begins_[g] += begins_[g - 1];
    }
    firsts_.assign(begins_.begin(), begins_.end());
    for (std::size_t r = 0; r < rows; ++r) {
        order_[firsts_[group_of_[r]]++] = static_cast<std::uint32_t>(r);
    }
}

std::span<const std::uint32_t> ParetoFilter::operator()(std::span<const double* const> columns,
                                                        std::span<const double* const> keys,
                                                        std::size_t rows, double worth) {
    worth_ = worth;
    group_rows(keys, rows);
    base::poll_stop();
    is_kept_.assign(rows, 0);
    for (std::size_t g = 0; g + 1 < begins_.size(); ++g) {
        if (g % kPollEvery == 0) {
            base::poll_stop();
        }
        reduce_group(columns, std::span(order_).subspan(begins_[g], begins_[g + 1] - begins_[g]));
    }
    kept_.resize(rows);
    std::size_t kept = 0;
    for (std::size_t r = 0; r < rows; ++r) {
        kept_[kept] = static_cast<std::uint32_t>(r);
        kept += is_kept_[r];
    }
    return std::span(kept_).first(kept);
}

void ParetoFilter::reduce_group(std::span<const double* const> columns,
                                std::span<const std::uint32_t> group) {
    if (group.size() == 1) {
        keep(group[0]);
        return;
    }
    varying_.clear();
    for (const double* column : columns) {
        const double first = group.empty() ? 0.0 : column[group[0]];
        if (std::any_of(group.begin(), group.end(),
                        [&](std::uint32_t row) { return column[row] != first; })) {
            varying_.push_back(column);
        }
    }
    if (group.empty()) {
        return;
    }
    switch (varying_.size()) {
        case 0:
            keep(group[0]);
            break;
        case 1:
            reduce_one(varying_[0], group);
            break;
        default:
            if (group.size() <= kFew) {
                reduce_few(varying_, group);
            } else if (varying_.size() == 2) {
                reduce_two(varying_, group);
            } else {
                reduce_many(varying_, group);
            }
    }
}

void ParetoFilter::reduce_one(const double* column, std::span<const std::uint32_t> group) {
    keep(*std::min_element(group.begin(), group.end(), [column](std::uint32_t a, std::uint32_t b) {
        return column[a] < column[b];
    }));
}

void ParetoFilter::reduce_two(std::span<const double* const> columns,
                              std::span<const std::uint32_t> group) {
    const double* x = columns[0];
    const double* y = columns[1];
    ranked_.clear();
    for (std::size_t i = 0; i < group.size(); ++i) {
        ranked_.push_back({x[group[i]], group[i], static_cast<std::uint32_t>(i)});
    }
    std::sort(ranked_.begin(), ranked_.end(), [y](const Ranked& a, const Ranked& b) {
        if (a.rank != b.rank) {
            return a.rank < b.rank;
        }
        return y[a.row] != y[b.row] ? y[a.row] < y[b.row] : a.row < b.row;
    });
    double lowest = std::numeric_limits<double>::infinity();
    bool first = true;
    for (const Ranked& r : ranked_) {
        if (first || y[r.row] < lowest) {
            keep(r.row);
            lowest = y[r.row];
            first = false;
        }
    }
}

void ParetoFilter::load_points(std::span<const double* const> columns,
                               std::span<const std::uint32_t> group) {
    const std::size_t k = columns.size();
    if (points_.size() < group.size() * k) {
        points_.resize(group.size() * k);
    }
    for (std::size_t c = 0; c < k; ++c) {
        for (std::size_t i = 0; i < group.size(); ++i) {
            points_[i * k + c] = columns[c][group[i]];
        }
    }
}

void ParetoFilter::reduce_few(std::span<const double* const> columns,
                              std::span<const std::uint32_t> group) {
    const std::size_t k = columns.size();
    load_points(columns, group);
    std::uint8_t alive[kFew];
    std::size_t n_alive = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
        const double* x = points_.data() + i * k;
        std::size_t kept = 0;
        bool pruned = false;
        for (std::size_t a = 0; a < n_alive && !pruned; ++a) {
            const double* y = points_.data() + alive[a] * k;
            unsigned above = 0;
            unsigned below = 0;
            for (std::size_t c = 0; c < k; ++c) {
                above |= x[c] < y[c] ? 1u : 0u;
                below |= x[c] > y[c] ? 1u : 0u;
            }
            pruned = above == 0;  // y <= x, y stands first
            alive[kept] = alive[a];
            kept += below == 0 && !pruned ? 0 : 1;  // x <= y, not equal
        }
        if (!pruned) {
            alive[kept++] = static_cast<std::uint8_t>(i);
            n_alive = kept;
        }
    }
    for (std::size_t a = 0; a < n_alive; ++a) {
        keep(group[alive[a]]);
    }
}

/// Rank: sum of the columns, each scaled to its range. Rounded sums keep the order weakly: if a
/// prunes b then rank(a) <= rank(b), and equal ranks are ordered lexicographically.
void ParetoFilter::rank_points(std::size_t k) {
    const std::size_t n = ranked_.size();
    for (std::size_t c = 0; c < k; ++c) {
        double lo = points_[c];
        double hi = lo;
        for (std::size_t i = 1; i < n; ++i) {
            lo = std::min(lo, points_[i * k + c]);
            hi = std::max(hi, points_[i * k + c]);
        }
        const double scale = 1.0 / (hi - lo);
        if (!(scale > 0.0) || !std::isfinite(scale)) {
            continue;  // an unbounded range takes no part in the rank
        }
        for (std::size_t i = 0; i < n; ++i) {
            ranked_[i].rank += (points_[i * k + c] - lo) * scale;
        }
    }
}

/// Drops what the row of least rank prunes, which is often most: cheaper than sorting it.
void ParetoFilter::drop_behind_best(std::size_t k) {
    const Ranked best =
        *std::min_element(ranked_.begin(), ranked_.end(),
                          [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
    const double* x = points_.data() + best.place * k;
    std::erase_if(ranked_, [&](const Ranked& r) {
        const double* y = points_.data() + r.place * k;
        bool behind = true;
        bool equal = true;
        for (std::size_t c = 0; c < k; ++c) {
            behind = behind && x[c] <= y[c];
            equal = equal && x[c] == y[c];
        }
        return behind && (!equal || best.row < r.row);
    });
}

void ParetoFilter::reduce_many(std::span<const double* const> columns,
                               std::span<const std::uint32_t> group) {
    const std::size_t k = columns.size();
    const std::size_t n = group.size();
    load_points(columns, group);
    ranked_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        ranked_[i] = {0.0, group[i], static_cast<std::uint32_t>(i)};
    }
    base::poll_stop();
    rank_points(k);
    base::poll_stop();
    drop_behind_best(k);
    base::poll_stop();
    if (k == 3) {
        for (Ranked& r : ranked_) {
            r.rank = points_[r.place * 3];
        }
    }
    std::sort(ranked_.begin(), ranked_.end(), [this, k](const Ranked& a, const Ranked& b) {
        if (a.rank != b.rank) {
            return a.rank < b.rank;
        }
        const double* x = points_.data() + a.place * k;
        const double* y = points_.data() + b.place * k;
        for (std::size_t c = 0; c < k; ++c) {
            if (x[c] != y[c]) {
                return x[c] < y[c];
            }
        }
        return a.row < b.row;
    });
    base::poll_stop();
    if (k == 3) {
        sweep_three();
        return;
    }
    choose_column_order(k);
    if (!pays(k)) {
        for (const Ranked& r : ranked_) {
            keep(r.row);
        }
        return;
    }
    DominanceWindow window(window_, k);
    point_.resize(k);
    std::size_t compared = 0;
    for (const Ranked& r : ranked_) {
        if (compared++ % kPollEvery == 0) {
            base::poll_stop();
        }
        for (std::size_t c = 0; c < k; ++c) {
            point_[c] = points_[r.place * k + column_order_[c]];
        }
        if (!window.dominates(point_.data())) {
            window.add(point_.data());
            keep(r.row);
        }
    }
}

/// First the column in which the fewest earlier rows are not above later ones, then the same of
/// the pairs that are left: a comparison ends with the first column that is above.
void ParetoFilter::choose_column_order(std::size_t k) {
    column_order_.resize(k);
    std::iota(column_order_.begin(), column_order_.end(), 0u);
    const std::size_t n = ranked_.size();
    if (n < kMany) {
        return;
    }
    pairs_.clear();
    std::minstd_rand random;
    for (std::size_t i = 0; i < kSampledPairs; ++i) {
        const std::size_t a = random() % n, b = random() % n;
        pairs_.push_back({points_.data() + ranked_[std::min(a, b)].place * k,
                          points_.data() + ranked_[std::max(a, b)].place * k});
    }
    const auto not_above = [](std::uint32_t c) {
        return [c](const Pair& p) { return p.earlier[c] <= p.later[c]; };
    };
    for (std::size_t at = 0; at < k && !pairs_.empty(); ++at) {
        std::size_t best = at;
        std::ptrdiff_t fewest = std::numeric_limits<std::ptrdiff_t>::max();
        for (std::size_t i = at; i < k; ++i) {
            const std::ptrdiff_t count = std::ranges::count_if(pairs_, not_above(column_order_[i]));
            if (count < fewest) {
                best = i;
                fewest = count;
            }
        }
        std::swap(column_order_[at], column_order_[best]);
        std::erase_if(pairs_, std::not_fn(not_above(column_order_[at])));
    }
}

/// Whether enough rows are pruned by earlier ones.
bool ParetoFilter::pays(std::size_t k) const {
    const std::size_t n = ranked_.size();
    if (n < kMany || !std::isfinite(worth_)) {
        return true;
    }
    std::size_t pruned = 0;
    for (std::size_t i = 0; i < kSampledRows; ++i) {
        const std::size_t at = (2 * i + 1) * n / (2 * kSampledRows);
        const double* later = points_.data() + ranked_[at].place * k;
        pruned += std::any_of(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(at),
                              [&](const Ranked& r) {
                                  const double* earlier = points_.data() + r.place * k;
                                  return std::ranges::all_of(column_order_, [&](std::uint32_t c) {
                                      return earlier[c] <= later[c];
                                  });
                              })
                      ? 1
                      : 0;
    }
    const double share = static_cast<double>(pruned) / kSampledRows;
    return share * worth_ >= (1 - share) * static_cast<double>(n) / 2;
}

/// Rows in the order of the first column: the survivors so far form a staircase in the other two,
/// y rising, z falling.
void ParetoFilter::sweep_three() {
    stairs_.clear();
    for (const Ranked& r : ranked_) {
        const double y = points_[r.place * 3 + 1];
        const double z = points_[r.place * 3 + 2];
        // First step behind y; the one before it has the least z among those with no larger y.
        const auto behind = std::upper_bound(stairs_.begin(), stairs_.end(), y,
                                             [](double v, const Step& s) { return v < s.y; });
        if (behind != stairs_.begin() && std::prev(behind)->z <= z) {
            continue;
        }
        keep(r.row);
        // The new step hides those from y on that are not lower than it.
        auto first = behind;
        while (first != stairs_.begin() && std::prev(first)->y == y) {
            --first;
        }
        auto last = first;
        while (last != stairs_.end() && last->z >= z) {
            ++last;
        }
        if (first == last) {
            stairs_.insert(first, {y, z});
        } else {
            *first = {y, z};
            stairs_.erase(first + 1, last);
        }
    }
}

}  // namespace tessera::mapspace
