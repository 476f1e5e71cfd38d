#include "pipelines.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "tessera/base/error.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::transfusion {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Seconds of a round with these placements. Between two starts or ends of Einsums each of them
/// works at a steady pace; where a component would have to work more than all the time, the others
/// wait for it.
double slowed_s(const schedule::Schedule& schedule, const Range& range,
                const std::vector<Part>& parts, const model::Rounds& rounds) {
    std::set<double> changes = {0, schedule.interval_s};
    for (const schedule::Placement& placed : schedule.placements) {
        changes.insert(placed.start_s);
        changes.insert(placed.end_s);
    }
    double seconds = 0;
    for (auto from = changes.begin(); std::next(from) != changes.end(); ++from) {
        model::Rounds running;  // seconds of work in a second
        for (const schedule::Placement& placed : schedule.placements) {
            const auto task = static_cast<std::size_t>(placed.task);
            const double own_s =
                parts[static_cast<std::size_t>(range.begin) + task].report->latency_s;
            if (placed.start_s <= *from && *from < placed.end_s && own_s > 0) {
                for (auto& [component, share] : running.busy_s.emplace_back(rounds.busy_s[task])) {
                    share /= own_s;
                }
            }
        }
        seconds += (*std::next(from) - *from) * std::max(1.0, model::fullest_s(running));
    }
    return seconds;
}

}  // namespace

schedule::Dag dag_of(const workload::Workload& workload, const std::vector<Part>& parts,
                     const Range& range, const std::vector<std::string>& units,
                     const std::vector<std::vector<double>>& latency_s) {
    schedule::Dag dag;
    dag.units = units;
    std::map<int, int> task_of;  // by Einsum of the workload
    for (int i = range.begin; i < range.end; ++i) {
        const workload::EinsumView& einsum = *parts[static_cast<std::size_t>(i)].einsum;
        task_of[einsum.einsum] = i - range.begin;
        dag.tasks.push_back({einsum.name, latency_s[static_cast<std::size_t>(i - range.begin)]});
    }
    for (const workload::Tensor& tensor : workload.tensors) {
        for (const int producer : tensor.producers) {
            const auto from = task_of.find(producer);
            if (from == task_of.end()) {
                continue;
            }
            for (const int consumer : tensor.consumers) {
                if (const auto to = task_of.find(consumer); to != task_of.end()) {
                    dag.edges.push_back({from->second, to->second});
                }
            }
            for (const int reader : tensor.previous_readers) {
                if (const auto to = task_of.find(reader); to != task_of.end()) {
                    dag.recurrences.push_back({from->second, to->second});
                }
            }
        }
    }
    return dag;
}

PipelineCost pipeline_cost(const workload::Workload& workload, const std::vector<Part>& parts,
                           const Range& range, const model::Rounds& rounds, schedule::Mode mode) {
    const auto part = [&](int i) -> const Part& { return parts[static_cast<std::size_t>(i)]; };
    std::vector<std::string> units;
    for (int i = range.begin; i < range.end; ++i) {
        const std::string& unit = part(i).path->compute().name;
        if (std::find(units.begin(), units.end(), unit) == units.end()) {
            units.push_back(unit);
        }
    }
    std::vector<std::vector<double>> latency_s;
    for (int i = range.begin; i < range.end; ++i) {
        latency_s.emplace_back(units.size(), never);
        const auto unit =
            std::find(units.begin(), units.end(), part(i).path->compute().name) - units.begin();
        latency_s.back()[static_cast<std::size_t>(unit)] = part(i).report->latency_s;
    }
    PipelineCost cost;
    cost.schedule = schedule::pipeline(dag_of(workload, parts, range, units, latency_s), mode);
    const std::vector<int>& stage = cost.schedule.overlap.stage;
    const int last = *std::max_element(stage.begin(), stage.end());
    cost.pipeline.latency_s =
        slowed_s(cost.schedule, range, parts, rounds) * (rounds.count + last) / rounds.count;
    for (const schedule::Placement& placed : cost.schedule.placements) {
        cost.pipeline.slots.push_back(
            {range.begin + placed.task, units[static_cast<std::size_t>(placed.unit)],
             stage[static_cast<std::size_t>(placed.task)], placed.start_s, placed.end_s});
    }
    std::stable_sort(cost.pipeline.slots.begin(), cost.pipeline.slots.end(),
                     [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
    return cost;
}

model::PipelineRun shortest(const workload::Workload& workload, const std::vector<Part>& parts,
                            const std::vector<int>& shared, const Range& range,
                            schedule::Mode mode) {
    PipelineCost cost =
        pipeline_cost(workload, parts, range, model::rounds_of(parts, shared, range), mode);
    model::PipelineRun ordered{
        std::move(cost.pipeline),
        model::shares_held(workload, parts, shared, range, cost.schedule.overlap.stage)};
    std::optional<model::PipelineRun> spread;
    try {
        spread = model::run_pipeline(workload, parts, shared, range);
    } catch (const IllegalMapping&) {  // its stages do not fit
    }
    const bool fits = model::fits(ordered.shares);
    if (spread && (!fits || spread->pipeline.latency_s < ordered.pipeline.latency_s)) {
        return *std::move(spread);
    }
    model::check_held(ordered.shares, parts, range);
    return ordered;
}

}  // namespace tessera::transfusion
