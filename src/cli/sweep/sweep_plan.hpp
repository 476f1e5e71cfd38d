// What a sweep is to do, and what its points came to: what is kept in its folder.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/json_text.hpp"
#include "sweep_space.hpp"

namespace tessera::cli {

/// What one search came to.
struct SweepOutcome {
    /// optimal, feasible (stopped before a proof), infeasible, unknown (stopped before any mapping)
    /// or failed; empty: not run
    std::string status;
    std::optional<double> energy_j, latency_s, edp_js, traffic_words, dynamic_energy_j,
        leak_energy_j, bound, gap;
    std::string stopped_by, message, fused_groups, mapping;
    double wall_s = 0, cpu_s = 0;
    std::uint64_t memory_bytes = 0, evaluated = 0;
};

/// What a point costs, by the keys of metrics.
struct SweepFigure {
    const char* key;
    std::optional<double> SweepOutcome::*value;
};
inline constexpr std::array sweep_figures{
    SweepFigure{"energy_j", &SweepOutcome::energy_j},
    SweepFigure{"latency_s", &SweepOutcome::latency_s},
    SweepFigure{"edp_js", &SweepOutcome::edp_js},
    SweepFigure{"traffic_words", &SweepOutcome::traffic_words},
    SweepFigure{"dynamic_energy_j", &SweepOutcome::dynamic_energy_j},
    SweepFigure{"leak_energy_j", &SweepOutcome::leak_energy_j}};

struct SweepPlan {
    std::string workload, architecture, mapper, model, metric;
    std::string x, y;  ///< the columns of the Pareto front, both minimised
    SweepSpace space;
    std::vector<std::size_t>
        same_as;       ///< the first point with the same problem; itself: none before
    io::Json command;  ///< options, inputs, limits, plugins, seed, version

    /// Points whose problem is searched: those that are their own first, of this shard. `shard` of
    /// `shards`, from 1.
    std::vector<std::size_t> searched(std::size_t shard, std::size_t shards) const;
};

/// A numeric column of a point, by name: the keys of metrics, or an axis.
std::optional<double> column(const SweepPlan& plan, const SweepOutcome& outcome, std::size_t point,
                             const std::string& name);

/// Points that no other is better than in one column and as good in the other, by x; of equal ones
/// the first.
std::vector<std::size_t> pareto_of(const SweepPlan& plan,
                                   const std::vector<SweepOutcome>& outcomes);

io::Json to_json(const SweepPlan& plan);
/// \throws UserError naming the file
SweepPlan read_plan(const io::ParsedJson& json, const std::string& file);

/// A line of points.jsonl.
std::string journal_line(std::size_t point, const SweepOutcome& outcome);
/// Reads lines into `outcomes`; one that was cut off by a kill is left out. \returns the length of
/// the text up to its last whole line
std::size_t read_journal(const std::string& text, std::vector<SweepOutcome>& outcomes);

io::Json outcome_json(const SweepOutcome& outcome);
/// Nothing: the text is no outcome.
std::optional<SweepOutcome> read_outcome(const io::ParsedJson& json);

}  // namespace tessera::cli
