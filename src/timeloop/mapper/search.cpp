// Entry: constraints to mapspace, mapspace to search, answer to audit.
#include <algorithm>
#include <map>

#include "tessera/base/error.hpp"
#include "timeloop/mapper/pool.hpp"

namespace tessera::timeloop {
namespace {

// Dimensions that no choice of factors can cover.
bool empty_factors(const MapSpace& space, MapperResult& result) {
    for (std::size_t d = 0; d < space.factors().size(); ++d) {
        if (space.factors()[d].count == 0) {
            const Dimension& dimension = space.problem().dimensions[d];
            result.reasons.push_back("no factors of dimension " + dimension.name + "=" +
                                     std::to_string(dimension.bound) +
                                     " meet the constraints on all levels");
        }
    }
    return !result.reasons.empty();
}

// Threads report the same levels: one group each, nearest miss first.
void merge_failures(MapperResult& result) {
    std::map<std::pair<bool, std::string>, FailureGroup> merged;
    for (FailureGroup& group : result.failures) {
        const std::string key =
            group.level >= 0 ? std::to_string(group.level) : "x" + group.smallest.substr(0, 8);
        const auto [it, fresh] = merged.try_emplace({group.fanout, key}, group);
        if (!fresh) {
            FailureGroup& known = it->second;
            known.count += group.count;
            if (group.excess < known.excess) {
                known.excess = group.excess;
                known.smallest = group.smallest;
            }
        }
    }
    result.failures.clear();
    for (auto& [key, group] : merged) {
        result.failures.push_back(std::move(group));
    }
    std::stable_sort(result.failures.begin(), result.failures.end(),
                     [](const auto& a, const auto& b) { return a.excess < b.excess; });
}

void explain(MapperResult& result, const MapperSettings& settings) {
    for (const FailureGroup& group : result.failures) {
        result.reasons.push_back(std::to_string(group.count) +
                                 (group.fanout ? " mappings exceed a fan-out; nearest: "
                                               : " mappings are rejected; nearest: ") +
                                 group.smallest);
    }
    result.reasons.push_back(result.proof == Proof::infeasible
                                 ? "proof: all " + result.mapspace_size +
                                       " mappings of the mapspace were considered"
                                 : "no proof: " + ending(result, settings));
}

}  // namespace

std::string ending(const MapperResult& result, const MapperSettings& settings) {
    const bool walk =
        !settings.strategy && settings.algorithm && *settings.algorithm != Algorithm::optimal;
    if (result.left_out) {
        return "the algorithm visits a part of the mapspace, " + std::to_string(result.total) +
               " of " + result.mapspace_size + " mappings; leave 'algorithm' out to search all";
    }
    std::string at, raise;
    for (const std::string& limit : result.limits) {
        at += (at.empty() ? " at " : " and ") + limit;
        const bool number = limit != "an interrupt" && limit != "strategy";
        raise = number ? result.limits.size() > 1 ? "; raise them" : "; raise it" : raise;
    }
    const std::string without = walk ? "leave 'algorithm' out for the optimal search" : "";
    raise += without.empty() ? "" : (raise.empty() ? "; " : " or ") + without;
    return "the search ended" + at + " after " + std::to_string(result.total) + " of " +
           result.mapspace_size + " mappings" + raise;
}

namespace {

MapperResult search_in(const Problem& problem, const Architecture& architecture,
                       const Constraints& constraints, const MapperSettings& settings,
                       const MapperHooks& hooks) {
    const MapSpace space(problem, architecture, constraints, settings.factors);
    if (hooks.log) {
        for (const std::string& warning : space.warnings()) {
            hooks.log("WARNING: " + warning);
        }
    }
    Pool pool(space, settings, hooks);
    if (empty_factors(space, pool.result)) {
        pool.result.proof = Proof::infeasible;
        return pool.result;
    }
    if (settings.strategy) {
        run_strategy(pool);
    } else if (settings.algorithm.value_or(Algorithm::optimal) == Algorithm::optimal) {
        run_optimal(pool);
    } else {
        run_walks(pool);
    }
    MapperResult& result = pool.result;
    merge_failures(result);
    if (const char* reason = pool.reason) {
        result.stopped_by = reason;
        if (const char* limit = pool.limit_name) {
            pool.note_limit(limit);
        }
    }
    if (result.best) {
        const std::vector<std::string> faults = space.audit(*result.best);
        if (!faults.empty()) {
            throw Bug("the mapper found a mapping that breaks a constraint: " + faults.front());
        }
    } else {
        explain(result, settings);
    }
    result.wall_s = pool.seconds();
    return result;
}

/// What the bounds of the optimal search do not know of; empty: nothing.
std::string unbounded(const Architecture& architecture, const Constraints& constraints) {
    if (architecture.sparse) {
        return "sparse costs";
    }
    if (std::any_of(architecture.storage.begin(), architecture.storage.end(),
                    [](const StorageLevel& level) { return !level.bandwidth_scale.empty(); })) {
        return "bandwidths that depend on the data space";
    }
    if (constraints.temporal_loops && constraints.temporal_loops->value > 0) {
        return "max_temporal_loops_in_a_mapping";
    }
    const auto given = [](const std::optional<PlacedSpaces>& spaces) {
        return spaces && !spaces->spaces.empty();
    };
    const bool rereads =
        std::any_of(constraints.loops.begin(), constraints.loops.end(),
                    [&](const LoopConstraint& one) { return given(one.rmw_first_update); });
    const bool passes =
        std::any_of(constraints.bypasses.begin(), constraints.bypasses.end(),
                    [&](const BypassConstraint& one) { return given(one.no_coalesce); });
    return rereads ? "rmw_first_update" : passes ? "no_coalesce" : "";
}

/// By an algorithm without bounds.
MapperResult search_unbounded(const Problem& problem, const Architecture& architecture,
                              const Constraints& constraints, const MapperSettings& settings,
                              const MapperHooks& hooks, const std::string& what) {
    if (settings.strategy && architecture.sparse) {
        throw UserError(settings.where,
                        "search strategies do not know the costs of sparse designs; use one of "
                        "Timeloop's algorithms (hybrid, random-pruned, linear-pruned, ...), or "
                        "remove 'sparse_optimizations' to search with dense costs");
    }
    MapperSettings walking = settings;
    if (!settings.strategy &&
        settings.algorithm.value_or(Algorithm::optimal) == Algorithm::optimal) {
        walking.algorithm = Algorithm::hybrid;
        if (hooks.log) {
            hooks.log("WARNING: no lower bound is known for " + what +
                      "; algorithm hybrid searches, and its result is not proven");
        }
    }
    return search_in(problem, architecture, constraints, walking, hooks);
}

}  // namespace

MapperResult search_mappings(const Problem& problem, const Architecture& architecture,
                             const Constraints& constraints, const MapperSettings& settings,
                             const MapperHooks& hooks) {
    for (const Objective& objective : settings.objectives) {
        if (objective.kind == Objective::Kind::accesses &&
            (objective.level < 0 || objective.level >= architecture.levels())) {
            throw UserError(settings.where, "mapper: accesses-" + std::to_string(objective.level) +
                                                " names no storage level; levels are 0 to " +
                                                std::to_string(architecture.levels() - 1));
        }
    }
    if (const std::string what = unbounded(architecture, constraints); !what.empty()) {
        return search_unbounded(problem, architecture, constraints, settings, hooks, what);
    }
    return search_in(problem, architecture, constraints, settings, hooks);
}

}  // namespace tessera::timeloop
