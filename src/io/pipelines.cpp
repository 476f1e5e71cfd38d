#include "io/pipelines.hpp"

#include <algorithm>
#include <sstream>

#include "base/printable.hpp"
#include "base/units.hpp"
#include "io/report_json.hpp"
#include "tessera/schedule/gantt.hpp"

namespace tessera::io {

namespace {

struct Chart {
    schedule::Dag dag;
    schedule::Schedule schedule;
};

const std::string& einsum(const model::Report& report, const model::PipelineSlot& slot) {
    return report.einsums.at(static_cast<std::size_t>(slot.einsum)).einsum;
}

Chart chart(const model::Report& report, const model::Pipeline& pipeline) {
    Chart result;
    std::vector<std::string>& units = result.dag.units;
    for (const model::PipelineSlot& slot : pipeline.slots) {
        auto unit = std::find(units.begin(), units.end(), slot.unit);
        if (unit == units.end()) {
            unit = units.insert(
                std::find_if(units.begin(), units.end(),
                             [&](const std::string& other) { return other > slot.unit; }),
                slot.unit);
        }
    }
    for (const model::PipelineSlot& slot : pipeline.slots) {
        const int task = static_cast<int>(result.dag.tasks.size());
        result.dag.tasks.push_back({einsum(report, slot), {}});
        result.schedule.overlap.stage.push_back(slot.stage);
        const auto unit = std::find(units.begin(), units.end(), slot.unit) - units.begin();
        result.schedule.placements.push_back(
            {task, static_cast<int>(unit), slot.start_s, slot.end_s});
        result.schedule.interval_s = std::max(result.schedule.interval_s, slot.end_s);
    }
    return result;
}

/// From the first to the last Einsum as the mapping has them.
std::string title(const model::Report& report, const model::Pipeline& pipeline) {
    const auto [first, last] =
        std::minmax_element(pipeline.slots.begin(), pipeline.slots.end(),
                            [](const auto& a, const auto& b) { return a.einsum < b.einsum; });
    return base::one_line(einsum(report, *first)) + " to " + base::one_line(einsum(report, *last)) +
           " at once, " + base::quantity(pipeline.latency_s, "s");
}

}  // namespace

std::string pipelines_text(const model::Report& report) {
    std::string text;
    for (const model::Pipeline& pipeline : report.pipelines) {
        if (pipeline.slots.empty()) {
            continue;
        }
        const Chart made = chart(report, pipeline);
        text += title(report, pipeline) + "\n";
        std::istringstream lines(schedule::gantt_text(made.dag, made.schedule));
        for (std::string line; std::getline(lines, line);) {
            text += "  " + line + "\n";
        }
    }
    return text;
}

std::string pipeline_svg(const model::Report& report, std::size_t index) {
    const model::Pipeline& pipeline = report.pipelines.at(index);
    const Chart made = chart(report, pipeline);
    return schedule::gantt_svg(made.dag, made.schedule, title(report, pipeline));
}

Json pipelines_json(const model::Report& report) {
    Json result = Json::array();
    for (const model::Pipeline& pipeline : report.pipelines) {
        Json one;
        put(one, "latency_s", pipeline.latency_s);
        one["einsums"] = Json::object();
        for (const model::PipelineSlot& slot : pipeline.slots) {
            Json& place = one["einsums"][einsum(report, slot)];
            place["unit"] = slot.unit;
            place["stage"] = slot.stage;
            put(place, "start_s", slot.start_s);
            put(place, "end_s", slot.end_s);
        }
        result.push_back(std::move(one));
    }
    return result;
}

}  // namespace tessera::io
