// The mapspace of Timeloop: index factors x loop permutations x spatial splits x bypasses, numbered
// as Timeloop numbers them, under the constraints of the input.
//
// Tiling levels, inner to outer: for each storage level its spatial block if it has a fan-out, then
// its temporal block. A mapping is named by one number per axis:
//   index factors   one digit per dimension: which of the ways to split its bound over the levels
//   permutations    one digit per tiling level: factoradic rank of the free dimensions
//   splits          one digit per spatial level: how many dimensions go along X
//   bypasses        which free (data space, storage level) pairs are kept
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "timeloop/architecture.hpp"
#include "timeloop/constraints.hpp"
#include "timeloop/mapping.hpp"
#include "timeloop/problem.hpp"

namespace tessera::timeloop {

__extension__ using Wide = unsigned __int128;

/// Decimal digits of a wide integer.
std::string decimal(Wide number);

/// Which index factors exist.
enum class FactorTemplate : std::uint8_t {
    uber,  ///< perfect factors
    ruby,  ///< also loops whose last pass is shorter
};

/// The constraints of one tiling level after merging both sources.
struct TilingLevel {
    int storage = 0;
    bool spatial = false;
    std::int64_t fanout_x = 1, fanout_y = 1;  ///< spatial
    bool exceeds_fanout = false;              ///< may; the evaluation tells whether a mapping fits
    // Per dimension; 0: not constrained.
    std::vector<std::int64_t> fixed, fixed_residual, at_most, at_least;
    std::vector<int> prefix, suffix;  ///< fixed innermost and outermost dimensions
    std::vector<int> free;            ///< all others, ascending
    std::int64_t split = -1;          ///< spatial; -1: free
    std::int64_t remainder = 0;  ///< Ruby: largest end of a loop with a short last pass; 0: none
    bool canonical = false;      ///< the order of its loops does not matter

    bool allows(int dimension, std::int64_t factor) const {
        return (fixed[dimension] == 0 || fixed[dimension] == factor) &&
               (at_most[dimension] == 0 || factor <= at_most[dimension]) &&
               factor >= at_least[dimension];
    }
};

/// The loops of a tiling level.
template <class AnyMapping>
auto& block_of(AnyMapping& mapping, const TilingLevel& level) {
    auto& storage = mapping.levels[level.storage];
    return level.spatial ? storage.spatial : storage.temporal;
}

/// How the loops of a tiling level may stand: [front][free][back], innermost first.
struct LevelOrder {
    std::array<std::uint8_t, 32> dimensions{};  ///< of rank 0
    int front = 0, free = 0;
    std::uint64_t count = 1;   ///< permutations of the free ones
    int unit = 0;              ///< dimensions that splits skip
    std::uint64_t splits = 1;  ///< 1: spatial with a given split, or temporal
};
/// `units`: dimensions that stand in front and are not permuted, where the constraints let them.
LevelOrder order_of_level(const TilingLevel& level, int dimensions, std::uint32_t units = 0);

/// One way to split a dimension's bound: end and residual per tiling level.
struct IndexFactors {
    std::vector<std::int32_t> ends, residuals;  ///< options x levels
    std::size_t count = 0;

    const std::int32_t* end(std::size_t option, int levels) const {
        return ends.data() + option * levels;
    }
    const std::int32_t* residual(std::size_t option, int levels) const {
        return residuals.data() + option * levels;
    }
};

/// A mapping's coordinates.
struct MappingId {
    Wide factors = 0, permutation = 0, split = 0, bypass = 0;

    bool operator==(const MappingId&) const = default;
};

/// A spatial block that does not fit its fan-out, too many temporal loops, or ok.
struct Misfit {
    int level = -1;  ///< storage level; -1: ok
    bool along_y = false;
    std::int64_t needed = 0, available = 0;
    double parallelism = 1;  ///< used by available fan-out; meaningful if level is `low`
    static constexpr int low = -2, loops = -3;

    bool ok() const {
        return level == -1;
    }
};
std::string describe(const Misfit& misfit, const Architecture& architecture, double min);

/// Immutable after construction; threads share it, each with its own MapSpaceView.
class MapSpace {
public:
    /// Merges and checks the constraints.
    /// \throws UserError for an item said twice (both places), a spatial constraint where there is
    /// no fan-out, fixed factors that do not divide a bound.
    MapSpace(const Problem& problem, const Architecture& architecture,
             const Constraints& constraints, FactorTemplate factors = FactorTemplate::uber);

    /// Sizes of the four axes and the exact number of mappings, unpruned.
    Wide factor_count() const {
        return factor_count_;
    }
    Wide permutation_count() const {
        return permutation_count_;
    }
    Wide split_count() const {
        return split_count_;
    }
    std::size_t bypass_count() const {
        return bypasses_.size();
    }
    const std::string& size_text() const {
        return size_;
    }
    /// Timeloop's own algorithms number mappings with 128 bits. \throws UserError if they cannot.
    void check_numbered() const;
    bool numbered() const {
        return numbered_;
    }

    const std::vector<TilingLevel>& levels() const {
        return levels_;
    }
    const std::vector<IndexFactors>& factors() const {
        return factors_;
    }
    /// keep mask per storage level.
    const std::vector<std::vector<DataSpaceMask>>& bypasses() const {
        return bypasses_;
    }
    double min_parallelism() const {
        return min_parallelism_;
    }
    const Problem& problem() const {
        return *problem_;
    }
    const Architecture& architecture() const {
        return *architecture_;
    }
    const Constraints& constraints() const {
        return constraints_;
    }
    FactorTemplate factor_template() const {
        return template_;
    }
    /// The constraints switch some reuse off.
    bool limits_reuse() const {
        return limits_reuse_;
    }
    /// What Timeloop warns about: factors larger than their bound, which are ignored.
    const std::vector<std::string>& warnings() const {
        return warnings_;
    }
    /// Why a mapping is no member: one text per constraint it breaks, with the constraint's place.
    /// Empty: it obeys them all. Capacities are the model's business.
    std::vector<std::string> audit(const Mapping& mapping) const;

private:
    friend class MapSpaceView;
    const Problem* problem_;
    const Architecture* architecture_;
    Constraints constraints_;
    FactorTemplate template_;
    std::vector<TilingLevel> levels_;
    std::vector<IndexFactors> factors_;  // per dimension
    std::vector<std::vector<DataSpaceMask>> bypasses_;
    double min_parallelism_ = 0;
    std::int64_t most_loops_ = 0;  ///< temporal ones; 0: any number
    bool limits_reuse_ = false;
    FlatMapping limits_;  // only the masks of reuse that is switched off
    Wide factor_count_ = 1, permutation_count_ = 1, split_count_ = 1;
    bool numbered_ = true;
    std::string size_;
    std::vector<std::string> warnings_;
};

/// What prune() leaves out.
enum class Pruning : std::uint8_t {
    timeloop,  ///< what Timeloop does: mappings among it that are like none of those it leaves
    lossless,  ///< mappings that are each like one that is left
};

/// One thread's way into the mapspace. No allocation after construction.
class MapSpaceView {
public:
    explicit MapSpaceView(const MapSpace& space, Pruning pruning = Pruning::timeloop);

    /// Every `stride`th index factorisation starting at `first` only, as Timeloop deals them out to
    /// its threads.
    void deal(std::uint64_t first, std::uint64_t stride);
    Wide factor_count() const {
        return factor_count_;
    }
    Wide permutation_count() const {
        return permutation_count_;
    }
    Wide split_count() const {
        return split_count_;
    }
    Wide bypass_count() const {
        return space_->bypass_count();
    }

    /// Timeloop's pruning for one index factorisation: dimensions of factor 1 go innermost and are
    /// not permuted; splits start after them. Changes permutation_count() and split_count().
    /// Where a block's order is not permuted, those dimensions stay where they are: splits before
    /// the first ones then are left out, though they put fewer loops along X. \return false: some
    /// of these fit the array
    bool prune(Wide factors);
    void prune_nothing();

    /// Loops and masks of all blocks. \return what does not fit; `mapping` is complete in any case
    /// unless `stop_early`.
    Misfit build(const MappingId& id, FlatMapping& mapping, bool stop_early = true);
    /// The same for a mapping whose axes are given digit by digit: `options` per dimension; `ranks`
    /// (of the free dimensions' permutation) and `splits` (where they are free) per tiling level.
    /// \pre each is below its count, nothing is pruned or dealt
    Misfit build(const std::int64_t* options, const std::int64_t* ranks, const std::int64_t* splits,
                 Wide bypass, FlatMapping& mapping, bool stop_early = true);
    /// Only the keep masks of another bypass; the loops stay.
    void set_bypass(Wide bypass, FlatMapping& mapping) const;
    /// The mapping of the last build(), with all unit loops.
    Mapping mapping(Wide bypass) const;

private:
    void set_order(int level, std::uint32_t units);
    void count();
    bool leaves_out_splits(int index) const;
    Misfit assign_split(int level, const LevelOrder& order, std::int64_t split,
                        double& parallelism);
    void choose_factors(int dimension, std::size_t option);
    /// Of the chosen factors. `next_rank` and `next_split` give the digit of a level.
    template <class NextRank, class NextSplit>
    Misfit build_levels(const NextRank& next_rank, const NextSplit& next_split, Wide bypass,
                        FlatMapping& mapping, bool stop_early);

    const MapSpace* space_;
    Pruning pruning_;
    int dimensions_, level_count_;
    static constexpr std::uint64_t no_rank = ~std::uint64_t{0};

    std::vector<LevelOrder> orders_, built_;
    std::vector<std::uint64_t> built_rank_;  ///< of built_; no_rank: made from another order
    std::vector<std::int64_t> built_split_;
    std::vector<std::uint32_t> pruned_units_;  // prune(): per level, dimensions with one iteration
    std::vector<const std::int32_t*> ends_of_pruned_;    // per dimension
    std::vector<const std::int32_t*> ends_, residuals_;  // per dimension
    Wide factor_count_ = 0, permutation_count_ = 1, split_count_ = 1;
    std::uint64_t first_ = 0, stride_ = 1;
};

/// Puts `n` dimensions into the permutation of a factoradic rank below `count`, which is n!.
void permute(std::uint8_t* dimensions, int n, std::uint64_t rank, std::uint64_t count);

/// Marks the reuse that the constraints switch off.
void set_reuse_limits(const Constraints& constraints, Mapping& mapping);

/// Demands that no mapping of the space can meet, smallest excess first, one text each: tiles that
/// do not fit a level however the loops are chosen (with the words of every data space that the
/// level has to keep), and spatial factors beyond a fan-out. Each is a proof that no mapping is
/// valid; an empty result proves nothing.
std::vector<std::string> unavoidable_failures(const MapSpace& space);

}  // namespace tessera::timeloop
