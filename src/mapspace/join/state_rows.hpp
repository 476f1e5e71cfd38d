// Rows of joined states, row-major, whatever their columns are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mapspace/join_state.hpp"

namespace tessera::mapspace::detail {

/// Where a state row comes from.
struct BackPointer {
    std::uint32_t left_group = 0, left_row = 0;
    std::uint32_t right_group = 0, right_row = 0;
    std::uint32_t plan = 0;  ///< index into the step's plans
};

/// Rows that share a structure. A layout has stride(), the leading columns that Pareto compares,
/// compared(), and the number of open loops, n.
template <class Layout>
struct StateRows {
    int done = 0;  ///< which set of Einsums is joined (index into the sets of its size)
    StateStructure structure;
    Layout layout;
    std::vector<double> values;
    std::vector<std::int64_t> trips;
    std::vector<BackPointer> from;

    std::size_t rows() const {
        return from.size();
    }
    const double* row(std::size_t r) const {
        return values.data() + r * static_cast<std::size_t>(layout.stride());
    }
    const std::int64_t* trips_of(std::size_t r) const {
        return trips.data() + r * static_cast<std::size_t>(layout.n);
    }
};

/// Drops all rows of the row-major table but these (ascending).
template <class T>
void keep_rows(std::vector<T>& table, std::size_t width, const std::vector<std::uint32_t>& rows) {
    T* to = table.data();
    for (const std::uint32_t row : rows) {
        to = std::copy_n(table.data() + row * width, width, to);
    }
    table.resize(rows.size() * width);
}

/// Indices of the rows to keep, ascending: the first of equal rows, no dominated ones. Rows with
/// different keys never prune each other; the first `compared` of `stride` columns count.
std::vector<std::uint32_t> pareto_rows(const double* values, int stride, int compared,
                                       const std::int64_t* keys, int key_width, std::size_t rows);

/// Per trip counts. Order is deterministic.
template <class Layout>
void prune_pareto(StateRows<Layout>& g) {
    const std::vector<std::uint32_t> keep =
        pareto_rows(g.values.data(), g.layout.stride(), g.layout.compared(), g.trips.data(),
                    g.layout.n, g.rows());
    keep_rows(g.values, static_cast<std::size_t>(g.layout.stride()), keep);
    keep_rows(g.trips, static_cast<std::size_t>(g.layout.n), keep);
    keep_rows(g.from, 1, keep);
}

/// Rows of the same structure; `from` has none afterwards.
template <class Layout>
void append(StateRows<Layout>& to, StateRows<Layout>&& from) {
    to.values.insert(to.values.end(), from.values.begin(), from.values.end());
    to.trips.insert(to.trips.end(), from.trips.begin(), from.trips.end());
    to.from.insert(to.from.end(), from.from.begin(), from.from.end());
    from = {};
}

/// Prunes rows that are added to a group whenever they have doubled: what is held at a time stays
/// within twice what is of use, and pruning costs as much again at most.
class RowLimit {
public:
    /// `first`: rows that are left as they are.
    explicit RowLimit(std::size_t first = 1u << 16) : next_(first) {}

    template <class Layout>
    void hold(StateRows<Layout>& group) {
        if (group.rows() >= next_) {
            prune_pareto(group);
            next_ = std::max(next_, 2 * group.rows());
        }
    }

private:
    std::size_t next_;
};

}  // namespace tessera::mapspace::detail
