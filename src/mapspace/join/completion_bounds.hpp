// What the Einsums that are not joined yet cost at least, given how the live tensors are held:
// memory, depth, and the loops above with their trip counts (docs/ffm-proofs.md, 2.28). Backward
// dynamic programming over the relaxed join: capacity and the order of loops are forgotten.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "join_rows.hpp"
#include "mapspace/join_orders.hpp"
#include "mapspace/row_semijoin.hpp"
#include "tessera/base/hash.hpp"

namespace tessera::mapspace::detail {

/// A sum of the objectives, weighted; the second weight is 0 for one objective.
using Weights = std::array<double, 2>;

/// Least weighted sums of completions. Thread rule: prepare() one thread alone, all else any.
class CompletionBounds {
public:
    /// `groups` and `orders` must outlive it.
    CompletionBounds(const std::vector<std::vector<PmappingGroup>>& groups, const Orders& orders,
                     std::size_t n_tensors);

    /// What is bounded from now on: the objectives themselves, then sums of both.
    void bound(std::vector<Weights> sums);

    std::size_t width() const {
        return sums_.size();
    }
    /// Makes the table of a set of `size` Einsums, and of those that it needs.
    void prepare(std::size_t size, int set);

    /// Least sums for a state with this structure and these trip counts of its open loops, `width`
    /// numbers; infinite: it has no completion. The table of its set is prepared.
    void of_state(std::size_t size, int set, const StateStructure& structure,
                  const std::int64_t* trips, double* out) const;
    /// The same for the states that each row of `right` makes under the plan, row after row.
    void of_rows(std::size_t size, int set, const JoinPlan& plan, const PmappingGroup& right,
                 std::vector<double>& out) const;

    /// True if no completion of partial mappings with these objectives, whose least sums these are,
    /// can beat or tie one of the known ones.
    bool pruned(JoinGoal goal, const double* objectives, const double* least,
                const std::vector<std::vector<double>>& known) const;
    /// Least value of the goal that those completions can have; of a Pareto set the first
    /// objective.
    double least_value(JoinGoal goal, const double* objectives, const double* least) const;

private:
    using Numbers = std::vector<std::int32_t>;
    /// Least sums by how tensors are held (number of a compatibility); a tensor that is not listed
    /// asks for nothing.
    struct Table {
        std::vector<int> tensors;  ///< ascending
        std::unordered_map<Numbers, std::uint32_t, base::HashOfRow> rows;
        std::vector<double> least;  ///< row-major, `width` numbers each
    };
    /// How the live tensors of a state are held.
    struct Asked {
        std::vector<Compatibility> of;  ///< parallel to `tensors`
        std::vector<int> tensors;
        std::vector<std::size_t> at;  ///< of these in Table::tensors
    };

    Table table_of_einsum(std::size_t e);
    std::int32_t number(int tensor, std::uint64_t compatibility);
    Table combined(const Table& einsum, const Table& after, const EinsumSet& done,
                   const std::vector<char>& forgotten, std::size_t most, bool& complete) const;
    Table before(std::size_t size, int set);
    double* least_of(Table& table, const Numbers& key) const;
    Asked asked(const Table& table, const StateStructure& structure) const;
    void look_up(const Table& table, const Asked& asked, const std::int64_t* trips, Numbers& key,
                 double* out) const;

    const std::vector<std::vector<PmappingGroup>>& groups_;
    const Orders& orders_;
    std::vector<Weights> sums_;
    std::vector<std::vector<std::size_t>> users_;                           ///< per tensor: Einsums
    std::vector<std::unordered_map<std::uint64_t, std::int32_t>> numbers_;  ///< per tensor
    std::vector<Table> einsums_;
    std::vector<std::vector<std::unique_ptr<Table>>> sets_;  ///< as Orders::by_size
};

/// Sums that bound a product: the objectives, and what touches the hyperbola of `product` between
/// the points where one of both is at its least.
std::vector<Weights> sums_of_product(double least_first, double least_second, double product);

/// Least product of two numbers whose weighted sums are at least `least`, or some product that is
/// at most `enough`: it is least at a vertex of that convex set.
double least_product(const std::vector<Weights>& sums, const double* least, double enough);

}  // namespace tessera::mapspace::detail
