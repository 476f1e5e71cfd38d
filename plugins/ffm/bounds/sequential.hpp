// Exploring one Einsum after the other: the rows of those explored already say what the others
// cost at least, capacity included. See docs/ffm-proofs.md, 2.18.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "class_bounds.hpp"
#include "mapspace/shape_semijoin.hpp"

namespace tessera::ffm {

/// Representatives, those with the largest share of the least costs first: the larger it is, the
/// less an Einsum may deviate from it. Einsums that sum over nothing come last, close to those
/// before them: any tile shapes of fused loops cost them the same, so they wait for what their
/// neighbours leave.
std::vector<std::size_t> order_of_sequence(const std::vector<EinsumSpace>& spaces);

/// What the explored Einsums of one search have shown.
class SequentialBound {
public:
    SequentialBound(const ExploreContext& context, const std::vector<EinsumSpace>& spaces);

    /// Takes the groups of an Einsum.
    void add(std::size_t e);
    /// Whether `rest` knows more than the class bounds.
    bool knows_more() const {
        return !refined_.empty();
    }
    /// Least costs of all other Einsums by class of `e`; a class without points cannot be part of a
    /// mapping that is of use. nullopt: not known.
    std::optional<std::vector<mapspace::CostFront>> rest(std::size_t e) const;
    /// How those explored hold the shared tensors of `e` (see EinsumSpace::shared): what all users
    /// have in common. nullopt: no user is explored.
    std::vector<std::optional<mapspace::CompatibilitySet>> compatible(std::size_t e) const;

private:
    /// How rows treat the shared tensors of their Einsum; see EinsumSpace::shared.
    struct CompatibilityKey {
        std::vector<std::uint64_t> compatibility;
        mapspace::TensorChoices classes;
        /// Bits that stay while the tensor's other users run (its first user), or that these may
        /// keep (others), in shares of the memory.
        mapspace::TensorChoices shares;

        bool operator==(const CompatibilityKey&) const = default;
    };
    struct CompatibilityKeyHash {
        std::size_t operator()(const CompatibilityKey& t) const;
    };
    using Costs = std::vector<std::pair<CompatibilityKey, mapspace::CostFront>>;
    /// Numbers of the compatibilities of one tensor.
    using Numbers = std::unordered_map<std::uint64_t, std::int32_t>;

    void add_compatible(std::size_t e);
    bool add_rows(std::size_t e, bool detailed);
    bool some_left() const;
    bool may_be_refined(std::size_t tensor) const;
    void refine(std::size_t tensor);
    mapspace::RelaxedJoin join() const;
    bool is_first(std::size_t tensor, std::size_t e) const {
        return users_[tensor].front() == e;
    }
    void set_shares(const mapspace::PmappingGroup& g, std::size_t row, std::size_t e,
                    CompatibilityKey& t) const;
    mapspace::ChoiceTable table_of(std::size_t e, std::vector<Numbers>& numbers) const;

    const ExploreContext& c_;
    const std::vector<EinsumSpace>& spaces_;
    std::vector<std::vector<int>> tensors_;        ///< by Einsum: shared tensors of the workload
    std::vector<std::vector<std::size_t>> users_;  ///< Einsums by tensor
    std::vector<std::optional<mapspace::CompatibilitySet>> held_;  ///< by tensor, see compatible()
    std::vector<std::optional<Costs>> explored_;
    std::vector<char> detailed_;        ///< by Einsum: explored, compatibilities are known
    std::vector<std::size_t> refined_;  ///< refined tensors
    mapspace::CostFront total_;         ///< least costs of all
};

}  // namespace tessera::ffm
