// Costs: where the energy and the time of the best mapping go, by component and by Einsum, and what
// limits each. The largest share first.
#include <algorithm>

#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"

namespace tessera::dashboard {

namespace {

std::string share(double part, double whole) {
    return whole > 0 ? percent(part / whole) : "-";
}

std::string joules(const Snapshot& snapshot, double energy_j) {
    return energy_j == 0 ? "0" : quantity(energy_j, snapshot.run.unit.empty() ? "" : "J");
}

std::string seconds(const Snapshot& snapshot, double latency_s) {
    return latency_s == 0 ? "0" : quantity(latency_s, snapshot.run.unit.empty() ? "" : "s");
}

template <class T>
std::vector<T> by_energy(std::vector<T> all) {
    std::stable_sort(all.begin(), all.end(),
                     [](const T& a, const T& b) { return a.energy_j > b.energy_j; });
    return all;
}

void add_components(std::vector<Line>& lines, const Snapshot& snapshot, int width) {
    const telemetry::MappingView& best = snapshot.mapping;
    const Table table({{"component", 10, 0, true, true},
                       {"energy", 9, 2},
                       {"share", 6, 0},
                       {"limits", 6, 1},
                       {"full", 6, 3}},
                      width);
    lines.push_back(table.header());
    for (const telemetry::ComponentCostView& one : by_energy(best.components)) {
        lines.push_back(table.row(
            {{one.name, style::text},
             {joules(snapshot, one.energy_j), {}},
             {share(one.energy_j, best.energy_j), style::best},
             {one.limits_s > 0 ? share(one.limits_s, best.latency_s) : "", style::warning},
             {one.occupancy ? percent(*one.occupancy) : "", {}}}));
    }
}

void add_einsums(std::vector<Line>& lines, const Snapshot& snapshot, int width) {
    const telemetry::MappingView& best = snapshot.mapping;
    const Table table({{"Einsum", 8, 0, true, true},
                       {"energy", 9, 4},
                       {"share", 6, 0},
                       {"latency", 9, 5},
                       {"of time", 7, 1},
                       {"limit", 10, 2, true},
                       {"compute", 7, 3}},
                      width);
    lines.push_back(table.header());
    for (const telemetry::EinsumCostView& one : by_energy(best.einsums)) {
        lines.push_back(table.row({{one.name, style::text},
                                   {joules(snapshot, one.energy_j), {}},
                                   {share(one.energy_j, best.energy_j), style::best},
                                   {seconds(snapshot, one.latency_s), {}},
                                   {share(one.latency_s, best.latency_s), style::best},
                                   {one.limit, style::warning},
                                   {percent(one.compute_use), {}}}));
    }
}

}  // namespace

int draw_costs(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const telemetry::MappingView& best = snapshot.mapping;
    if (best.components.empty()) {
        canvas.text(0, 0, snapshot.best ? "not told" : "nothing found yet", style::label);
        return 0;
    }
    std::vector<Line> lines = {{{"computes ", style::label},
                                {percent(best.compute_use), style::value},
                                {" in use, ", style::label},
                                {joules(snapshot, best.energy_j), style::value},
                                {", ", style::label},
                                {seconds(snapshot, best.latency_s), style::value}}};
    add_components(lines, snapshot, canvas.width());
    add_einsums(lines, snapshot, canvas.width());
    return draw_lines(canvas, lines, view.scroll_of(Panel::costs), view.filter);
}

}  // namespace tessera::dashboard
