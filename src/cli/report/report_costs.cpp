// Where the energy and the time of one run go: bars, roofline, tables.
#include <algorithm>
#include <limits>
#include <map>

#include "base/units.hpp"
#include "io/plot_svg.hpp"
#include "io/row_chart.hpp"
#include "report_sections.hpp"

namespace tessera::cli {

namespace {

using io::PageSection;
using io::PageTable;

constexpr std::size_t most_bars = 32, most_named = 7;

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

/// Components by energy, the largest first; what comes after the seventh is one.
class Parts {
public:
    explicit Parts(const io::Summary& summary) {
        std::vector<io::ComponentSummary> all = summary.components;
        std::stable_sort(all.begin(), all.end(),
                         [](const auto& a, const auto& b) { return a.energy_j > b.energy_j; });
        for (const io::ComponentSummary& c : all) {
            const bool own = names_.size() < most_named;
            if (c.energy_j > 0) {
                index_[c.name] = own ? names_.size() : most_named;
                if (own) {
                    names_.push_back(c.name);
                } else {
                    others_ = true;
                }
            }
        }
        if (others_) {
            names_.emplace_back("others");
        }
    }
    const std::vector<std::string>& names() const {
        return names_;
    }
    std::vector<double> of(const model::EinsumReport& einsum) const {
        std::vector<double> values(names_.size());
        for (const model::ComponentReport& component : einsum.components) {
            if (const auto at = index_.find(component.component); at != index_.end()) {
                values[at->second] += component_energy_j(component);
            }
        }
        return values;
    }

private:
    std::vector<std::string> names_;
    std::map<std::string, std::size_t> index_;
    bool others_ = false;
};

/// The Einsums with most of a value, in their order.
template <class Value>
std::vector<std::size_t> most(const std::vector<model::EinsumReport>& einsums, Value value) {
    std::vector<std::size_t> order(einsums.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return value(einsums[a]) > value(einsums[b]);
    });
    order.resize(std::min(order.size(), most_bars));
    std::sort(order.begin(), order.end());
    return order;
}

/// Each component that limits some Einsum has a style.
std::vector<std::string> limiting(const io::Summary& summary) {
    std::vector<std::string> names;
    for (const io::EinsumSummary& e : summary.einsums) {
        if (!e.limit.empty() && std::find(names.begin(), names.end(), e.limit) == names.end()) {
            names.push_back(e.limit);
        }
    }
    return names;
}

std::size_t style_of(const std::vector<std::string>& names, const std::string& name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

/// The roofs of one compute: the highest of all its Einsums.
struct Roof {
    double peak = 0, bytes_per_s = 0;
};

std::string compute_of(const model::EinsumReport& einsum) {
    for (const model::ComponentReport& component : einsum.components) {
        if (!component.compute_actions.empty()) {
            return component.component;
        }
    }
    return "";
}

io::Plot roofline_plot(const ReportRun& run, const std::map<std::string, Roof>& roofs,
                       PageTable& table) {
    const std::string byte = "computes per byte of " + run.description.summary.outermost;
    io::Plot plot{"Roofline at " + run.description.summary.outermost,
                  byte,
                  "computes per second",
                  true,
                  true,
                  {},
                  760,
                  420};
    double low = std::numeric_limits<double>::infinity(), high = 0;
    std::map<std::string, io::PlotSeries> points;
    for (std::size_t i = 0; i < run.description.summary.einsums.size(); ++i) {
        const io::EinsumSummary& e = run.description.summary.einsums[i];
        const double bytes = e.traffic_bits.value_or(0) / 8;
        if (bytes <= 0 || e.computes <= 0 || e.latency_s <= 0) {
            continue;
        }
        const double x = e.computes / bytes, y = e.computes / e.latency_s;
        const double memory = e.memory_bits_per_s / 8;
        const double roof =
            memory > 0 ? std::min(e.peak_computes_per_s, x * memory) : e.peak_computes_per_s;
        io::PlotSeries& series = points[e.limit];
        series.name = "limited by " + e.limit;
        series.line = false;
        series.points.emplace_back(x, y);
        low = std::min(low, x);
        high = std::max(high, x);
        table.rows.push_back({io::page_text(e.name), io::page_text(e.limit), io::page_plain(x),
                              io::page_plain(y), io::page_plain(roof),
                              io::page_percent(share(y, roof))});
    }
    for (const auto& [compute, roof] : roofs) {
        const double ridge = roof.bytes_per_s > 0 ? roof.peak / roof.bytes_per_s : 0;
        const double from = std::min(low, ridge > 0 ? ridge : low) / 4,
                     to = std::max(high, ridge) * 4;
        io::PlotSeries line{"roof of " + compute, {}, true, false};
        if (ridge > 0) {
            line.points = {{from, from * roof.bytes_per_s}, {ridge, roof.peak}};
        } else {
            line.points = {{from, roof.peak}};
        }
        line.points.emplace_back(to, roof.peak);
        plot.series.push_back(std::move(line));
    }
    for (auto& [limit, series] : points) {
        plot.series.push_back(std::move(series));
    }
    return plot;
}

}  // namespace

double component_energy_j(const model::ComponentReport& component) {
    double result = component.leak_j;
    for (const auto& [action, energy_j] : component.compute_energy_j) {
        result += energy_j;
    }
    for (const model::TensorReport& tensor : component.tensors) {
        for (const auto& [action, energy_j] : tensor.energy_j) {
            result += energy_j;
        }
    }
    return result;
}

void add_energy(io::Page& page, const ReportRun& run, int level, const std::string& prefix) {
    PageSection section{"Energy", level, {}, {}, {}, "", ""};
    const std::vector<model::EinsumReport>& einsums = run.report().einsums;
    const Parts parts(run.description.summary);
    io::RowChart chart{
        "Energy of each Einsum by component", run.unit("J"), parts.names(), {}, 0, false};
    const auto all = most(einsums, [](const auto& e) { return e.energy_j(); });
    for (const std::size_t i : all) {
        const std::vector<double> values = parts.of(einsums[i]);
        std::vector<std::string> texts;
        for (std::size_t p = 0; p < values.size(); ++p) {
            texts.push_back(parts.names()[p] + " " + base::quantity(values[p], run.unit("J")));
        }
        chart.rows.push_back(
            {einsums[i].einsum, io::stacked(values, texts),
             base::quantity(einsums[i].energy_j(), run.unit("J")) + "  " +
                 base::percent(share(einsums[i].energy_j(), run.description.summary.energy_j))});
    }
    if (all.size() < einsums.size()) {
        section.texts.push_back("The " + std::to_string(all.size()) +
                                " Einsums that spend most are drawn; the table has all.");
    }
    section.drawings.push_back({prefix + "energy", io::row_chart_svg(chart)});
    PageTable components{prefix + "energy-components",
                         "By component",
                         {"component", "energy", "share", "leakage of it"},
                         {},
                         1,
                         false};
    for (const io::ComponentSummary& c : run.description.summary.components) {
        components.rows.push_back(
            {io::page_text(c.name), io::page_quantity(c.energy_j, run.unit("J")),
             io::page_percent(share(c.energy_j, run.description.summary.energy_j)),
             io::page_quantity(c.leak_j, run.unit("J"))});
    }
    PageTable table{prefix + "energy-einsums", "By Einsum and component", {"Einsum"}, {}, 1, true};
    table.columns.insert(table.columns.end(), parts.names().begin(), parts.names().end());
    table.columns.emplace_back("all");
    for (const model::EinsumReport& einsum : einsums) {
        table.rows.push_back({io::page_text(einsum.einsum)});
        for (const double value : parts.of(einsum)) {
            table.rows.back().push_back(io::page_quantity(value, run.unit("J")));
        }
        table.rows.back().push_back(io::page_quantity(einsum.energy_j(), run.unit("J")));
    }
    PageTable traffic{prefix + "traffic",
                      "Traffic of each tensor at each level (actions)",
                      {"component", "tensor", "reads", "writes", "hops", "energy"},
                      {},
                      2,
                      true};
    for (const io::TrafficSummary& t : run.description.summary.traffic) {
        traffic.rows.push_back({io::page_text(t.component), io::page_text(t.tensor),
                                io::page_plain(t.reads), io::page_plain(t.writes),
                                io::page_plain(t.hops),
                                io::page_quantity(t.energy_j, run.unit("J"))});
    }
    section.tables = {std::move(components), std::move(table), std::move(traffic)};
    page.sections.push_back(std::move(section));
}

void add_time(io::Page& page, const ReportRun& run, int level, const std::string& prefix) {
    PageSection section{"Time", level, {}, {}, {}, "", ""};
    const std::vector<std::string> names = limiting(run.description.summary);
    io::RowChart chart{
        "Latency of each Einsum and what limits it", run.unit("s"), names, {}, 0, false};
    PageTable table{
        prefix + "time-einsums",
        "By Einsum",
        {"Einsum", "limited by", "latency", "share", "computes in use", "busy: components"},
        {},
        2,
        false};
    const auto shown = most(run.report().einsums, [](const auto& e) { return e.latency_s; });
    for (std::size_t i = 0; i < run.description.summary.einsums.size(); ++i) {
        const io::EinsumSummary& e = run.description.summary.einsums[i];
        const std::string latency = base::quantity(e.latency_s, run.unit("s"));
        if (std::binary_search(shown.begin(), shown.end(), i)) {
            chart.rows.push_back(
                {e.name,
                 {{0, e.latency_s, style_of(names, e.limit), e.limit + " " + latency}},
                 latency + "  " +
                     base::percent(share(e.latency_s, run.description.summary.latency_s))});
        }
        std::string busy;
        for (const model::ComponentReport& c : run.report().einsums[i].components) {
            if (c.has_latency && c.latency_s > 0) {
                busy += (busy.empty() ? "" : ", ") + c.component + " " +
                        base::percent(share(c.latency_s, e.latency_s));
            }
        }
        table.rows.push_back(
            {io::page_text(e.name), io::page_text(e.limit.empty() ? "-" : e.limit),
             io::page_quantity(e.latency_s, run.unit("s")),
             io::page_percent(share(e.latency_s, run.description.summary.latency_s)),
             io::page_percent(e.compute_use), io::page_text(busy)});
    }
    PageTable dims{prefix + "spatial",
                   "Spatial dimensions: instances in use, averaged over the time",
                   {"dimension", "instances", "in use"},
                   {},
                   1,
                   false};
    for (const io::ComponentSummary& c : run.description.summary.components) {
        for (const io::DimSummary& dim : c.dims) {
            dims.rows.push_back({io::page_text(c.name + "." + dim.name), io::page_plain(dim.fanout),
                                 io::page_percent(dim.use)});
        }
    }
    section.drawings.push_back({prefix + "time", io::row_chart_svg(chart)});
    section.tables.push_back(std::move(table));
    if (!dims.rows.empty()) {
        section.tables.push_back(std::move(dims));
    }
    page.sections.push_back(std::move(section));
}

void add_roofline(io::Page& page, const ReportRun& run, int level, const std::string& prefix) {
    PageSection section{"Roofline", level, {}, {}, {}, "", ""};
    std::map<std::string, Roof> roofs;
    std::string without;
    for (std::size_t i = 0; i < run.description.summary.einsums.size(); ++i) {
        const io::EinsumSummary& e = run.description.summary.einsums[i];
        if (e.traffic_bits.value_or(0) > 0 && e.computes > 0 && e.peak_computes_per_s > 0) {
            Roof& roof = roofs[compute_of(run.report().einsums[i])];
            roof.peak = std::max(roof.peak, e.peak_computes_per_s);
            roof.bytes_per_s = std::max(roof.bytes_per_s, e.memory_bits_per_s / 8);
        } else if (without.size() < 300) {
            without += (without.empty() ? "" : ", ") + e.name;
        }
    }
    if (roofs.empty()) {
        return;
    }
    section.texts.emplace_back(
        "The flat roof: all computes at work. The slope: what the memory moves while it is busy. A "
        "point on the slope waits for the memory, one on the flat roof for the computes; one below "
        "both for something between, or it leaves computes idle.");
    if (!without.empty()) {
        section.texts.push_back(
            "Without a point, as they move nothing there or compute nothing: " + without + ".");
    }
    PageTable table{prefix + "roofline",
                    "Points",
                    {"Einsum", "limited by", "computes per byte", "computes per second",
                     "lower roof", "of the roof"},
                    {},
                    2,
                    run.description.summary.einsums.size() > 12};
    const io::Plot plot = roofline_plot(run, roofs, table);
    section.drawings.push_back({prefix + "roofline", io::plot_svg(plot)});
    section.tables.push_back(std::move(table));
    page.sections.push_back(std::move(section));
}

}  // namespace tessera::cli
