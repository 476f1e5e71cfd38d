// The state of a run at one moment: a plain value that every view is a function of. It goes as JSON
// into status.json and over the run's socket, and comes back the same.
//
// Units are SI. A number that is not known is an empty optional, null in JSON.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/telemetry/recorder.hpp"

namespace tessera::telemetry {

inline constexpr int snapshot_version = 1;

/// What is run; does not change.
struct RunIdentity {
    std::string id;         ///< unique on the host: "gpt3-4711"
    std::string directory;  ///< of -o, absolute; may be empty
    std::string workload, architecture;
    std::string mapper, model;         ///< "ffm", "search:annealing"; "looptree"
    std::vector<std::string> metrics;  ///< "edp"
    std::string unit;                  ///< of the first metric: "J s"; empty: arbitrary units
    std::string version, host;
    std::string started;  ///< "2026-01-31T12:00:00Z"
    int pid = 0;
    int threads = 0;
    std::uint64_t seed = 0;
    std::vector<std::string> command;

    bool operator==(const RunIdentity&) const = default;
};

enum class RunState : std::uint8_t {
    running,
    stopping,     ///< asked to stop, not done yet
    finished,     ///< ended by itself or at a limit
    interrupted,  ///< ended by a signal or a viewer's request
    failed,
    lost,  ///< said by viewers: its process is gone without having ended, or does not answer
};
const char* name(RunState state);

struct PhaseView {
    std::string name, unit;
    std::uint64_t done = 0, total = 0;  ///< total 0: unknown
    double seconds = 0;
    int passes = 0;
    bool active = false;

    bool operator==(const PhaseView&) const = default;
};

struct WorkerView {
    int id = 0;
    std::string source;
    WorkerState state = WorkerState::idle;
    std::string einsum;  ///< empty: none
    int item = -1;       ///< template
    std::uint64_t generated = 0, evaluated = 0;
    double rate_per_s = 0;        ///< evaluations over the last seconds
    double quiet_s = 0;           ///< since its counters last moved
    std::uint64_t improved = 0;   ///< incumbents it found
    std::optional<double> best;   ///< of its incumbents
    std::optional<double> age_s;  ///< since its last incumbent

    bool operator==(const WorkerView&) const = default;
};

struct FunnelView {
    std::uint64_t generated = 0, evaluated = 0, improved = 0;
    std::array<std::uint64_t, n_reasons> rejected{};

    std::uint64_t rejected_for(Reason reason) const {
        return rejected[static_cast<std::size_t>(reason)];
    }
    std::uint64_t pruned() const;   ///< of reasons that is_pruning
    std::uint64_t invalid() const;  ///< of the others
    bool operator==(const FunnelView&) const = default;
};

struct IncumbentView {
    double time_s = 0, value = 0, energy_j = 0, latency_s = 0;
    std::string found_by, detail;
    int worker = -1;
    std::uint64_t evaluated = 0;

    bool operator==(const IncumbentView&) const = default;
};

/// A value from some time on.
struct Step {
    double time_s = 0, value = 0;

    bool operator==(const Step&) const = default;
};

/// One mapper or strategy of several that run side by side, in one search, or in searches of their
/// own (a comparison).
struct ContenderView {
    std::string name;
    std::optional<double> best, gap;  ///< gap to the best known of all, (own - best) / own
    std::optional<double> time_to_best_s;
    std::uint64_t evaluated = 0, improved = 0;
    double rate_per_s = 0;
    std::vector<Step> history;
    // Of searches of their own:
    std::optional<std::uint64_t> search = {};  ///< which of the comparison's
    WorkerState state = WorkerState::idle;
    std::string ending = {};  ///< "optimal", "feasible", "failed"; empty: no end yet
    double elapsed_s = 0;
    std::optional<double> bound_gap = {};  ///< to the best bound known, (own - bound) / own

    bool operator==(const ContenderView&) const = default;
};

struct EinsumView {
    std::string name;
    std::uint64_t templates_done = 0, templates_total = 0, pareto = 0, joined = 0;

    bool operator==(const EinsumView&) const = default;
};

struct PointView {
    double energy_j = 0, latency_s = 0;

    bool operator==(const PointView&) const = default;
};

struct PluginView {
    std::string kind, name, version, file;  ///< kind: "mapper"; file empty: built in
    std::string state;                      ///< "in use", "loaded", "detached"; free text
    std::vector<std::pair<std::string, std::string>> knobs;

    bool operator==(const PluginView&) const = default;
};

struct LogView {
    double time_s = 0;
    LogLevel level = LogLevel::info;
    std::string text;

    bool operator==(const LogView&) const = default;
};

/// A limit of the search and how much of it is used.
struct BudgetView {
    std::string name;  ///< the option without dashes: "max-time"
    std::string unit;  ///< "s", "B", "evaluations", "" (gap), unit of the metric (target)
    double used = 0, limit = 0;
    double fraction = 0;  ///< 0..1

    bool operator==(const BudgetView&) const = default;
};

struct FieldView {
    std::string name, unit;
    double value = 0;

    bool operator==(const FieldView&) const = default;
};

/// What a component takes of the best mapping.
struct ComponentCostView {
    std::string name;
    double energy_j = 0;
    double limits_s = 0;              ///< time of the Einsums whose slowest component it is
    std::optional<double> occupancy;  ///< of a memory: highest share of its size in use

    bool operator==(const ComponentCostView&) const = default;
};

struct EinsumCostView {
    std::string name;
    double energy_j = 0, latency_s = 0;
    std::string limit;       ///< its slowest component; empty: nothing takes time
    double compute_use = 0;  ///< share of all computes in use, averaged over its time

    bool operator==(const EinsumCostView&) const = default;
};

/// The best mapping of the first metric, and where its energy and its time go.
struct MappingView {
    std::vector<std::string> lines;  ///< as text for people; empty: none yet, or not told
    double energy_j = 0, latency_s = 0, compute_use = 0;
    std::vector<ComponentCostView> components;  ///< in the report's order; may be empty
    std::vector<EinsumCostView> einsums;

    bool operator==(const MappingView&) const = default;
};

/// How long the run will go on, see rest.hpp. Empty: nothing is known.
struct RestView {
    std::optional<double> least_s, most_s;

    bool operator==(const RestView&) const = default;
};

struct Snapshot {
    std::uint64_t serial = 0;  ///< counts up from 1
    RunIdentity run;
    RunState state = RunState::running;
    /// Of a comparison: its searches are in `comparison`; workers, funnel and mapping it has not.
    bool compares = false;
    std::string stop_reason;  ///< "Ctrl-C", "max-time"; empty while running, or if done
    double elapsed_s = 0, cpu_s = 0;
    std::uint64_t memory_bytes = 0, peak_memory_bytes = 0;
    double rate_per_s = 0;             ///< evaluations of all workers over the last seconds
    std::vector<double> rate_history;  ///< one a second, at most the last 120
    std::vector<PhaseView> phases;     ///< in the order of their first beginning
    std::vector<EinsumView> einsums;   ///< may be empty
    std::vector<WorkerView> workers;
    FunnelView funnel;
    std::vector<IncumbentView> incumbents;   ///< oldest first; at most 500, thinned in the middle
    std::vector<Step> bounds;                ///< history of the bound
    std::optional<double> best, bound, gap;  ///< of the first metric; gap = (best - bound) / best
    std::optional<double> incumbent_age_s;
    std::vector<PointView> front;
    MappingView mapping;
    RestView rest;
    std::vector<ContenderView> comparison;  ///< one entry per source of workers or incumbents
    std::vector<PluginView> plugins;
    std::vector<BudgetView> budgets;  ///< limits that are set
    std::vector<FieldView> fields;
    std::vector<LogView> log;            ///< the last 200 lines
    std::optional<double> checkpoint_s;  ///< time of the last checkpoint

    bool operator==(const Snapshot&) const = default;
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

/// One line of JSON, keys in a fixed order.
std::string to_json(const Snapshot& snapshot);
/// Unknown keys are ignored, missing ones keep their defaults.
/// \throws UserError if it is no snapshot, or one of another version.
Snapshot from_json(const std::string& text);

}  // namespace tessera::telemetry
