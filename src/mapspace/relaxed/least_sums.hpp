// Least weighted sums of energy and latency, by how shared tensors are held.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tessera/mapspace/join.hpp"

namespace tessera::mapspace::detail {

/// A sum of the objectives, weighted; the second weight is 0 for one objective.
using Weights = std::array<double, 2>;
/// Sums that are bounded at a time.
inline constexpr std::size_t most_weights = 9;

/// Several weighted sums of the objectives: those of the objectives alone come first. What all of
/// them are at least is a convex set of costs, and says more than the first two.
class SumBound {
public:
    SumBound(JoinGoal goal, const std::vector<std::vector<double>>& known);

    /// A product of two objectives that are at least these: sums of both, whose lines touch the
    /// hyperbola of the least known product where the objectives allow it.
    void add_mixed(double least_first, double least_second);

    std::size_t width() const {
        return weights_.size();
    }
    void of_row(const double* objectives, double* sums) const;
    /// True if no mapping whose sums are at least these can beat or tie a known one.
    bool pruned(const double* sums) const;
    /// Least value of the goal for such a mapping; of a Pareto set the first objective.
    double least_value(const double* sums) const;
    /// The same for partial mappings and their completions.
    bool pruned(const double* objectives, const double* completion) const;
    double least_value(const double* objectives, const double* completion) const;

private:
    using Sums = std::array<double, most_weights>;

    Sums whole(const double* objectives, const double* completion) const;
    bool product_pruned(const double* sums) const;
    double least_product(const double* sums) const;

    JoinGoal goal_;
    const std::vector<std::vector<double>>& known_;
    double best_ = std::numeric_limits<double>::infinity();  ///< value of the best known one
    std::vector<Weights> weights_;
    /// Of the line of each mixed sum that touches the hyperbola of the best product: its sum as a
    /// reciprocal, and the first objective where it does.
    std::vector<double> per_tangent_, touches_;
};

/// Least sums by how some tensors are held. A tensor that is not listed asks for nothing.
class SumTable {
public:
    SumTable(std::vector<int> tensors, std::size_t width);

    const std::vector<int>& tensors() const {
        return tensors_;
    }
    std::size_t rows() const {
        return hashes_.size();
    }
    const std::uint64_t* key(std::size_t row) const {
        return keys_.data() + row * tensors_.size();
    }
    const double* sums(std::size_t row) const {
        return sums_.data() + row * width_;
    }
    /// Null: there is no such row.
    const double* find(const std::uint64_t* key) const;
    /// The sums of a key, infinite if it is new.
    double* at(const std::uint64_t* key);
    /// The same for the key of the tensors at these positions of two others: their hashes add up.
    double* at(std::uint64_t hash, const std::uint64_t* key);

    /// What a tensor's part adds to the hash of a key.
    static std::uint64_t part(int tensor, std::uint64_t compatibility);
    /// Distinct parts of the tensor at this position.
    std::size_t distinct(std::size_t position) const;

private:
    std::uint64_t hash(const std::uint64_t* key) const;
    std::size_t slot(std::uint64_t hash) const;
    void grow();

    std::vector<int> tensors_;  ///< ascending
    std::size_t width_;
    std::vector<std::uint64_t> keys_;  ///< row-major: compatibility of each tensor
    std::vector<std::uint64_t>
        hashes_;                ///< by row. Rows with equal hashes are one: a bound from below
    std::vector<double> sums_;  ///< row-major
    std::vector<std::uint32_t> slots_;  ///< open addressing: row + 1, 0: free
};

/// Rows of both that agree on the tensors of both, by how the `kept` ones are held; without those
/// that `bound` prunes with `elsewhere` added. Empty: it takes more than `most` sums.
std::optional<SumTable> combined(const SumTable& a, const SumTable& b, const std::vector<int>& kept,
                                 const SumBound& bound, const std::vector<double>& elsewhere,
                                 std::size_t most);
/// By how these tensors alone are held.
SumTable projected(const SumTable& table, const std::vector<int>& tensors, std::size_t width);
/// Least sums of all others by how `einsum` holds its tensors, where `before` and `after` are
/// tables of the Einsums joined before and after it; what is not listed has none.
SumTable rest_of(const SumTable& einsum, const SumTable& before, const SumTable& after,
                 std::size_t width);

}  // namespace tessera::mapspace::detail
