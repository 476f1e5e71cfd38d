// Constraints on Timeloop mappings, as read: one entry per item of the input, with its place.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/error.hpp"

namespace tessera::timeloop {

/// Which of the two lists of the input an entry stands in. Both bind; saying the same thing twice
/// is an error that names both places.
enum class ConstraintSource : std::uint8_t { architecture, mapspace };

/// `D=n`, `D<=n`, `D>=n` of a `factors` text, or a default for all dimensions not named.
struct FactorRule {
    enum class Relation : std::uint8_t { equal, at_most, at_least };
    int dimension = -1;  ///< id in the problem; -1: `default_max_factor`, `default_min_factor`
    Relation relation = Relation::equal;
    std::int64_t value = 1;  ///< with `equal`: 0 asks for the whole dimension
    /// `D=n,r`: the loop's last pass has r iterations; without: r = n.
    std::optional<std::int64_t> residual;
    Position where;
};

/// `permutation: ABC_DE`, each dimension once: ABC innermost (A first), DE outermost (E last), the
/// others free between.
struct PermutationRule {
    std::vector<int> innermost;  ///< dimension ids, innermost first
    std::vector<int> outermost;  ///< dimension ids, the last is the outermost loop
    Position where;
};

/// One integer with its place.
struct PlacedNumber {
    std::int64_t value = 0;
    Position where;
};

/// A list of data space ids with its place.
struct PlacedSpaces {
    std::vector<int> spaces;
    Position where;
};

/// An entry of type `temporal` or `spatial`.
struct LoopConstraint {
    ConstraintSource source = ConstraintSource::mapspace;
    int level = 0;  ///< storage level, 0 innermost
    bool spatial = false;
    std::vector<FactorRule> factors;
    std::optional<PermutationRule> permutation;
    /// Spatial: so many dimensions of the permutation, innermost first, go to X, the others to Y.
    std::optional<PlacedNumber> split;
    std::optional<PlacedNumber> remainders;  ///< Ruby: largest remainder of this level's loops
    std::optional<PlacedSpaces> no_link_transfer;           ///< spatial
    std::optional<PlacedSpaces> no_multicast_no_reduction;  ///< spatial
    std::optional<PlacedSpaces> no_temporal_reuse;          ///< temporal
    std::optional<PlacedSpaces> rmw_first_update;           ///< temporal
    Position where;                                         ///< of the entry
};

/// An entry of type `datatype`, `bypass`, `bypassing` or `dataspace`. What it does not name stays
/// free.
struct BypassConstraint {
    ConstraintSource source = ConstraintSource::mapspace;
    int level = 0;
    std::vector<int> keep, bypass;  ///< data space ids
    std::optional<PlacedSpaces> no_coalesce;
    Position where;
};

/// An entry of type `utilization` or `parallelism`: the product over all spatial levels of used by
/// available fan-out must reach `min`.
struct ParallelismConstraint {
    ConstraintSource source = ConstraintSource::mapspace;
    double min = 0;
    Position where;
};

/// Everything that `architecture_constraints`, `mapspace_constraints` and their older spellings
/// say. Plain data; conflicts are found when the mapspace is built.
struct Constraints {
    std::vector<LoopConstraint> loops;
    std::vector<BypassConstraint> bypasses;
    std::vector<ParallelismConstraint> parallelism;
    /// `max_temporal_loops_in_a_mapping` of the mapper: those of more than one iteration.
    std::optional<PlacedNumber> temporal_loops;
};

}  // namespace tessera::timeloop
