#include "tessera/schedule/dag.hpp"

#include <algorithm>
#include <cmath>

#include "schedule/graph.hpp"
#include "tessera/base/error.hpp"

namespace tessera::schedule {

namespace {

void check_task(const Task& task, std::size_t units) {
    if (task.latency_s.size() != units) {
        throw UserError("task " + task.name + " has " + std::to_string(task.latency_s.size()) +
                        " latencies; one for each of the " + std::to_string(units) +
                        " units is needed");
    }
    bool runs = false;
    for (const double latency : task.latency_s) {
        if (std::isnan(latency) || latency < 0) {
            throw UserError("task " + task.name +
                            " has a latency below 0 or none; expected seconds, or infinity where "
                            "it cannot run");
        }
        runs = runs || std::isfinite(latency);
    }
    if (!runs) {
        throw UserError("task " + task.name + " can run on no unit; give it a finite latency");
    }
}

void check_indices(const std::vector<Edge>& edges, std::size_t n) {
    for (const Edge& edge : edges) {
        if (edge.from < 0 || edge.to < 0 || edge.from >= static_cast<int>(n) ||
            edge.to >= static_cast<int>(n)) {
            throw UserError("edge " + std::to_string(edge.from) + " -> " + std::to_string(edge.to) +
                            " names no task; there are " + std::to_string(n));
        }
    }
}

void check_order(const Dag& dag) {
    const Graph graph(dag.tasks.size(), dag.edges);
    Set done = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < graph.size(); ++i) {
            if (!(done & bit(i)) && !(graph.before[i] & ~done)) {
                done |= bit(i);
                moved = true;
            }
        }
    }
    for (int i = 0; i < graph.size(); ++i) {
        if (!(done & bit(i))) {
            throw UserError("task " + dag.tasks[i].name +
                            " waits for itself through edges; make the edge that crosses epochs a "
                            "recurrence");
        }
    }
}

}  // namespace

void check(const Dag& dag) {
    if (dag.tasks.empty() || dag.tasks.size() > max_tasks) {
        throw UserError("a graph of " + std::to_string(dag.tasks.size()) + " tasks; 1 to " +
                        std::to_string(max_tasks) + " can be scheduled");
    }
    if (dag.units.empty() || dag.units.size() > max_units) {
        throw UserError("a graph for " + std::to_string(dag.units.size()) + " units; 1 to " +
                        std::to_string(max_units) + " are possible");
    }
    for (const Task& task : dag.tasks) {
        check_task(task, dag.units.size());
    }
    check_indices(dag.edges, dag.tasks.size());
    check_indices(dag.recurrences, dag.tasks.size());
    check_order(dag);
}

Overlap overlap(const Dag& dag, std::vector<int> stage) {
    if (stage.size() != dag.tasks.size()) {
        throw UserError("one stage per task is needed");
    }
    Overlap made;
    for (const Edge& edge : dag.edges) {
        if (stage[edge.to] < stage[edge.from]) {
            throw UserError("task " + dag.tasks[edge.to].name + " is in a stage before task " +
                            dag.tasks[edge.from].name + ", which it waits for");
        }
        if (stage[edge.to] == stage[edge.from]) {
            made.edges.push_back(edge);
        }
    }
    for (const Edge& edge : dag.recurrences) {
        if (stage[edge.from] > stage[edge.to] + 1) {
            throw UserError("task " + dag.tasks[edge.from].name +
                            " writes its state more than one stage after task " +
                            dag.tasks[edge.to].name + " reads it");
        }
        if (stage[edge.from] == stage[edge.to] + 1) {
            made.edges.push_back(edge);
        }
    }
    made.stage = std::move(stage);
    return made;
}

std::vector<int> Schedule::binding() const {
    std::vector<int> unit(placements.size(), 0);
    for (const Placement& placed : placements) {
        unit.at(placed.task) = placed.unit;
    }
    return unit;
}

std::string objection(const Dag& dag, const Schedule& schedule) {
    const double slack = 1e-12 * std::max(schedule.interval_s, 1e-300);
    std::vector<const Placement*> of(dag.tasks.size(), nullptr);
    for (const Placement& placed : schedule.placements) {
        const Task& task = dag.tasks.at(placed.task);
        if (of[placed.task]) {
            return task.name + " runs twice";
        }
        of[placed.task] = &placed;
        if (!(std::abs(placed.end_s - placed.start_s - task.latency_s.at(placed.unit)) <= slack)) {
            return task.name + " takes a time that is not its latency";
        }
        if (placed.start_s < 0 || placed.end_s > schedule.interval_s + slack) {
            return task.name + " runs outside of the round";
        }
        for (const Placement& other : schedule.placements) {
            if (&other != &placed && other.unit == placed.unit && other.end_s > other.start_s &&
                other.start_s < placed.end_s - slack && placed.start_s < other.end_s - slack) {
                return task.name + " and " + dag.tasks[other.task].name + " run on " +
                       dag.units[placed.unit] + " at the same time";
            }
        }
    }
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (!of[i]) {
            return dag.tasks[i].name + " does not run";
        }
    }
    for (const Edge& edge : overlap(dag, schedule.overlap.stage).edges) {
        if (of[edge.to]->start_s < of[edge.from]->end_s - slack) {
            return dag.tasks[edge.to].name + " starts before " + dag.tasks[edge.from].name +
                   " ends";
        }
    }
    return "";
}

}  // namespace tessera::schedule
