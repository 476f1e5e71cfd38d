// Several runs side by side: totals with their ratio to the first, energy and time as stacked bars,
// convergence and fronts in one plot each.
#include <algorithm>
#include <map>

#include "base/units.hpp"
#include "io/row_chart.hpp"
#include "report_sections.hpp"

namespace tessera::cli {

namespace {

using Value = double (*)(const ReportRun&);

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

io::PageTable totals(const std::vector<ReportRun>& runs) {
    io::PageTable table{"compare-totals",
                        "Totals; in brackets: times that of the first",
                        {"quantity"},
                        {},
                        1,
                        false};
    for (const ReportRun& run : runs) {
        table.columns.push_back(run.label);
    }
    const auto add = [&](const std::string& name, const char* unit, Value value) {
        table.rows.push_back({io::page_text(name)});
        for (const ReportRun& run : runs) {
            io::PageCell cell = io::page_quantity(value(run), run.unit(unit));
            if (&run != &runs.front() && value(runs.front()) > 0) {
                cell.text += " (" + base::number(value(run) / value(runs.front())) + ")";
            }
            table.rows.back().push_back(std::move(cell));
        }
    };
    add("energy", "J", [](const ReportRun& r) { return r.description.summary.energy_j; });
    add("latency", "s", [](const ReportRun& r) { return r.description.summary.latency_s; });
    add("energy-delay product", "J s", [](const ReportRun& r) {
        return r.description.summary.energy_j * r.description.summary.latency_s;
    });
    add("words moved at the outermost memory", "",
        [](const ReportRun& r) { return r.description.summary.traffic_words.value_or(0); });
    add("energy per compute", "J", [](const ReportRun& r) {
        return share(r.description.summary.energy_j, r.description.summary.computes);
    });
    add("words that fusion keeps from the outermost memory", "",
        [](const ReportRun& r) { return r.description.fusion.words; });
    table.rows.push_back({io::page_text("computes in use")});
    for (const ReportRun& run : runs) {
        table.rows.back().push_back(io::page_percent(run.description.summary.compute_use));
    }
    table.rows.push_back({io::page_text("status")});
    for (const ReportRun& run : runs) {
        table.rows.back().push_back(io::page_text(run.status == "optimal" ? "optimal"
                                                  : run.gap ? "within " + base::percent(*run.gap)
                                                            : "no bound"));
    }
    return table;
}

std::vector<std::string> component_names(const std::vector<ReportRun>& runs, Value of_run,
                                         double io::ComponentSummary::*field) {
    std::map<std::string, double> most;
    for (const ReportRun& run : runs) {
        for (const io::ComponentSummary& c : run.description.summary.components) {
            most[c.name] = std::max(most[c.name], share(c.*field, of_run(run)));
        }
    }
    std::vector<std::string> names;
    for (const auto& [name, part] : most) {
        if (part > 0) {
            names.push_back(name);
        }
    }
    std::stable_sort(names.begin(), names.end(),
                     [&](const auto& a, const auto& b) { return most[a] > most[b]; });
    return names;
}

/// A bar for each run, a segment for each component; the eighth stands for all others.
io::RowChart stack(const std::vector<ReportRun>& runs, const std::string& title, const char* unit,
                   Value of_run, double io::ComponentSummary::*field, io::PageTable& table) {
    constexpr std::size_t most = 8;
    const std::vector<std::string> names = component_names(runs, of_run, field);
    io::RowChart chart{title, runs.front().unit(unit), names, {}, 0, false};
    if (names.size() > most) {
        chart.legend.resize(most - 1);
        chart.legend.emplace_back("others");
    }
    table.columns = {"component"};
    for (const std::string& name : names) {
        table.rows.push_back({io::page_text(name)});
    }
    for (const ReportRun& run : runs) {
        std::vector<double> values(chart.legend.size());
        for (std::size_t n = 0; n < names.size(); ++n) {
            double value = 0;
            for (const io::ComponentSummary& c : run.description.summary.components) {
                value += c.name == names[n] ? c.*field : 0;
            }
            values[std::min(n, values.size() - 1)] += value;
            table.rows[n].push_back(io::page_quantity(value, run.unit(unit)));
        }
        std::vector<std::string> texts;
        for (std::size_t v = 0; v < values.size(); ++v) {
            texts.push_back(chart.legend[v] + " " + base::quantity(values[v], run.unit(unit)));
        }
        chart.rows.push_back(
            {run.label, io::stacked(values, texts), base::quantity(of_run(run), run.unit(unit))});
        table.columns.push_back(run.label);
    }
    return chart;
}

}  // namespace

void add_comparison(io::Page& page, const std::vector<ReportRun>& runs) {
    io::PageSection section{"Side by side", 2, {}, {}, {totals(runs)}, "", ""};
    io::PageTable energy{"compare-energy", "Energy by component", {}, {}, 1, false};
    io::PageTable time{"compare-time", "Time by the component that limits it", {}, {}, 1, false};
    section.drawings.push_back(
        {"compare-energy", io::row_chart_svg(stack(
                               runs, "Energy by component", "J",
                               [](const ReportRun& r) { return r.description.summary.energy_j; },
                               &io::ComponentSummary::energy_j, energy))});
    section.drawings.push_back(
        {"compare-time", io::row_chart_svg(stack(
                             runs, "Time by the component that limits it", "s",
                             [](const ReportRun& r) { return r.description.summary.latency_s; },
                             &io::ComponentSummary::limits_s, time))});
    section.tables.push_back(std::move(energy));
    section.tables.push_back(std::move(time));
    std::vector<const ReportRun*> all;
    for (const ReportRun& run : runs) {
        all.push_back(&run);
    }
    add_front(section, all, "compare-");
    const bool same = std::all_of(runs.begin(), runs.end(), [&](const ReportRun& run) {
        return run.metric == runs.front().metric && run.metric.find(',') == std::string::npos;
    });
    if (same) {
        add_convergence(section, all, "compare-");
    }
    page.sections.push_back(std::move(section));
}

}  // namespace tessera::cli
