// Comparison: mappers and strategies that run side by side, in one search or in searches of their
// own; a table, and one curve each on common axes.
#include <algorithm>

#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"
#include "step_plot.hpp"

namespace tessera::dashboard {

namespace {

constexpr Ink lanes[] = {Ink::orange, Ink::sky,  Ink::green,     Ink::purple,
                         Ink::yellow, Ink::blue, Ink::vermillion};
constexpr char32_t letters[] = U"abcdefghijklmnopqrstuvwxyz";

Style lane(std::size_t i) {
    return {lanes[i % std::size(lanes)], bold};
}

char32_t letter(std::size_t i) {
    return letters[i % 26];
}

Line contender_line(const Table& columns, const telemetry::ContenderView& contender, std::size_t i,
                    const Symbols& symbols, const std::string& unit) {
    const bool leads = contender.gap && *contender.gap <= 0;
    Span mark{"", lane(i)};
    append_utf8(mark.text, symbols.set == SymbolSet::ascii ? letter(i) : U'\u2501');
    return columns.row(
        {mark,
         {short_name(contender.name), leads ? style::value : style::text},
         {contender.best ? quantity(*contender.best, unit) : "none", style::best},
         {contender.gap ? (leads ? "leads" : percent(*contender.gap)) : "-", {}},
         {count(contender.rate_per_s), {}},
         {contender.time_to_best_s ? quantity(*contender.time_to_best_s, "s") : "-", {}},
         {count(static_cast<double>(contender.improved)), {}},
         {count(static_cast<double>(contender.evaluated)), {}}});
}

Table part_columns(int width) {
    return Table({{"", 1, 0},
                  {"name", 9, 0, true, true},
                  {"best", 9, 0},
                  {"gap", 6, 1},
                  {"per s", 5, 2},
                  {"found at", 9, 3},
                  {"found", 5, 4},
                  {"evals", 5, 5}},
                 width);
}

Table search_columns(int width) {
    return Table({{"", 1, 0},
                  {"", 1, 0},
                  {"search", 9, 0, true, true},
                  {"state", 10, 1, true},
                  {"best", 10, 0},
                  {"gap", 6, 2},
                  {"to bound", 8, 3},
                  {"found at", 9, 4},
                  {"time", 8, 5},
                  {"per s", 5, 6},
                  {"evals", 5, 7}},
                 width);
}

std::string state_of(const telemetry::ContenderView& search) {
    if (!search.ending.empty()) {
        return search.ending;
    }
    return search.state == telemetry::WorkerState::running ? "running" : "waiting";
}

Line search_line(const Table& columns, const telemetry::ContenderView& search, std::size_t i,
                 bool marked, const Symbols& symbols, const std::string& unit) {
    const bool leads = search.gap && *search.gap <= 0;
    Span curve{"", lane(i)};
    append_utf8(curve.text, letter(i));
    Span state = worker_mark(search.state, symbols);
    state.text += " " + state_of(search);
    return columns.row({{marked ? ">" : "", marked ? style::key : Style{}},
                        curve,
                        {short_name(search.name), marked  ? style::focused
                                                  : leads ? style::value
                                                          : style::text},
                        state,
                        {search.best ? quantity(*search.best, unit) : "none", style::best},
                        {search.gap ? (leads ? "leads" : percent(*search.gap)) : "-", {}},
                        {search.bound_gap ? percent(*search.bound_gap) : "-", style::bound},
                        {search.time_to_best_s ? quantity(*search.time_to_best_s, "s") : "-", {}},
                        {search.elapsed_s > 0 ? quantity(search.elapsed_s, "s") : "-", {}},
                        {count(search.rate_per_s), {}},
                        {count(static_cast<double>(search.evaluated)), {}}});
}

/// As many lines as there are searches, but a third of the height remains for the plot.
int plot_height(int height, int searches) {
    if (height < 10) {
        return 0;
    }
    return std::max(height - searches - 1, height / 3);
}

Curves curves_of(const Snapshot& snapshot) {
    Curves curves;
    curves.end_s = snapshot.elapsed_s;
    if (snapshot.compares) {  // each has a time of its own, and its first mapping is no news
        curves.most_times = 30;
        curves.end_s = 0;
        for (const telemetry::ContenderView& search : snapshot.comparison) {
            curves.end_s = std::max(curves.end_s, search.elapsed_s);
        }
    }
    for (std::size_t i = 0; i < snapshot.comparison.size(); ++i) {
        curves.series.push_back({snapshot.comparison[i].history, lane(i), false, letter(i),
                                 snapshot.compares ? letter(i) : U'\0'});
    }
    return curves;
}

int draw_searches(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const MarkedSearch which = marked_search(snapshot, view);
    const int n = static_cast<int>(which.shown.size());
    const int plot = plot_height(canvas.height(), n);
    if (plot > 0) {
        draw_steps(canvas.part({0, 0, canvas.width(), plot}), curves_of(snapshot));
    }
    Canvas below = canvas.part({0, plot, canvas.width(), canvas.height() - plot});
    const Table columns = search_columns(below.width());
    draw_line(below, 0, 0, columns.header());
    const int height = below.height() - 1;
    const int mark = std::clamp(view.scroll_of(Panel::comparison), 0, std::max(0, n - 1));
    const auto line = [&](int k) {
        const std::size_t i = which.shown[static_cast<std::size_t>(k)];
        return search_line(columns, snapshot.comparison[i], i, which.marked == i, canvas.symbols(),
                           snapshot.run.unit);
    };
    draw_list(below.part({0, 1, below.width(), height}), {n, line}, mark - height / 2, "");
    return std::max(0, n - 1);
}

}  // namespace

MarkedSearch marked_search(const Snapshot& snapshot, const View& view) {
    MarkedSearch result;
    for (std::size_t i = 0; snapshot.compares && i < snapshot.comparison.size(); ++i) {
        if (contains(snapshot.comparison[i].name, view.filter)) {
            result.shown.push_back(i);
        }
    }
    if (!result.shown.empty()) {
        const int last = static_cast<int>(result.shown.size()) - 1;
        result.marked = result.shown[static_cast<std::size_t>(
            std::clamp(view.scroll_of(Panel::comparison), 0, last))];
    }
    return result;
}

int draw_comparison(Canvas canvas, const Snapshot& snapshot, const View& view) {
    if (snapshot.compares) {
        return draw_searches(canvas, snapshot, view);
    }
    const int height = canvas.height();
    const int contenders = static_cast<int>(snapshot.comparison.size());
    const int plot = height >= contenders + 6 ? height - contenders - 1
                     : height >= 10           ? height / 2
                                              : 0;
    if (plot > 0) {
        draw_steps(canvas.part({0, 0, canvas.width(), plot}), curves_of(snapshot));
    }
    Canvas below = canvas.part({0, plot, canvas.width(), height - plot});
    const Table columns = part_columns(below.width());
    draw_line(below, 0, 0, columns.header());
    std::vector<Line> lines;
    for (std::size_t i = 0; i < snapshot.comparison.size(); ++i) {
        lines.push_back(contender_line(columns, snapshot.comparison[i], i, canvas.symbols(),
                                       snapshot.run.unit));
    }
    if (lines.empty()) {
        below.text(0, 1, "nobody has started yet", style::label);
    }
    return draw_lines(below.part({0, 1, below.width(), below.height() - 1}), lines,
                      view.scroll_of(Panel::comparison), view.filter);
}

}  // namespace tessera::dashboard
