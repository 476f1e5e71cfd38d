// Incumbents: the best value and the bound over (logarithmic) time, then the list, newest first.
#include <algorithm>
#include <cmath>

#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"
#include "dashboard/plot.hpp"
#include "dashboard/step_plot.hpp"

namespace tessera::dashboard {

namespace {

std::vector<telemetry::Step> best_history(const Snapshot& snapshot) {
    std::vector<telemetry::Step> steps;
    for (const telemetry::IncumbentView& found : snapshot.incumbents) {
        if (steps.empty() || found.value < steps.back().value) {
            steps.push_back({found.time_s, found.value});
        }
    }
    return steps;
}

Table table(const CostNames& names, int width) {
    return Table({{"at", 8, 1, true},
                  {"value", 10, 0},
                  {names.first, 9, 4},
                  {names.second, 9, 4},
                  {"evals", 5, 3},
                  {"by", 6, 2, true, true}},
                 width);
}

Line line(const Snapshot& snapshot, const telemetry::IncumbentView& found, bool newest,
          const Table& columns) {
    const CostNames names = cost_names(snapshot);
    std::string by = short_name(found.found_by);
    by += found.worker >= 0 ? "#" + std::to_string(found.worker) : "";
    by += found.detail.empty() ? "" : ", " + found.detail;
    return columns.row({{duration(found.time_s), {}},
                        {quantity(found.value, ""), newest ? style::best : style::text},
                        {quantity(found.energy_j, names.first_unit), {}},
                        {quantity(found.latency_s, names.second_unit), {}},
                        {count(static_cast<double>(found.evaluated)), {}},
                        {by, {}}});
}

}  // namespace

int draw_incumbents(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const int height = canvas.height();
    // The plot takes half of a small panel and two thirds of a large one.
    const int plot = height < 8 ? height / 2 : height < 16 ? height * 3 / 5 : height * 2 / 3;
    Curves curves;
    curves.end_s = snapshot.elapsed_s;
    if (!snapshot.bounds.empty()) {
        curves.series.push_back({snapshot.bounds, style::bound, true, U'.'});
    }
    curves.series.push_back({best_history(snapshot), style::best, false, U'*'});
    draw_steps(canvas.part({0, 0, canvas.width(), plot}), curves);
    Canvas below = canvas.part({0, plot, canvas.width(), height - plot});
    const Table columns = table(cost_names(snapshot), below.width());
    draw_line(below, 0, 0, columns.header());
    const auto& found = snapshot.incumbents;
    const auto newest_first = [&](int i) {
        return line(snapshot, found[found.size() - 1 - static_cast<std::size_t>(i)], i == 0,
                    columns);
    };
    return draw_list(below.part({0, 1, below.width(), below.height() - 1}),
                     {static_cast<int>(found.size()), newest_first},
                     view.scroll_of(Panel::incumbents), view.filter);
}

}  // namespace tessera::dashboard
