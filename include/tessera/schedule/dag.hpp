// Tasks with a latency per unit, what they wait for, and schedules of one epoch of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tessera::schedule {

/// One Einsum of a fused group.
struct Task {
    std::string name;
    /// Seconds on each unit; infinity: the unit cannot run it. Zero is allowed.
    std::vector<double> latency_s;
};

/// Indices into Dag::tasks: `from` ends before `to` starts.
struct Edge {
    int from = 0, to = 0;

    friend bool operator==(const Edge&, const Edge&) = default;
};

/// A fused group that is executed once per epoch (tile). Every epoch runs every task once.
struct Dag {
    std::vector<std::string> units;
    std::vector<Task> tasks;
    std::vector<Edge> edges;  ///< within an epoch
    /// Running states: `to` reads in the next epoch what `from` writes in this one.
    std::vector<Edge> recurrences;
};

inline constexpr int max_tasks = 64;
inline constexpr int max_units = 8;

/// \throws UserError unless there are 1 to max_tasks tasks and 1 to max_units units, every task has
/// one latency per unit, none negative or NaN and one finite, indices exist, and edges close no
/// circle.
void check(const Dag& dag);

/// What overlaps in the steady state. In one round a task of stage k works on epoch (round - k), so
/// an edge between stages orders nothing within a round (TransFusion Sec. 4).
struct Overlap {
    std::vector<int> stage;   ///< per task
    std::vector<Edge> edges;  ///< that hold within a round
};

/// The edges that hold within a round: edges of the Dag inside a stage, and recurrences whose
/// writer is one stage after the reader, so that both work on neighbouring epochs at the same time.
/// \throws UserError if a stage comes before one that it waits for, or a recurrence reaches back
/// more than one stage: no order of rounds could obey them.
Overlap overlap(const Dag& dag, std::vector<int> stage);

/// Where and when a task runs, in seconds from the start of a round.
struct Placement {
    int task = 0, unit = 0;
    double start_s = 0, end_s = 0;
};

struct Schedule {
    Overlap overlap;
    std::vector<Placement> placements;  ///< in the order in which they were placed
    double interval_s = 0;              ///< length of a round: from one epoch's start to the next
    /// Every alternative was looked at. False: a limit cut the search, a shorter round may exist.
    bool complete = true;

    /// Unit of each task.
    std::vector<int> binding() const;
};

/// Why the schedule cannot run (a unit does two things at once, an edge of the round is broken, a
/// task is missing, a latency differs); empty: it can.
std::string objection(const Dag& dag, const Schedule& schedule);

}  // namespace tessera::schedule
