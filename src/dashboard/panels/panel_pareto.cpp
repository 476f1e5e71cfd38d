// Pareto: the front in energy and latency, both logarithmic if they span a lot; then its points.
#include <algorithm>
#include <cmath>

#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"
#include "plot.hpp"

namespace tessera::dashboard {

namespace {

struct Limits {
    double low = INFINITY, high = -INFINITY;

    void take(double value) {
        if (std::isfinite(value)) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
    }
    bool logarithmic() const {
        return low > 0 && high > 10 * low;
    }
};

void scatter(Canvas canvas, const Snapshot& snapshot) {
    const CostNames names = cost_names(snapshot);
    Limits energy, latency;
    for (const telemetry::PointView& point : snapshot.front) {
        energy.take(point.energy_j);
        latency.take(point.latency_s);
    }
    for (const telemetry::IncumbentView& found : snapshot.incumbents) {
        energy.take(found.energy_j);
        latency.take(found.latency_s);
    }
    if (!std::isfinite(energy.low) || !std::isfinite(latency.low)) {
        canvas.text(1, canvas.height() / 2, "nothing found yet", style::label);
        return;
    }
    const bool axes = canvas.width() >= 30 && canvas.height() >= 4;
    const int left = axes ? 10 : 0, bottom = axes ? 1 : 0;
    Plot plot(canvas.part({left, 0, canvas.width() - left, canvas.height() - bottom}));
    const Scale x(latency.low, latency.high, plot.width(), latency.logarithmic());
    const Scale y(energy.low, energy.high, plot.height(), energy.logarithmic());
    for (const telemetry::IncumbentView& found : snapshot.incumbents) {
        plot.dot(x(found.latency_s), y(found.energy_j), style::label, U'.');
    }
    const bool marks = snapshot.front.size() <= 64;
    for (const telemetry::PointView& point : snapshot.front) {
        plot.dot(x(point.latency_s), y(point.energy_j), style::best, U'*');
    }
    plot.draw();
    for (std::size_t i = 0; marks && i < snapshot.front.size(); ++i) {
        const telemetry::PointView& point = snapshot.front[i];
        plot.mark(x(point.latency_s), y(point.energy_j), canvas.symbols().improved, style::best);
    }
    if (!axes) {
        return;
    }
    const int floor = canvas.height() - 2;
    canvas.text(0, 0, pad_left(quantity(y.high(), names.first_unit), 9), style::label);
    canvas.text(0, floor, pad_left(quantity(y.low(), names.first_unit), 9), style::label);
    if (floor >= 2) {
        canvas.text(0, floor / 2, pad_left(names.first, 9), style::label);
    }
    canvas.text(left, floor + 1, quantity(x.low(), names.second_unit), style::label);
    canvas.text_right(canvas.width(), floor + 1, quantity(x.high(), names.second_unit),
                      style::label);
    if (canvas.width() >= 44) {
        canvas.text(left + (canvas.width() - left) / 2 - 4, floor + 1, names.second, style::label);
    }
}

}  // namespace

int draw_pareto(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const CostNames names = cost_names(snapshot);
    const bool product = names.first == "energy" && names.second == "latency";
    const std::string edp_unit = snapshot.run.unit.empty() ? "" : "J s";
    const int height = canvas.height();
    const int plot = height < 8 ? height : height * 3 / 5;
    scatter(canvas.part({0, 0, canvas.width(), plot}), snapshot);
    if (plot == height) {
        return 0;
    }
    Canvas below = canvas.part({0, plot, canvas.width(), height - plot});
    const Table columns(
        {{"point", 5, 3}, {names.first, 9, 0}, {names.second, 9, 1}, {product ? "EDP" : "", 13, 2}},
        below.width());
    draw_line(below, 0, 0, columns.header());
    const auto line = [&](int i) {
        const telemetry::PointView& point = snapshot.front[static_cast<std::size_t>(i)];
        return columns.row(
            {{std::to_string(i + 1), style::label},
             {quantity(point.energy_j, names.first_unit), {}},
             {quantity(point.latency_s, names.second_unit), {}},
             {product ? quantity(point.energy_j * point.latency_s, edp_unit) : "", {}}});
    };
    return draw_list(below.part({0, 1, below.width(), below.height() - 1}),
                     {static_cast<int>(snapshot.front.size()), line}, view.scroll_of(Panel::pareto),
                     view.filter);
}

}  // namespace tessera::dashboard
