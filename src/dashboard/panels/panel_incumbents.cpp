// Incumbents: the best value and the bound over (logarithmic) time, then the list, newest first.
#include <algorithm>
#include <cmath>

#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"
#include "plot.hpp"
#include "step_plot.hpp"

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

/// (best - bound) / best in percent, wherever one of them changes.
std::vector<telemetry::Step> gap_history(const Snapshot& snapshot) {
    const std::vector<telemetry::Step> best = best_history(snapshot);
    std::vector<telemetry::Step> gaps;
    std::size_t b = 0, l = 0;
    while (b < best.size() || l < snapshot.bounds.size()) {
        const bool by_best = l == snapshot.bounds.size() ||
                             (b < best.size() && best[b].time_s <= snapshot.bounds[l].time_s);
        const double time_s = by_best ? best[b].time_s : snapshot.bounds[l].time_s;
        ++(by_best ? b : l);
        if (b > 0 && l > 0 && best[b - 1].value > 0) {
            const double open = 1 - snapshot.bounds[l - 1].value / best[b - 1].value;
            gaps.push_back({time_s, 100 * std::clamp(open, 0.0, 1.0)});
        }
    }
    return gaps;
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
    return columns.row(
        {{duration(found.time_s), {}},
         {quantity(found.value, snapshot.run.unit), newest ? style::best : style::text},
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
    const std::vector<telemetry::Step> gaps = gap_history(snapshot);
    const int gap_height = plot >= 12 && gaps.size() > 1 ? plot / 3 : 0;
    draw_steps(canvas.part({0, 0, canvas.width(), plot - gap_height}), curves);
    if (gap_height > 0) {
        Canvas gap = canvas.part({0, plot - gap_height, canvas.width(), gap_height});
        draw_steps(gap, {{{gaps, style::bound, false, U'%'}}, snapshot.elapsed_s});
        gap.text(0, 1, "gap in %", style::label);
    }
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
