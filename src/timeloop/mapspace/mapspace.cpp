#include "timeloop/mapspace.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>

#include "tessera/base/error.hpp"
#include "timeloop/mapspace/merge.hpp"

namespace tessera::timeloop {
namespace {

using boost::multiprecision::cpp_int;

Wide factorial(int n) {
    Wide product = 1;
    for (int i = 2; i <= n; ++i) {
        product *= static_cast<unsigned>(i);
    }
    return product;
}

std::vector<std::vector<DataSpaceMask>> all_bypasses(const std::vector<std::vector<int>>& keep,
                                                     int storage_levels) {
    const auto all = static_cast<DataSpaceMask>((std::uint64_t{1} << keep.size()) - 1);
    std::vector<std::vector<DataSpaceMask>> masks{std::vector<DataSpaceMask>(storage_levels, all)};
    for (std::size_t ds = 0; ds < keep.size(); ++ds) {
        const DataSpaceMask bit = DataSpaceMask{1} << ds;
        for (int level = 0; level < storage_levels; ++level) {
            if (keep[ds][level] == 1) {
                continue;
            }
            const auto copy = masks;
            for (auto& mask : masks) {
                mask[level] &= ~bit;
            }
            if (keep[ds][level] == 2) {
                if (masks.size() > 1'000'000) {
                    throw UserError(
                        "the mapspace has more than 2000000 bypass choices; constrain which data "
                        "spaces the levels keep");
                }
                masks.insert(masks.end(), copy.begin(), copy.end());
            }
        }
    }
    return masks;
}

}  // namespace

std::string decimal(Wide number) {
    return boost::multiprecision::uint128_t(number).str();
}

std::string describe(const Misfit& misfit, const Architecture& architecture, double min) {
    if (misfit.level == Misfit::low) {
        return "parallelism " + std::to_string(misfit.parallelism) +
               " is less than constrained min-parallelism " + std::to_string(min);
    }
    if (misfit.level == Misfit::loops) {
        return std::to_string(misfit.needed) + " temporal loops exceed max_temporal_loops_in_a_" +
               "mapping " + std::to_string(misfit.available);
    }
    const std::string axis = misfit.along_y ? "Y" : "X";
    return architecture.storage[misfit.level].name + ": mapped fanout" + axis + " " +
           std::to_string(misfit.needed) + " exceeds hardware fanout" + axis + " " +
           std::to_string(misfit.available);
}

namespace {

Misfit too_many_loops(const FlatMapping& mapping, std::int64_t most) {
    const std::int64_t loops =
        std::count_if(mapping.loops, mapping.loops + mapping.loop_count,
                      [](const Loop& loop) { return loop.kind == LoopKind::temporal; });
    Misfit misfit;
    if (loops > most) {
        misfit.level = Misfit::loops;
        misfit.needed = loops;
        misfit.available = most;
    }
    return misfit;
}

}  // namespace

MapSpace::MapSpace(const Problem& problem, const Architecture& architecture,
                   const Constraints& constraints, FactorTemplate factors)
    : problem_(&problem),
      architecture_(&architecture),
      constraints_(constraints),
      template_(factors) {
    if (problem.dimensions.size() > 20 || problem.data_spaces.size() > 31) {
        throw UserError("a Timeloop mapspace has at most 20 dimensions and 31 data spaces");
    }
    MergedConstraints merged = merge_constraints(problem, architecture, constraints_);
    levels_ = std::move(merged.levels);
    min_parallelism_ = merged.min_parallelism;
    most_loops_ = constraints_.temporal_loops ? constraints_.temporal_loops->value : 0;
    warnings_ = std::move(merged.warnings);
    bypasses_ = all_bypasses(merged.keep, architecture.levels());
    Mapping limits = empty_mapping(problem, architecture);
    set_reuse_limits(constraints_, limits);
    flatten(limits, limits_);
    for (const LoopConstraint& entry : constraints_.loops) {
        limits_reuse_ |= entry.no_temporal_reuse || entry.no_link_transfer ||
                         entry.no_multicast_no_reduction || entry.rmw_first_update;
    }
    for (const BypassConstraint& entry : constraints_.bypasses) {
        limits_reuse_ |= entry.no_coalesce.has_value();
    }
    cpp_int factorisations = 1, permutations = 1, splits = 1;
    for (int d = 0; d < static_cast<int>(problem.dimensions.size()); ++d) {
        const std::int64_t bound = problem.dimensions[d].bound;
        const bool imperfect = factors == FactorTemplate::ruby || merged.residuals;
        factors_.push_back(imperfect ? ruby_factors(bound, d, levels_)
                                     : perfect_factors(bound, d, levels_));
        factorisations *= factors_.back().count;
    }
    for (const TilingLevel& level : levels_) {
        permutations *= level.canonical ? 1 : factorial(static_cast<int>(level.free.size()));
        splits *= level.spatial && level.split < 0 ? problem.dimensions.size() + 1 : 1;
    }
    const cpp_int total = factorisations * permutations * splits * bypasses_.size();
    const cpp_int largest = ~Wide{0};
    const auto wide = [&](const cpp_int& n) {
        return n > largest ? ~Wide{0} : n.convert_to<Wide>();
    };
    factor_count_ = wide(factorisations);
    permutation_count_ = wide(permutations);
    split_count_ = wide(splits);
    numbered_ = total <= largest;
    size_ = total.str();
}

void MapSpace::check_numbered() const {
    if (!numbered_) {
        throw UserError("the mapspace has " + size_ +
                        " mappings, more than 2^128; add constraints, or leave `algorithm` out to "
                        "use the optimal search, which does not number mappings");
    }
}

MapSpaceView::MapSpaceView(const MapSpace& space, Pruning pruning)
    : space_(&space),
      pruning_(pruning),
      dimensions_(static_cast<int>(space.problem_->dimensions.size())),
      level_count_(static_cast<int>(space.levels_.size())),
      orders_(level_count_),
      built_(level_count_),
      built_rank_(level_count_, no_rank),
      built_split_(level_count_, 0),
      pruned_units_(level_count_, 0),
      ends_of_pruned_(dimensions_),
      ends_(dimensions_),
      residuals_(dimensions_) {
    deal(0, 1);
    prune_nothing();
}

void MapSpaceView::deal(std::uint64_t first, std::uint64_t stride) {
    first_ = first;
    stride_ = stride;
    const Wide all = space_->factor_count_;
    factor_count_ = all > first ? (all - first - 1) / stride + 1 : 0;
}

// [units][prefix][free, ascending][suffix]
LevelOrder order_of_level(const TilingLevel& level, int dimensions, std::uint32_t units) {
    LevelOrder order;
    order.unit = level.spatial && level.split < 0 ? __builtin_popcount(units) : 0;
    order.splits = level.spatial && level.split < 0 ? dimensions + 1 - order.unit : 1;
    if (level.split >= 0 || level.canonical) {
        units = 0;
    }
    int n = 0;
    for (int d = 0; d < dimensions; ++d) {
        if (units >> d & 1) {
            order.dimensions[n++] = static_cast<std::uint8_t>(d);
        }
    }
    for (const int d : level.prefix) {
        if (!(units >> d & 1)) {
            order.dimensions[n++] = static_cast<std::uint8_t>(d);
        }
    }
    order.front = n;
    for (const int d : level.free) {
        if (!(units >> d & 1)) {
            order.dimensions[n++] = static_cast<std::uint8_t>(d);
        }
    }
    order.free = level.canonical ? 0 : n - order.front;
    order.count = static_cast<std::uint64_t>(factorial(order.free));
    for (const int d : level.suffix) {
        if (!(units >> d & 1)) {
            order.dimensions[n++] = static_cast<std::uint8_t>(d);
        }
    }
    return order;
}

void MapSpaceView::set_order(int index, std::uint32_t units) {
    built_rank_[index] = no_rank;
    orders_[index] = order_of_level(space_->levels_[index], dimensions_, units);
}

void MapSpaceView::count() {
    permutation_count_ = 1;
    split_count_ = 1;
    for (const LevelOrder& order : orders_) {
        permutation_count_ *= order.count;
        split_count_ *= order.splits;
    }
}

void MapSpaceView::prune_nothing() {
    for (int level = 0; level < level_count_; ++level) {
        set_order(level, 0);
    }
    count();
}

// What was built last stays: its mapping may still be asked for.
bool MapSpaceView::prune(Wide factors) {
    Wide rest = factors * stride_ + first_;
    std::vector<std::uint32_t>& units = pruned_units_;
    std::fill(units.begin(), units.end(), 0U);
    for (int d = 0; d < dimensions_; ++d) {
        const IndexFactors& options = space_->factors_[d];
        const auto* const ends =
            options.end(static_cast<std::size_t>(rest % options.count), level_count_);
        rest /= options.count;
        ends_of_pruned_[d] = ends;
        for (int level = 0; level < level_count_; ++level) {
            units[level] |= static_cast<std::uint32_t>(ends[level] == 1) << d;
        }
    }
    bool lossless = true;
    for (int level = 0; level < level_count_; ++level) {
        const bool fixed = space_->levels_[level].canonical && pruning_ == Pruning::lossless;
        set_order(level, fixed ? 0 : units[level]);
        lossless = lossless && !leaves_out_splits(level);
    }
    count();
    return lossless;
}

// Of the splits before the first one that is left, those that put as many loops along X are like
// it.
bool MapSpaceView::leaves_out_splits(int index) const {
    const TilingLevel& level = space_->levels_[index];
    const LevelOrder& order = orders_[index];
    if (!level.canonical || order.unit == 0) {
        return false;
    }
    std::int64_t x = 1, y = 1, first_x = 1;
    for (int i = 0; i < dimensions_; ++i) {
        const std::int64_t end = ends_of_pruned_[order.dimensions[i]][index];
        y *= end;
        first_x *= i < order.unit ? end : 1;
    }
    for (int split = 0; split < order.unit && x != first_x; ++split) {
        if (level.exceeds_fanout || (x <= level.fanout_x && y <= level.fanout_y)) {
            return true;
        }
        const std::int64_t end = ends_of_pruned_[order.dimensions[split]][index];
        x *= end;
        y /= end;
    }
    return false;
}

Misfit MapSpaceView::assign_split(int index, const LevelOrder& order, std::int64_t split,
                                  double& parallelism) {
    const TilingLevel& level = space_->levels_[index];
    std::int64_t x = 1, y = 1;
    for (int i = 0; i < dimensions_; ++i) {
        (i < split ? x : y) *= ends_[order.dimensions[i]][index];
    }
    parallelism *= static_cast<double>(x) * static_cast<double>(y) /
                   static_cast<double>(level.fanout_x * level.fanout_y);
    Misfit misfit;
    if (!level.exceeds_fanout && (x > level.fanout_x || y > level.fanout_y)) {
        misfit.level = level.storage;
        misfit.along_y = x <= level.fanout_x;
        misfit.needed = misfit.along_y ? y : x;
        misfit.available = misfit.along_y ? level.fanout_y : level.fanout_x;
    }
    return misfit;
}

void MapSpaceView::choose_factors(int dimension, std::size_t option) {
    const IndexFactors& options = space_->factors_[dimension];
    ends_[dimension] = options.end(option, level_count_);
    residuals_[dimension] = options.residual(option, level_count_);
}

Misfit MapSpaceView::build(const MappingId& id, FlatMapping& mapping, bool stop_early) {
    Wide rest = id.factors * stride_ + first_;
    for (int d = 0; d < dimensions_; ++d) {
        const std::size_t count = space_->factors_[d].count;
        choose_factors(d, static_cast<std::size_t>(rest % count));
        rest /= count;
    }
    Wide permutation = id.permutation, splits = id.split;
    const auto next = [](Wide& digits, std::uint64_t count) {
        const auto digit = static_cast<std::uint64_t>(digits % count);
        digits /= count;
        return digit;
    };
    return build_levels(
        [&](int, const LevelOrder& order) { return next(permutation, order.count); },
        [&](int, const LevelOrder& order) { return next(splits, order.splits); }, id.bypass,
        mapping, stop_early);
}

Misfit MapSpaceView::build(const std::int64_t* options, const std::int64_t* ranks,
                           const std::int64_t* splits, Wide bypass, FlatMapping& mapping,
                           bool stop_early) {
    for (int d = 0; d < dimensions_; ++d) {
        choose_factors(d, static_cast<std::size_t>(options[d]));
    }
    const auto digit_of = [](const std::int64_t* digits) {
        return [digits](int index, const LevelOrder&) {
            return static_cast<std::uint64_t>(digits[index]);
        };
    };
    return build_levels(digit_of(ranks), digit_of(splits), bypass, mapping, stop_early);
}

template <class NextRank, class NextSplit>
Misfit MapSpaceView::build_levels(const NextRank& next_rank, const NextSplit& next_split,
                                  Wide bypass, FlatMapping& mapping, bool stop_early) {
    Misfit first;
    double parallelism = 1;
    mapping.loop_count = 0;
    mapping.level_count = space_->architecture_->levels();
    for (int index = 0; index < level_count_; ++index) {
        const TilingLevel& level = space_->levels_[index];
        LevelOrder& order = built_[index];
        const std::uint64_t rank = orders_[index].free > 1 ? next_rank(index, orders_[index]) : 0;
        // Mappings that are looked at one after the other often share orders.
        if (rank != built_rank_[index]) {
            built_rank_[index] = rank;
            order = orders_[index];
            permute(order.dimensions.data() + order.front, order.free, rank, order.count);
        }
        std::int64_t split = level.split;
        if (level.spatial) {
            if (split < 0) {
                split = order.unit + static_cast<std::int64_t>(next_split(index, order));
            }
            const Misfit misfit = assign_split(index, order, split, parallelism);
            if (first.ok() && !misfit.ok()) {
                first = misfit;
                if (stop_early) {
                    return first;
                }
            }
        }
        built_split_[index] = split;
        for (int i = 0; i < dimensions_; ++i) {
            const int d = order.dimensions[i];
            const std::int32_t end = ends_[d][index];
            if (end > 1) {
                mapping.add(d, kind_of(level.spatial, i < split), end, residuals_[d][index]);
            }
        }
        if (!level.spatial) {
            mapping.level_end[level.storage] = mapping.loop_count;
        }
    }
    if (first.ok() && parallelism < space_->min_parallelism_) {
        first.level = Misfit::low;
        first.parallelism = parallelism;
    }
    if (first.ok() && space_->most_loops_ > 0) {
        first = too_many_loops(mapping, space_->most_loops_);
    }
    set_bypass(bypass, mapping);
    if (space_->limits_reuse_) {
        const FlatMapping& limits = space_->limits_;
        std::copy_n(limits.no_temporal_reuse, limits.level_count, mapping.no_temporal_reuse);
        std::copy_n(limits.no_link_transfer, limits.level_count, mapping.no_link_transfer);
        std::copy_n(limits.no_multicast_no_reduction, limits.level_count,
                    mapping.no_multicast_no_reduction);
        std::copy_n(limits.rmw_first_update, limits.level_count, mapping.rmw_first_update);
        std::copy_n(limits.no_coalesce, limits.level_count, mapping.no_coalesce);
    }
    return first;
}

void MapSpaceView::set_bypass(Wide bypass, FlatMapping& mapping) const {
    const auto& masks = space_->bypasses_[static_cast<std::size_t>(bypass)];
    std::copy(masks.begin(), masks.end(), mapping.keep);
}

void permute(std::uint8_t* dimensions, int n, std::uint64_t rank, std::uint64_t count) {
    for (int i = 0; i + 1 < n; ++i) {
        count /= static_cast<std::uint64_t>(n - i);
        const auto pick = static_cast<int>(rank / count);
        rank %= count;
        std::rotate(dimensions + i, dimensions + i + pick, dimensions + i + pick + 1);
    }
}

void set_reuse_limits(const Constraints& constraints, Mapping& mapping) {
    const auto set = [](DataSpaceMask& mask, const std::optional<PlacedSpaces>& listed) {
        for (const int ds : listed ? listed->spaces : std::vector<int>{}) {
            mask |= DataSpaceMask{1} << ds;
        }
    };
    for (const LoopConstraint& entry : constraints.loops) {
        LevelMapping& level = mapping.levels[entry.level];
        set(level.no_temporal_reuse, entry.no_temporal_reuse);
        set(level.no_link_transfer, entry.no_link_transfer);
        set(level.no_multicast_no_reduction, entry.no_multicast_no_reduction);
        set(level.rmw_first_update, entry.rmw_first_update);
    }
    for (const BypassConstraint& entry : constraints.bypasses) {
        set(mapping.levels[entry.level].no_coalesce, entry.no_coalesce);
    }
}

Mapping MapSpaceView::mapping(Wide bypass) const {
    Mapping mapping = empty_mapping(*space_->problem_, *space_->architecture_);
    for (int index = 0; index < level_count_; ++index) {
        const TilingLevel& level = space_->levels_[index];
        LoopBlock& block = block_of(mapping, level);
        for (int d = 0; d < dimensions_; ++d) {
            block.factors[d] = {ends_[d][index], residuals_[d][index]};
        }
        const auto& order = built_[index].dimensions;
        block.permutation.assign(order.begin(), order.begin() + dimensions_);
        if (level.spatial) {
            block.split =
                static_cast<int>(std::min<std::int64_t>(built_split_[index], dimensions_));
        }
    }
    for (int level = 0; level < space_->architecture_->levels(); ++level) {
        mapping.levels[level].keep = space_->bypasses_[static_cast<std::size_t>(bypass)][level];
    }
    set_reuse_limits(space_->constraints_, mapping);
    return mapping;
}

}  // namespace tessera::timeloop
