#include "tessera/mapspace/pareto.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "mapspace/pareto_window.hpp"

// Rows are grouped by key with a hash table, then each group is reduced by the cheapest method for
// its number of columns that vary:
//   0  the first row;  1  the first minimum;  2  sort and sweep;
//   3+ sort so that a row can only be pruned by an earlier one, compare with a window of survivors.

namespace tessera::mapspace {

namespace {

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
    // Group numbers by first appearance; table entries are group + 1, `firsts` a row of each group.
    table_.assign(std::bit_ceil(std::max<std::size_t>(16, 2 * rows)), 0);
    group_of_.resize(rows);
    std::vector<std::uint32_t>& firsts = kept_;  // free until the groups are reduced
    firsts.clear();
    std::vector<std::uint32_t>& sizes = begins_;
    const std::size_t mask = table_.size() - 1;
    for (std::size_t r = 0; r < rows; ++r) {
        std::uint64_t h = 0;
        for (const double* key : keys) {
            h = mix(h, key[r]);
        }
        std::size_t slot = h & mask;
        for (; table_[slot] != 0; slot = (slot + 1) & mask) {
            const std::uint32_t first = firsts[table_[slot] - 1];
            if (std::all_of(keys.begin(), keys.end(),
                            [&](const double* key) { return key[first] == key[r]; })) {
                break;
            }
        }
        if (table_[slot] == 0) {
            firsts.push_back(static_cast<std::uint32_t>(r));
            sizes.push_back(0);
            table_[slot] = static_cast<std::uint32_t>(firsts.size());
        }
        group_of_[r] = table_[slot] - 1;
        ++sizes[table_[slot]];
    }
    // Counting sort: rows of one group stay in their order.
    for (std::size_t g = 1; g < begins_.size(); ++g) {
        begins_[g] += begins_[g - 1];
    }
    table_.assign(begins_.begin(), begins_.end());
    for (std::size_t r = 0; r < rows; ++r) {
        order_[table_[group_of_[r]]++] = static_cast<std::uint32_t>(r);
    }
}

std::span<const std::uint32_t> ParetoFilter::operator()(std::span<const double* const> columns,
                                                        std::span<const double* const> keys,
                                                        std::size_t rows) {
    group_rows(keys, rows);
    kept_.clear();
    for (std::size_t g = 0; g + 1 < begins_.size(); ++g) {
        reduce_group(columns,
                     std::span(order_).subspan(begins_[g], begins_[g + 1] - begins_[g]));
    }
    std::sort(kept_.begin(), kept_.end());
    return kept_;
}

void ParetoFilter::reduce_group(std::span<const double* const> columns,
                                std::span<const std::uint32_t> group) {
    if (group.size() == 1) {
        kept_.push_back(group[0]);
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
        case 0: kept_.push_back(group[0]); break;
        case 1: reduce_one(varying_[0], group); break;
        case 2: reduce_two(varying_, group); break;
        default: reduce_many(varying_, group); break;
    }
}

void ParetoFilter::reduce_one(const double* column, std::span<const std::uint32_t> group) {
    kept_.push_back(*std::min_element(
        group.begin(), group.end(),
        [column](std::uint32_t a, std::uint32_t b) { return column[a] < column[b]; }));
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
            kept_.push_back(r.row);
            lowest = y[r.row];
            first = false;
        }
    }
}

void ParetoFilter::reduce_many(std::span<const double* const> columns,
                               std::span<const std::uint32_t> group) {
    const std::size_t k = columns.size();
    const std::size_t n = group.size();
    points_.resize(n * k);
    for (std::size_t c = 0; c < k; ++c) {
        for (std::size_t i = 0; i < n; ++i) {
            points_[i * k + c] = columns[c][group[i]];
        }
    }
    // Rank: sum of the columns, each scaled to its range. Rounded sums keep the order weakly: if a
    // prunes b then rank(a) <= rank(b), and equal ranks are ordered lexicographically.
    ranked_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        ranked_[i] = {0.0, group[i], static_cast<std::uint32_t>(i)};
    }
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
    DominanceWindow window(window_, k);
    for (const Ranked& r : ranked_) {
        const double* point = points_.data() + r.place * k;
        if (!window.dominates(point)) {
            window.add(point);
            kept_.push_back(r.row);
        }
    }
}

bool ParetoFront::dominates(std::span<const double> point) const {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
        const double* p = points_.data() + i * columns_;
        std::size_t c = 0;
        while (c < columns_ && p[c] <= point[c]) {
            ++c;
        }
        if (c == columns_) {
            return true;
        }
    }
    return false;
}

bool ParetoFront::insert(std::span<const double> point, std::uint64_t id) {
    if (dominates(point)) {
        return false;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
        const double* p = points_.data() + i * columns_;
        std::size_t c = 0;
        while (c < columns_ && point[c] <= p[c]) {
            ++c;
        }
        if (c < columns_) {
            std::copy(p, p + columns_, points_.data() + kept * columns_);
            ids_[kept++] = ids_[i];
        }
    }
    points_.resize(kept * columns_);
    ids_.resize(kept);
    points_.insert(points_.end(), point.begin(), point.end());
    ids_.push_back(id);
    return true;
}

void ParetoFront::clear() {
    points_.clear();
    ids_.clear();
}

}  // namespace tessera::mapspace
