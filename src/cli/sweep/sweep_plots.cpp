#include "sweep_plots.hpp"

#include <algorithm>

#include "io/plot_svg.hpp"
#include "tessera/mapper/metric.hpp"

namespace tessera::cli {

namespace {

using Place = std::pair<double, double>;

// A drawing with more points is slow to open and no clearer.
constexpr std::size_t most_points = 20'000;

std::vector<Place> places(const SweepResult& result, const std::string& x, const std::string& y,
                          const std::vector<std::size_t>& points) {
    std::vector<Place> found;
    for (const std::size_t i : points) {
        const auto at_x = column(result.plan, result.outcomes[i], i, x);
        const auto at_y = column(result.plan, result.outcomes[i], i, y);
        if (result.outcomes[i].edp_js && at_x && at_y) {
            found.emplace_back(*at_x, *at_y);
        }
    }
    return found;
}

std::vector<std::size_t> some_points(const SweepResult& result) {
    std::vector<std::size_t> points;
    const std::size_t step = result.outcomes.size() / most_points + 1;
    for (std::size_t i = 0; i < result.outcomes.size(); i += step) {
        points.push_back(i);
    }
    return points;
}

void choose_scales(io::Plot& plot) {
    std::vector<double> xs, ys;
    for (const io::PlotSeries& series : plot.series) {
        for (const auto& [x, y] : series.points) {
            xs.push_back(x);
            ys.push_back(y);
        }
    }
    plot.x_log = io::suits_log(xs);
    plot.y_log = io::suits_log(ys);
}

/// The least y of each x, ascending.
std::vector<Place> lower_hull(std::vector<Place> all) {
    std::sort(all.begin(), all.end());
    const auto same = [](const Place& a, const Place& b) { return a.first == b.first; };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    return all;
}

std::string title(const SweepPlan& plan) {
    return plan.workload + " on " + plan.architecture;
}

}  // namespace

std::map<std::string, std::string> sweep_plots(const SweepResult& result,
                                               const std::vector<std::size_t>& front) {
    const SweepPlan& plan = result.plan;
    const std::vector<std::size_t> some = some_points(result);
    std::map<std::string, std::string> files;
    io::Plot pareto{title(plan), plan.x, plan.y, false, false, {}};
    pareto.series.push_back(
        {"points", places(result, plan.x, plan.y, some), false, true, false, true});
    pareto.series.push_back(
        {"Pareto front", places(result, plan.x, plan.y, front), true, true, true});
    choose_scales(pareto);
    files["pareto.svg"] = io::plot_svg(pareto);
    const mapper::MetricFacts* const metric = mapper::find_metric(plan.metric);
    const std::string value = metric != nullptr ? metric->key : "edp_js";
    for (std::size_t a = 0; a < plan.space.axes.size(); ++a) {
        const std::string& name = plan.space.axes[a].name;
        const std::vector<Place> all = places(result, name, value, some);
        if (all.empty()) {
            continue;
        }
        io::Plot plot{title(plan), name, value, false, false, {}};
        plot.series.push_back({"points", all, false, true, false, true});
        plot.series.push_back({"best of each", lower_hull(all)});
        choose_scales(plot);
        files["axis-" + std::to_string(a + 1) + ".svg"] = io::plot_svg(plot);
    }
    return files;
}

}  // namespace tessera::cli
