// What the Einsums that are not joined yet cost at least, given how the live tensors are held:
// memory, depth, and the loops above with their trip counts (docs/ffm-proofs.md, 2.29). Dynamic
// programming over the relaxed join: capacity and the order of loops are forgotten.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "least_sums.hpp"
#include "mapspace/join/join_rows.hpp"
#include "mapspace/join_orders.hpp"
#include "mapspace/row_semijoin.hpp"

namespace tessera::mapspace::detail {

/// Thread rule: prepare() and tell_reduced_costs() one thread alone, all else any.
class CompletionBounds {
public:
    /// Least sums that say whether a mapping can beat or tie one of the `known` ones. `groups`,
    /// `orders` and `known` must outlive it. `most_sums`: see JoinOptions::completion_sums.
    CompletionBounds(const std::vector<std::vector<PmappingGroup>>& groups, const Orders& orders,
                     std::size_t n_tensors, JoinGoal goal,
                     const std::vector<std::vector<double>>& known, std::size_t most_sums);

    const SumBound& sums() const {
        return sums_;
    }
    /// Makes the table of a set of `size` Einsums, and of those that it needs.
    void prepare(std::size_t size, int set);
    /// Least sums for a state with this structure and these trip counts of its open loops;
    /// infinite: it has no completion that is of use. The table of its set is prepared.
    void of_state(std::size_t size, int set, const StateStructure& structure,
                  const std::int64_t* trips, double* out) const;
    /// The same for the states that each row of `right` makes under the plan, row after row.
    void of_rows(std::size_t size, int set, const JoinPlan& plan, const PmappingGroup& right,
                 std::vector<double>& out) const;

    /// What no whole mapping is below; infinite: there is none of use.
    double least_value();
    /// Least sums of whole mappings with each row of each Einsum, in turn: `tell(Einsum, group,
    /// row, sums)`. Of the first order alone: the relaxed join has none.
    void tell_reduced_costs(
        const std::function<void(std::size_t, std::size_t, std::size_t, const double*)>& tell);

private:
    /// How a state or a group holds the tensors of a table, as far as it does.
    using Held = std::vector<Compatibility>;

    void make_tables();
    Held held_by(const SumTable& table, const PmappingGroup& group) const;
    SumTable table_of_einsum(std::size_t e) const;
    std::vector<double> least_of(const EinsumSet& done, bool inside) const;
    SumTable of_set(const SumTable& a, const SumTable& b, const EinsumSet& done,
                    const std::vector<double>& elsewhere) const;
    const double* look_up(const SumTable& table, const Held& held, const std::int64_t* trips) const;
    Held held_by(const SumTable& table, const StateStructure& structure) const;

    const std::vector<std::vector<PmappingGroup>>& groups_;
    const Orders& orders_;
    SumBound sums_;
    std::size_t most_sums_;                        ///< of one table
    std::vector<std::vector<std::size_t>> users_;  ///< per tensor: Einsums
    std::vector<SumTable> einsums_;
    std::vector<std::vector<double>> least_;                    ///< by Einsum
    std::vector<std::vector<std::unique_ptr<SumTable>>> sets_;  ///< as Orders::by_size
    std::vector<double> none_, free_;                           ///< sums: infinite, zero
};

}  // namespace tessera::mapspace::detail
