#pragma once

// Pareto kernels over columns of numbers; every column is minimised.
//
// Row a prunes row b when both have the same keys, a <= b in every column and either a < b in one
// or a stands before b (duplicates: the first is kept). Results do not depend on anything but the
// rows and their order. NaN is not allowed.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tessera::mapspace {

/// Computes Pareto sets; holds scratch memory, so one object serves one thread at a time.
class ParetoFilter {
public:
    /// Row numbers, ascending, of the rows that no other row prunes. `columns` and `keys` point to
    /// `rows` numbers each; without columns the first row of every key survives. The result is
    /// valid until the next call. `worth`: with how many comparisons of two rows a pruned one is
    /// paid for; large groups in which a sample says that it takes more keep rows that others
    /// prune.
    std::span<const std::uint32_t> operator()(
        std::span<const double* const> columns, std::span<const double* const> keys,
        std::size_t rows, double worth = std::numeric_limits<double>::infinity());

private:
    void group_rows(std::span<const double* const> keys, std::size_t rows);
    void reduce_group(std::span<const double* const> columns, std::span<const std::uint32_t> group);
    void reduce_one(const double* column, std::span<const std::uint32_t> group);
    void reduce_two(std::span<const double* const> columns, std::span<const std::uint32_t> group);
    void reduce_few(std::span<const double* const> columns, std::span<const std::uint32_t> group);
    void reduce_many(std::span<const double* const> columns, std::span<const std::uint32_t> group);
    void load_points(std::span<const double* const> columns, std::span<const std::uint32_t> group);
    void rank_points(std::size_t k);
    void drop_behind_best(std::size_t k);
    void choose_column_order(std::size_t k);
    bool pays(std::size_t k) const;
    void sweep_three();
    void keep(std::uint32_t row) {
        is_kept_[row] = 1;
    }

    struct Slot {
        std::uint64_t hash;
        std::uint32_t group;  ///< number + 1, 0: free
    };
    struct Ranked {
        double rank;
        std::uint32_t row;
        std::uint32_t place;  ///< index in the group
    };

    std::vector<std::uint32_t> kept_;
    std::vector<std::uint8_t> is_kept_;  // by row
    std::vector<std::uint32_t> order_;   // row numbers, group after group
    std::vector<std::uint32_t> begins_;  // first index of each group in order_, and the end
    std::vector<std::uint32_t> group_of_;
    std::vector<std::uint32_t> firsts_;  // a row of each group
    std::vector<std::uint64_t> hashes_;  // of the keys of each row
    std::vector<Slot> table_;
    struct Step {
        double y;
        double z;
    };
    std::vector<Ranked> ranked_;
    std::vector<Step> stairs_;
    std::vector<double> points_;  // rows of the group, row after row
    std::vector<double> window_;  // survivors, blocks of eight, column after column
    std::vector<const double*> varying_;
    std::vector<std::uint32_t> column_order_;  // the most telling first
    struct Pair {
        const double* earlier;
        const double* later;
    };
    std::vector<Pair> pairs_;  // a sample
    std::vector<double> point_;
    double worth_ = 0;
};

}  // namespace tessera::mapspace
