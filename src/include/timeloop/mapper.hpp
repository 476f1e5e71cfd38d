// Searching the Timeloop mapspace under the Timeloop cost model.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/budget.hpp"
#include "tessera/base/error.hpp"
#include "timeloop/constraints.hpp"
#include "timeloop/mapping.hpp"
#include "timeloop/mapspace.hpp"
#include "timeloop/model.hpp"

namespace tessera::telemetry {
class Recorder;
}

namespace tessera::timeloop {

/// How the mapspace is searched. All but `optimal` are Timeloop's own.
enum class Algorithm : std::uint8_t {
    optimal,  ///< ours: incumbents at once, then a proof; used when the input names no algorithm
    exhaustive,
    linear_pruned,
    hybrid,
    random,
    random_pruned,
};

/// Their names, as inputs and options write them.
std::vector<std::string> algorithm_names();
/// With hyphens or underscores. Empty: there is none of this name.
std::optional<Algorithm> algorithm_named(const std::string& name);

/// What is minimised, first metric first.
struct Objective {
    enum class Kind : std::uint8_t {
        edp,                  ///< J * cycle
        energy,               ///< pJ
        delay,                ///< cycles
        last_level_accesses,  ///< words at the outermost level
        accesses,             ///< words at `level`
    };
    Kind kind = Kind::edp;
    int level = 0;  ///< of `accesses`: storage level, 0 innermost

    bool operator==(const Objective&) const = default;
};

/// A search strategy of the registry in place of an algorithm.
struct StrategySettings {
    std::string name;
    std::map<std::string, std::string> knobs;
    std::size_t batch = 1024, islands = 4;  ///< as the knobs of mapper `search`
};

/// The keys of an input's `mapper` and `mapspace` sections. Limits are per thread, as in Timeloop;
/// 0 (and -1 in the input) means no limit.
struct MapperSettings {
    std::optional<Algorithm> algorithm;        ///< empty: not named
    std::optional<StrategySettings> strategy;  ///< ours: goes before `algorithm`
    std::vector<Objective> objectives;         ///< empty: edp
    FactorTemplate factors = FactorTemplate::uber;
    int threads = 0;                     ///< 0: one per core
    std::uint64_t timeout = 1000;        ///< invalid mappings in a row
    std::uint64_t victory = 500;         ///< valid mappings in a row without a better one
    std::uint64_t search_size = 0;       ///< valid mappings, of all threads together
    std::uint64_t sync_interval = 0;     ///< mappings between exchanges of the best
    std::uint64_t log_interval = 1;      ///< improvements between two lines
    std::uint64_t permutations = 16;     ///< `max-permutations-per-if-visit`
    bool log_suboptimal = false;         ///< also `log-all`
    bool log_stats = false;              ///< counters to stderr
    bool log_oaves = false;              ///< traffic by capacity to oaves.csv
    bool log_oaves_mappings = false;     ///< and one mapping file per row
    bool diagnostics = false;            ///< failures by class and level at the end
    bool penalize_bypass_fails = false;  ///< `penalize-consecutive-bypass-fails`
    bool filter_revisits = false;        ///< hybrid: index factors are drawn once
    bool emit_whoop_nest = false;        ///< accepted; no Whoop file is written
    std::string out_prefix = "timeloop-mapper";

    double time_limit_s = 0;       ///< ours, `time-limit`: wall clock; 0: none
    std::uint64_t seed = 0;        ///< ours, `seed`; 0: Timeloop's constant
    std::optional<double> target;  ///< ours, `target`: of the first objective; ends the search
    Position where;                ///< of the section
};

/// "delay, energy": `count` of them from `first` on, as inputs write them.
std::string names(const std::vector<Objective>& objectives, std::size_t first, std::size_t count);

/// Value of one objective: J * cycle, pJ, cycles or words.
double objective_value(const Objective& objective, const Cost& cost, int storage_levels);

/// Timeloop's comparison of two valid mappings over a list of objectives: a relative difference
/// above 0.1 % decides, within it the next objective is asked first; ties keep the incumbent.
bool is_better(const Cost& candidate, const Cost& incumbent,
               const std::vector<Objective>& objectives, int storage_levels);

/// Below this relative difference two values are equal: sums of the same terms differ in their last
/// bits.
inline constexpr double tie = 1e-9;

/// The order of our own searches: the first objective in which two valid mappings differ decides,
/// by any difference in the last one. \return negative: `a` is better; 0: none is
int compare_in_order(const Cost& a, const Cost& b, const std::vector<Objective>& objectives,
                     int storage_levels);

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
    none,        ///< of one objective at least nothing is proven; bounds may tell how far it is off
    optimal,     ///< no member of the mapspace is better in the order of compare_in_order()
    infeasible,  ///< the whole space was searched and no member is valid
};

struct MapperResult {
    std::optional<Mapping> best;  ///< audited against the constraints; holds every tensor whole
    Cost cost;
    Proof proof = Proof::none;
    std::optional<double> bound;  ///< proven lower bound of the first objective, all valid mappings
    /// So many objectives, the first ones, are proven: of the mappings that equal the best one in
    /// those before, none is smaller.
    std::size_t proven = 0;
    /// Of the next objective, where one at least is proven: lower bound of the mappings that equal
    /// the best one in the proven ones.
    std::optional<double> next_bound;
    /// The algorithm ended by itself, and left out mappings that are like none of those it visited:
    /// a better one, or a valid one, may be among them.
    bool left_out = false;
    std::vector<std::string> reasons;    ///< nothing found: what to relax, smallest violation first
    std::vector<FailureGroup> failures;  ///< with `diagnostics`, or when nothing was found
    std::string mapspace_size;
    std::uint64_t total = 0, valid = 0;  ///< mappings tried, mappings evaluated
    double wall_s = 0, best_s = 0;       ///< whole search; when the best was found
    std::string stopped_by;  ///< "max-time", "max-evals", "target", ..., "stop" for the hook;
                             ///< empty: it ended by itself or by Timeloop's own limits
    /// The limits that ended it, as users write them: "time-limit", "--max-cpu-time", "timeout".
    std::vector<std::string> limits;
    int threads = 1;

    /// (best - bound) / best of the first objective that is not proven; 0 if all are, 1 without a
    /// bound.
    double gap(const std::vector<Objective>& objectives) const;
};

/// Why a search ended before everything was known, and what makes it go on: "the search ended at
/// timeout after 1000 of 48000 mappings; raise it".
std::string ending(const MapperResult& result, const MapperSettings& settings);

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
