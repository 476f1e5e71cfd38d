// Gating and skipping in time. An access of the target is ineffectual where the tile of a condition
// that it meets is empty. Which tile that is follows from the *target loop*: the innermost loop
// over the target outside the next inner level that keeps it.
#include <algorithm>
#include <cmath>
#include <map>

#include "state.hpp"

namespace tessera::timeloop::sparse {

namespace {

struct Impact {
    int target = 0, level = 0;
    double probability = 0, expected_words = 0;
};

struct TargetLoop {
    int level = 0, position = 0;
    bool scalar = false;  ///< no loop: single values meet
};

class TemporalSaving {
public:
    explicit TemporalSaving(State& state) : state_(state) {}

    void run(const OptimizationGroup& group, int level, Saving kind) {
        Impact best;
        double most = 0;
        for (const ActionOptimization& option : group) {
            const Impact impact = impact_of(option, level);
            const StorageLevel& storage = storage_of(impact.level);
            const double savings =
                (storage.energy.read_pj / static_cast<double>(storage.block_size)) *
                impact.expected_words * impact.probability;
            if (savings >= most) {
                most = savings;
                best = impact;
            } else if (&option == &group.front()) {
                best = impact;
            }
        }
        const std::size_t place = state_.place(best.level, best.target);
        if (state_.saving[place] == Saving::none || state_.saved[place] < best.probability) {
            state_.saving[place] = kind;
            state_.saved[place] = best.probability;
        }
    }

private:
    const StorageLevel& storage_of(int level) const {
        return state_.architecture.storage[static_cast<std::size_t>(level)];
    }
    const std::vector<NestLoop>& loops(int level) const {
        return state_.loops[static_cast<std::size_t>(level)];
    }
    bool uses(int space, int dimension) const {
        return state_.uses[static_cast<std::size_t>(space)][static_cast<std::size_t>(dimension)];
    }

    int source_of(int target, int level) const {
        for (int i = level; i < state_.levels; ++i) {
            if (state_.of(i, target).kept) {
                return i;
            }
        }
        misfit(Fit::Kind::no_source, level);
    }

    /// The innermost level has no reuse below it: single values meet, unless spatial loops keep
    /// several at once.
    bool is_target(int target, int child, int level, std::size_t q, TargetLoop& found) const {
        const std::vector<NestLoop>& nest = loops(level);
        const bool moves = !nest[q].trivial() && uses(target, nest[q].dimension);
        if (child >= 0) {
            return moves;
        }
        if (q + 1 >= nest.size() || !nest[q + 1].spatial()) {
            found.scalar = !nest[q].spatial();
            return true;
        }
        return moves;
    }

    TargetLoop target_loop(int target, int child, int source) const {
        TargetLoop found;
        for (int i = child + 1; i <= source; ++i) {
            for (std::size_t q = 0; q < loops(i).size(); ++q) {
                if (is_target(target, child, i, q, found)) {
                    found.level = i;
                    found.position = static_cast<int>(q);
                    return found;
                }
            }
        }
        found.level = source;
        found.position = static_cast<int>(loops(source).size()) - 1;
        return found;
    }

    /// Loops outside the target loop while which its tile stays: all spatial ones, and around a
    /// spatial target loop the temporal ones up to the first over the target. Grows `extents`.
    std::vector<NestLoop> staying(const TargetLoop& at, int target, int child, int source,
                                  Extents& extents) const {
        const NestLoop& first = loops(at.level)[static_cast<std::size_t>(at.position)];
        std::vector<NestLoop> result = {first};
        bool above_target = !first.spatial();
        for (int i = at.level; i <= source; ++i) {
            const int begin = i == at.level ? at.position + 1 : 0;
            for (std::size_t q = static_cast<std::size_t>(begin); q < loops(i).size(); ++q) {
                const NestLoop& loop = loops(i)[q];
                if (loop.trivial()) {
                    continue;
                }
                const bool over_target = uses(target, loop.dimension);
                if (loop.spatial() || (!above_target && child >= 0 && !over_target)) {
                    extents[static_cast<std::size_t>(loop.dimension)] *= loop.end;
                    result.push_back(loop);
                }
                if (first.spatial() && !loop.spatial() && (child < 0 || over_target)) {
                    above_target = true;
                }
            }
        }
        return result;
    }

    /// Factors by which loops over both data spaces make the tile of the condition smaller; false:
    /// the condition would be traversed out of order, and saves nothing.
    bool shared_factors(const std::vector<NestLoop>& around, int target, int condition,
                        std::map<int, double>& factors, double& product) const {
        bool shared = false;
        for (const NestLoop& loop : around) {
            const bool of_condition = uses(condition, loop.dimension);
            if (around.front().spatial() && shared && of_condition) {
                return false;
            }
            if (of_condition && uses(target, loop.dimension)) {
                const auto factor = static_cast<double>(loop.end);
                factors.try_emplace(loop.dimension, 1).first->second *= factor;
                product *= factor;
                shared = true;
            }
        }
        return true;
    }

    /// That the tile of the condition is empty.
    double empty(const TargetLoop& at, const std::vector<NestLoop>& around, int target,
                 int condition, double target_points, double block, Extents extents) const {
        std::map<int, double> factors;
        double product = 1;
        if (!at.scalar && !shared_factors(around, target, condition, factors, product)) {
            return 0;
        }
        // Accesses of whole blocks meet more of the condition.
        double scaling = std::ceil(block / (target_points / product));
        for (const auto& [dimension, factor] : factors) {
            std::int64_t& extent = extents[static_cast<std::size_t>(dimension)];
            extent = static_cast<std::int64_t>(
                std::ceil(static_cast<double>(extent) / (factor / scaling)));
            scaling /= factor;
        }
        if (scaling > 1) {
            std::int64_t& extent = extents[static_cast<std::size_t>(around.front().dimension)];
            extent = static_cast<std::int64_t>(static_cast<double>(extent) * scaling);
        }
        return state_.density(condition).probability(state_.project(condition, extents), 0);
    }

    Impact impact_of(const ActionOptimization& option, int level) const {
        Impact impact;
        impact.target = option.target;
        impact.level = source_of(option.target, level);
        const Held& held = state_.of(impact.level, option.target);
        const TargetLoop at = target_loop(option.target, held.child, impact.level);
        Extents extents = at.scalar
                              ? state_.scalar()
                              : loops(at.level)[static_cast<std::size_t>(at.position)].extents;
        const auto points =
            static_cast<double>(sparsity::points_of(state_.project(option.target, extents)));
        const std::vector<NestLoop> around =
            staying(at, option.target, held.child, impact.level, extents);
        const StorageLevel& storage = storage_of(impact.level);
        double effectual = 1;
        for (const int condition : option.conditions) {
            effectual *= 1 - empty(at, around, option.target, condition, points,
                                   static_cast<double>(storage.block_size), extents);
        }
        impact.probability = 1 - effectual;
        impact.expected_words = held.expected_values + format_words(impact, held, storage);
        return impact;
    }

    /// Words of the format of what is handed on, in words of the level where they are as wide.
    double format_words(const Impact& impact, const Held& held, const StorageLevel& storage) const {
        const Held& handed = held.child < 0 ? held : state_.of(held.child, impact.target);
        if (handed.format == nullptr) {
            return 0;
        }
        if (handed.expected_words.empty()) {
            misfit(Fit::Kind::density, impact.level);
        }
        double words = 0;
        for (const Words& rank : handed.expected_words) {
            words += rank.metadata + rank.payload;
        }
        return words * static_cast<double>(storage.metadata.word_bits / storage.word_bits);
    }

    State& state_;
};

}  // namespace

void save_in_time(State& state) {
    TemporalSaving saving(state);
    for (const Saving kind : {Saving::gate, Saving::skip}) {
        for (int i = 0; i < state.levels; ++i) {
            const LevelOptimizations& level = state.design.levels[static_cast<std::size_t>(i)];
            for (const OptimizationGroup& group :
                 kind == Saving::gate ? level.gating : level.skipping) {
                saving.run(group, i, kind);
            }
        }
    }
}

}  // namespace tessera::timeloop::sparse
