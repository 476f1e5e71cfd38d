// Searching the Timeloop mapspace under the Timeloop cost model.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/budget.hpp"
#include "timeloop/constraints.hpp"
#include "timeloop/mapper_settings.hpp"
#include "timeloop/mapping.hpp"
#include "timeloop/model.hpp"

namespace tessera::telemetry {
class Recorder;
}

namespace tessera::timeloop {

/// Value of one objective: J * cycle, pJ, cycles or words.
double objective_value(const Objective& objective, const Cost& cost, int storage_levels);

/// Timeloop's comparison of two valid mappings over a list of objectives: a relative difference
/// above 0.1 % decides, within it the next objective is asked first; ties keep the incumbent.
bool is_better(const Cost& candidate, const Cost& incumbent,
               const std::vector<Objective>& objectives, int storage_levels);

/// Timeloop's one-line form: `L3[WIO] Q480 R3 - L2[WI] S3 K16X - ...`.
std::string compact_text(const Problem& problem, const Mapping& mapping);

/// What a search tells while it runs. Called from any of its threads, one call at a time.
struct MapperHooks {
    /// A line of Timeloop's log: improvements, statistics, why a thread ended.
    std::function<void(const std::string&)> log;
    /// A new best mapping of the whole search.
    std::function<void(const Mapping&, const Cost&)> improved;
    /// log-oaves: the best mapping of one index factorisation.
    std::function<void(const Mapping&, int thread)> frontier;
    const std::atomic<bool>* stop = nullptr;  ///< polled at least every 50 ms of work
    base::Budget budget;                      ///< beside the limits of the settings
    ModelOptions model;
    /// Counters, incumbents and bound of the first objective in SI units; null: to nobody.
    telemetry::Recorder* recorder = nullptr;
    std::vector<Mapping> start;  ///< a strategy begins with those that are of the mapspace
    double cycle_s = 1e-9;       ///< for the recorder; Timeloop itself knows no time
};

/// One line per kind of rejection and level: TL `diagnostics`, and why nothing was found.
struct FailureGroup {
    bool fanout = false;  ///< else capacity
    int level = 0;        ///< storage level; -1: minimum parallelism
    std::uint64_t count = 0;
    Mapping sample;        ///< one failing mapping, drawn uniformly
    std::string reason;    ///< of the sample
    std::string smallest;  ///< the reason with the smallest excess seen
    double excess = 0;     ///< needed / available of `smallest`
};

enum class Proof : std::uint8_t {
    none,        ///< stopped by a limit; `bound` may still tell how far the best can be off
    optimal,     ///< no member of the mapspace has a smaller first objective
    infeasible,  ///< the whole space was searched and no member is valid
};

struct MapperResult {
    std::optional<Mapping> best;  ///< audited against the constraints; holds every tensor whole
    Cost cost;
    Proof proof = Proof::none;
    std::optional<double> bound;  ///< proven lower bound of the first objective, all valid mappings
    std::vector<std::string> reasons;    ///< nothing found: what to relax, smallest violation first
    std::vector<FailureGroup> failures;  ///< with `diagnostics`, or when nothing was found
    std::string mapspace_size;
    std::uint64_t total = 0, valid = 0;  ///< mappings tried, mappings evaluated
    double wall_s = 0, best_s = 0;       ///< whole search; when the best was found
    std::string stopped_by;  ///< "max-time", "max-evals", "target", ..., "stop" for the hook;
                             ///< empty: it ended by itself or by Timeloop's own limits
    int threads = 1;

    /// (best - bound) / best of the first objective; 0 if optimal, 1 without a bound.
    double gap(const std::vector<Objective>& objectives) const;
};

/// Where nothing else limits the optimal search or a strategy.
inline constexpr double default_time_limit_s = 60;

/// Searches with the strategy or the algorithm of the settings (`optimal` if none is named). A
/// strategy obeys `search_size` and the limits of the hooks; what it finds depends on the seed
/// alone, not on the threads.
/// The same seed and number of threads give the same mapping, except where a time limit, Ctrl-C or
/// `sync-interval` ends or mixes threads; the optimal search with several threads may return
/// another mapping of the same value. \throws UserError, see MapSpace and CompiledModel.
MapperResult search_mappings(const Problem& problem, const Architecture& architecture,
                             const Constraints& constraints, const MapperSettings& settings,
                             const MapperHooks& hooks = {});

}  // namespace tessera::timeloop
