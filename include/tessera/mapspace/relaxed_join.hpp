// Lower bounds from a relaxed join: every tensor that Einsums share is treated in one way by all
// its users (same memory, same loops above it), and nothing else is asked for: no capacity across
// Einsums, no order. Whatever the exact join accepts, this one accepts at the same cost, so its
// least costs bound those of every mapping.
//
// The method is variable elimination in (min, +) algebra: a table maps choices for a few tensors to
// the least costs that go with them; Einsums are tables, and eliminating the tensors that no other
// table mentions leaves the bound. The order of elimination does not change the result.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/hash.hpp"

namespace tessera::mapspace {

/// Two objectives; with a single one the second is 0.
using CostPoint = std::array<double, 2>;

/// Points none of which another equals or beats in both numbers, ascending in the first.
using CostFront = std::vector<CostPoint>;

/// Adds a point unless it is dominated. Returns whether the front changed.
bool add_to_front(CostFront& front, const CostPoint& point);

/// A front of at most `size` points with, for every point of the old one, a point that is nowhere
/// above it.
void coarsen_front(CostFront& front, std::size_t size);

/// One number per tensor of a table: how that tensor is treated.
using TensorChoices = std::vector<std::int32_t>;
using TensorChoicesHash = base::HashOfRow;

/// Least costs by the choices for `tensors` (ascending).
struct ChoiceTable {
    std::vector<int> tensors;
    std::unordered_map<TensorChoices, CostFront, TensorChoicesHash> rows;

    /// Adds a row's costs.
    void add(const TensorChoices& key, const CostPoint& cost);
};

/// Rows of both tables that agree on their common tensors, costs added up, projected onto the
/// tensors that `keep` marks. Empty if the result would have more than `max_rows` rows.
std::optional<ChoiceTable> combine(const ChoiceTable& a, const ChoiceTable& b,
                                   const std::vector<char>& keep, std::size_t max_rows);

/// All Einsums of a workload, eliminated from both ends.
class RelaxedJoin {
public:
    /// `einsums[e]`: its pmappings. `n_tensors`: of the workload. With more than `max_rows` rows
    /// anywhere, `valid()` is false.
    RelaxedJoin(std::vector<ChoiceTable> einsums, std::size_t n_tensors, std::size_t max_rows);

    bool valid() const {
        return valid_;
    }
    /// Least costs of whole mappings; empty if nothing fits together.
    const CostFront& total() const {
        return total_;
    }
    /// Least costs of all Einsums but `e`, by the choices for the tensors of `e`. Choices that are
    /// not listed fit nothing.
    ChoiceTable rest(std::size_t e) const;

private:
    std::vector<ChoiceTable> einsums_;
    std::vector<ChoiceTable> prefix_, suffix_;  ///< [e]: Einsums before e; from e on
    bool valid_ = true;
    CostFront total_;
};

}  // namespace tessera::mapspace
