// What the class bounds of single Einsums say about whole mappings: every shared tensor lies in one
// memory for all its users. Nothing else about how Einsums fit together is looked at.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "../explorer.hpp"
#include "mapspace/scalarised_bound.hpp"
#include "tessera/mapspace/relaxed_join.hpp"

namespace tessera::ffm {

/// Costs of all other Einsums, one alternative after the other, an entry per objective. None: what
/// they complete cannot be part of a mapping.
using Completions = std::vector<double>;

/// A relaxed join over classes (docs/ffm-proofs.md, 2.14).
class ClassRelaxation {
public:
    /// The least costs of the classes are known. `scalarised`: if it is in use, what classes cost
    /// jointly counts too. `spaces` must outlive this.
    ClassRelaxation(const ExploreContext& context, const std::vector<EinsumSpace>& spaces,
                    const mapspace::ScalarisedBound& scalarised);

    /// Least costs of whole mappings.
    mapspace::CostFront bound() const;
    /// Their least product, or the least one.
    double least_value() const;

    /// By distinct Einsum and class: of equal Einsums, the completions of each of them.
    std::vector<std::vector<Completions>> completions() const;

    /// Which classes of one Einsum hold the bound down.
    class BoundingClasses {
    public:
        BoundingClasses(const ClassRelaxation& relaxation, std::size_t e);
        /// Whether mappings with class `k` are among those that `bound` allows.
        bool has(std::size_t k, double bound) const;

    private:
        const ClassRelaxation& own_;
        const EinsumSpace& space_;
        mapspace::ChoiceTable rest_;
        std::optional<mapspace::ChoiceTable> scalarised_;
    };
    /// False: there were too many choices, and bound() is the sum of the Einsums' least costs.
    bool valid() const {
        return of_costs_->valid();
    }

private:
    mapspace::CostFront sum_of_least() const;
    /// Costs of all Einsums but `e` by class of it.
    std::vector<mapspace::CostFront> rest(std::size_t e) const;
    bool in_use() const {
        return valid() && c_.switches.class_bounds;
    }

    const ExploreContext& c_;
    const std::vector<EinsumSpace>& spaces_;
    mapspace::ScalarisedBound scalarised_;
    std::optional<mapspace::RelaxedJoin> of_costs_;
    std::optional<mapspace::RelaxedJoin> of_scalarised_;  ///< if scalarised costs are in use
};

}  // namespace tessera::ffm
