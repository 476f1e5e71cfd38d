// The ten panels. Each draws the inside of its box and returns how far it can be scrolled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dashboard/frame.hpp"
#include "dashboard/lines.hpp"
#include "dashboard/view.hpp"
#include "telemetry/snapshot.hpp"

namespace tessera::dashboard {

using telemetry::Snapshot;

int draw_summary(Canvas canvas, const Snapshot& snapshot, const View& view);
int draw_incumbents(Canvas canvas, const Snapshot& snapshot, const View& view);
int draw_workers(Canvas canvas, const Snapshot& snapshot, const View& view);
int draw_funnel(Canvas canvas, const Snapshot& snapshot, const View& view);
int draw_pareto(Canvas canvas, const Snapshot& snapshot, const View& view);
int draw_comparison(Canvas canvas, const Snapshot& snapshot, const View& view);
int draw_plugins(Canvas canvas, const Snapshot& snapshot, const View& view);
int draw_log(Canvas canvas, const Snapshot& snapshot, const View& view);
int draw_mapping(Canvas canvas, const Snapshot& snapshot, const View& view);
int draw_costs(Canvas canvas, const Snapshot& snapshot, const View& view);

/// The searches of a comparison that the filter leaves, as indices of Snapshot::comparison, and
/// which of them is marked (nothing: there are none): the panel's scroll counts them.
struct MarkedSearch {
    std::vector<std::size_t> shown;
    std::optional<std::size_t> marked;  ///< index of Snapshot::comparison
};
MarkedSearch marked_search(const Snapshot& snapshot, const View& view);

/// Whether the run has what the panel shows: several metrics, mappers, lines of a log, plugins from
/// files or with knobs.
bool says_something(Panel panel, const Snapshot& snapshot);
/// Of `tessera train`: what falls is a loss.
bool trains(const Snapshot& snapshot);

// ---- facts that several panels and the header show ----

/// The key that shows the panel: "1" to "9", "0" for the tenth.
std::string key_of(Panel panel);
/// "EDP", "energy", "energy,latency"
std::string objective_name(const Snapshot& snapshot);
/// "annealing" of "search:annealing".
std::string short_name(const std::string& mapper);
/// The two costs of an incumbent that are drawn: energy and latency, but words in the place that
/// they take while traffic is minimised (docs/output.md).
struct CostNames {
    std::string first = "energy", first_unit = "J", second = "latency", second_unit = "s";
};
CostNames cost_names(const Snapshot& snapshot);
/// Of the first metric with its unit; "none yet".
std::string best_text(const Snapshot& snapshot);
/// "12.0%", "0.0%", "no bound".
std::string gap_text(const Snapshot& snapshot);
/// "RUNNING"
std::string state_text(const Snapshot& snapshot);
Span state_mark(telemetry::RunState state, const Symbols& symbols);
Span worker_mark(telemetry::WorkerState state, const Symbols& symbols);
/// Failed workers, detached plugins and logged errors.
int failures(const Snapshot& snapshot);
/// What is wrong right now ("no evaluation for 12s"), the most urgent first; usually empty.
std::vector<std::string> health(const Snapshot& snapshot);
/// The running phase, or null.
const telemetry::PhaseView* active_phase(const Snapshot& snapshot);
/// The limit that will end the search first, or null.
const telemetry::BudgetView* next_limit(const Snapshot& snapshot);
/// "max-time 12s of 30s, 40.0%"
std::string limit_text(const telemetry::BudgetView& budget);

}  // namespace tessera::dashboard
