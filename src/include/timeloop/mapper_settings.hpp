// The keys of a Timeloop input's `mapper` and `mapspace` sections.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/error.hpp"

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

/// Which index factors exist.
enum class FactorTemplate : std::uint8_t {
    uber,  ///< perfect factors
    ruby,  ///< also loops whose last pass is shorter
};

/// A search strategy of the registry in place of an algorithm.
struct StrategySettings {
    std::string name;
    std::map<std::string, std::string> knobs;
    std::size_t batch = 1024, islands = 4;  ///< as the knobs of mapper `search`
};

/// Limits are per thread, as in Timeloop; 0 (and -1 in the input) means no limit.
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

}  // namespace tessera::timeloop
