#include "step_plot.hpp"

#include <algorithm>
#include <cmath>

#include "dashboard/numbers.hpp"
#include "plot.hpp"

namespace tessera::dashboard {

namespace {

struct Limits {
    double low = INFINITY, high = -INFINITY, first_s = INFINITY;
    double least_positive = INFINITY;
};

// Values of one curve may be far away at first (a dirty incumbent): the axis is logarithmic then. A
// bound of 0, where nothing is proven yet, is no value on it: it lies on the floor.
Limits limits(const Curves& curves) {
    Limits result;
    for (const Curve& curve : curves.series) {
        for (const telemetry::Step& step : curve.steps) {
            if (std::isfinite(step.value)) {
                result.low = std::min(result.low, step.value);
                result.high = std::max(result.high, step.value);
                if (step.value > 0) {
                    result.least_positive = std::min(result.least_positive, step.value);
                }
                result.first_s = std::min(result.first_s, step.time_s);
            }
        }
    }
    if (curves.most_times > 0 && result.least_positive > 0) {
        result.high = std::min(result.high, curves.most_times * result.least_positive);
    }
    return result;
}

void draw_curve(Plot& plot, const Curve& curve, const Scale& time, const Scale& value,
                double end_s) {
    int y_before = -1;
    for (std::size_t i = 0; i < curve.steps.size(); ++i) {
        if (!std::isfinite(curve.steps[i].value)) {
            continue;
        }
        const int y = value(curve.steps[i].value);
        const int from = time(curve.steps[i].time_s);
        const int to = time(i + 1 < curve.steps.size() ? curve.steps[i + 1].time_s : end_s);
        if (y_before >= 0 && !curve.dotted) {
            plot.vertical(from, y_before, y, curve.style, curve.ascii);
        }
        for (int x = from; x <= to; x += curve.dotted ? 2 : 1) {
            plot.dot(x, y, curve.style, curve.ascii);
        }
        y_before = y;
    }
}

}  // namespace

void draw_steps(Canvas canvas, const Curves& curves) {
    const Limits range = limits(curves);
    if (!std::isfinite(range.low)) {
        canvas.text(1, canvas.height() / 2, "nothing found yet", style::label);
        return;
    }
    const bool axes = canvas.width() >= 24 && canvas.height() >= 4;
    const int left = axes ? 9 : 0, bottom = axes ? 1 : 0;
    Plot plot(canvas.part({left, 0, canvas.width() - left, canvas.height() - bottom}));
    const double end_s = std::max(curves.end_s, range.first_s);
    const bool log_value = range.low >= 0 && range.high > 10 * range.least_positive;
    const double low = log_value ? range.least_positive : range.low;
    const double first_s = std::max(range.first_s, end_s * 1e-4);
    const Scale time(first_s, end_s, plot.width(), true);
    const Scale value(low, range.high, plot.height(), log_value);
    for (const Curve& curve : curves.series) {
        draw_curve(plot, curve, time, value, end_s);
    }
    plot.draw();
    for (const Curve& curve : curves.series) {
        if (curve.label != 0 && !curve.steps.empty() && std::isfinite(curve.steps.back().value)) {
            const telemetry::Step& last = curve.steps.back();
            plot.mark(time(last.time_s), value(last.value), curve.label, curve.style);
        }
    }
    if (!axes) {
        return;
    }
    const int floor = canvas.height() - bottom - 1;
    canvas.text(0, 0, short_number(value.high()), style::label);
    canvas.text(0, floor, short_number(value.low()), style::label);
    canvas.text(left, floor + 1, quantity(std::max(range.first_s, 0.0), "s"), style::label);
    canvas.text_right(canvas.width(), floor + 1, duration(end_s), style::label);
    if (canvas.width() >= 44) {
        canvas.text(left + (canvas.width() - left) / 2 - 4, floor + 1, "log time", style::label);
    }
}

}  // namespace tessera::dashboard
