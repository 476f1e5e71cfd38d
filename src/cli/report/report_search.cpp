// How a search went: best and bound over time, the gap between them, and the mappings of a front.
#include <algorithm>
#include <cmath>

#include "base/units.hpp"
#include "io/plot_svg.hpp"
#include "io/row_chart.hpp"
#include "report_sections.hpp"

namespace tessera::cli {

namespace {

using Points = std::vector<std::pair<double, double>>;

Points incumbents(const telemetry::Snapshot& s) {
    Points points;
    for (const telemetry::IncumbentView& one : s.incumbents) {
        points.emplace_back(one.time_s, one.value);
    }
    if (!points.empty() && s.elapsed_s > points.back().first) {
        points.emplace_back(s.elapsed_s, points.back().second);
    }
    return points;
}

Points bounds(const telemetry::Snapshot& s) {
    Points points;
    for (const telemetry::Step& step : s.bounds) {
        points.emplace_back(step.time_s, step.value);
    }
    if (!points.empty() && s.elapsed_s > points.back().first) {
        points.emplace_back(s.elapsed_s, points.back().second);
    }
    return points;
}

/// The value that holds at a time; nothing before the first.
std::optional<double> at(const Points& steps, double time_s) {
    std::optional<double> result;
    for (const auto& [step_s, value] : steps) {
        result = step_s <= time_s ? value : result;
    }
    return result;
}

/// (best - bound) / best wherever one of them changes.
Points gaps(const Points& best, const Points& bound) {
    std::vector<double> times;
    for (const Points* points : {&best, &bound}) {
        for (const auto& [time_s, value] : *points) {
            times.push_back(time_s);
        }
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    Points result;
    for (const double time_s : times) {
        const std::optional<double> b = at(best, time_s), l = at(bound, time_s);
        if (b && l && *b > 0) {
            result.emplace_back(time_s, 100 * std::clamp((*b - *l) / *b, 0.0, 1.0));
        }
    }
    return result;
}

bool wide(const io::Plot& plot) {
    std::vector<double> values;
    for (const io::PlotSeries& series : plot.series) {
        for (const auto& [x, y] : series.points) {
            values.push_back(y);
        }
    }
    return io::suits_log(values);
}

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

}  // namespace

void add_convergence(io::PageSection& section, const std::vector<const ReportRun*>& runs,
                     const std::string& prefix) {
    io::Plot values{"Best and bound", "seconds", "", false, false, {}, 760, 340};
    io::Plot gap{"Gap", "seconds", "percent of the best", false, false, {}, 760, 260};
    io::PageTable table{prefix + "convergence",
                        "Best mappings and bounds over time",
                        {"run", "kind", "seconds", "value", "found by"},
                        {},
                        2,
                        true};
    for (const ReportRun* run : runs) {
        if (!run->snapshot || run->snapshot->incumbents.empty()) {
            continue;
        }
        const telemetry::Snapshot& s = *run->snapshot;
        const std::string of = runs.size() > 1 ? " " + run->label : "";
        const Points best = incumbents(s), bound = bounds(s);
        values.y_label = run->metric.substr(0, run->metric.find(',')) +
                         (s.run.unit.empty() ? "" : " in " + s.run.unit);
        values.series.push_back({"best" + of, best, true, best.size() < 60, true});
        if (!bound.empty()) {
            values.series.push_back({"bound" + of, bound, true, false, true});
        }
        const Points open = gaps(best, bound);
        if (!open.empty()) {
            gap.series.push_back({"gap" + of, open, true, false, true});
        }
        for (const telemetry::IncumbentView& one : s.incumbents) {
            table.rows.push_back({io::page_text(run->label), io::page_text("best"),
                                  io::page_quantity(one.time_s, "s"),
                                  io::page_quantity(one.value, s.run.unit),
                                  io::page_text(one.found_by)});
        }
        for (const telemetry::Step& step : s.bounds) {
            table.rows.push_back({io::page_text(run->label), io::page_text("bound"),
                                  io::page_quantity(step.time_s, "s"),
                                  io::page_quantity(step.value, s.run.unit), io::page_text("")});
        }
    }
    if (values.series.empty()) {
        return;
    }
    values.y_log = wide(values);
    section.drawings.push_back({prefix + "convergence", io::plot_svg(values)});
    if (!gap.series.empty()) {
        section.drawings.push_back({prefix + "gap", io::plot_svg(gap)});
    }
    section.tables.push_back(std::move(table));
}

void add_front(io::PageSection& section, const std::vector<const ReportRun*>& runs,
               const std::string& prefix) {
    const bool any = std::any_of(runs.begin(), runs.end(),
                                 [](const ReportRun* run) { return run->solutions.size() > 1; });
    if (!any) {
        return;
    }
    io::Plot plot{"Energy and latency of the Pareto set", "", "", false, false, {}, 760, 420};
    io::PageTable table{prefix + "front",
                        "Pareto set",
                        {"run", "mapping", "energy", "latency", "energy-delay product"},
                        {},
                        2,
                        false};
    std::vector<double> xs, ys;
    for (const ReportRun* run : runs) {
        const auto axis = [&](const char* what, const char* unit) {
            return std::string(what) + (run->unit(unit).empty() ? "" : " in " + run->unit(unit));
        };
        plot.x_label = axis("latency", "s");
        plot.y_label = axis("energy", "J");
        io::PlotSeries series{runs.size() > 1 ? run->label : "mappings", {}, true, true, true};
        for (std::size_t i = 0; i < run->solutions.size(); ++i) {
            const model::Report& report = run->solutions[i].report;
            series.points.emplace_back(report.latency_s(), report.energy_j());
            xs.push_back(report.latency_s());
            ys.push_back(report.energy_j());
            table.rows.push_back({io::page_text(run->label), io::page_text(std::to_string(i + 1)),
                                  io::page_quantity(report.energy_j(), run->unit("J")),
                                  io::page_quantity(report.latency_s(), run->unit("s")),
                                  io::page_quantity(report.edp_js(), run->unit("J s"))});
        }
        std::sort(series.points.begin(), series.points.end());
        plot.series.push_back(std::move(series));
    }
    plot.x_log = io::suits_log(xs);
    plot.y_log = io::suits_log(ys);
    table.folded = table.rows.size() > 20;
    section.drawings.push_back({prefix + "front", io::plot_svg(plot)});
    section.tables.push_back(std::move(table));
}

void add_funnel(io::PageSection& section, const telemetry::FunnelView& f,
                const std::string& prefix) {
    if (f.generated == 0) {
        return;
    }
    io::PageTable table{prefix + "funnel",
                        "What became of the candidates",
                        {"candidates", "number", "share"},
                        {},
                        1,
                        false};
    io::RowChart chart{"Candidates", "", {"", "could not be best", "not valid", "evaluated"},
                       {},           0,  false};
    // What a bound rules out may never have been generated: it has no share.
    const auto add = [&](const std::string& name, std::uint64_t n, std::size_t style) {
        const bool part = n <= f.generated;
        const auto number = static_cast<double>(n);
        const double of = share(number, static_cast<double>(f.generated));
        table.rows.push_back({io::page_text(name),
                              {std::to_string(n), std::to_string(n)},
                              part ? io::page_percent(of) : io::PageCell{"-", ""}});
        if (part) {
            chart.rows.push_back({name,
                                  {{0, number, style, std::to_string(n)}},
                                  std::to_string(n) + "  " + base::percent(of)});
        }
    };
    add("generated", f.generated, 0);
    for (std::size_t r = 0; r < telemetry::n_reasons; ++r) {
        const auto reason = static_cast<telemetry::Reason>(r);
        if (f.rejected[r] > 0) {
            add(telemetry::name(reason), f.rejected[r], telemetry::is_pruning(reason) ? 1 : 2);
        }
    }
    add("evaluated", f.evaluated, 3);
    section.drawings.push_back({prefix + "funnel", io::row_chart_svg(chart)});
    section.tables.push_back(std::move(table));
}

}  // namespace tessera::cli
