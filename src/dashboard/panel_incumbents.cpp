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

Table table(int width) {
    return Table({{"at", 8, 1, true},
                  {"value", 10, 0},
                  {"energy", 9, 4},
                  {"latency", 9, 4},
                  {"evals", 5, 3},
                  {"by", 6, 2, true, true}},
                 width);
}

std::vector<Line> list(const Snapshot& snapshot, const Table& columns) {
    const bool units = !snapshot.run.unit.empty();
    std::vector<Line> lines;
    for (auto found = snapshot.incumbents.rbegin(); found != snapshot.incumbents.rend(); ++found) {
        std::string by = found->found_by;
        by += found->worker >= 0 ? "#" + std::to_string(found->worker) : "";
        by += found->detail.empty() ? "" : ", " + found->detail;
        const bool newest = found == snapshot.incumbents.rbegin();
        const double time = found->time_s;
        lines.push_back(
            columns.row({{time < 60 ? quantity(time, "s") : clock(time), {}},
                         {quantity(found->value, ""), newest ? style::best : style::text},
                         {quantity(found->energy_j, units ? "J" : ""), {}},
                         {quantity(found->latency_s, units ? "s" : ""), {}},
                         {count(static_cast<double>(found->evaluated)), {}},
                         {by, {}}}));
    }
    return lines;
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
    const Table columns = table(below.width());
    draw_line(below, 0, 0, columns.header());
    return draw_lines(below.part({0, 1, below.width(), below.height() - 1}),
                      filtered(list(snapshot, columns), view.filter),
                      view.scroll_of(Panel::incumbents));
}

}  // namespace tessera::dashboard
