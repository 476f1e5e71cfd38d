// Comparison: mappers and strategies that run side by side; a table, and one curve each on common
// axes.
#include <algorithm>

#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"
#include "dashboard/step_plot.hpp"

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
                    const Symbols& symbols) {
    const bool leads = contender.gap && *contender.gap <= 0;
    Span mark{"", lane(i)};
    append_utf8(mark.text, symbols.set == SymbolSet::ascii ? letter(i) : U'\u2501');
    return columns.row(
        {mark,
         {short_name(contender.name), leads ? style::value : style::text},
         {contender.best ? quantity(*contender.best, "") : "none", style::best},
         {contender.gap ? (leads ? "leads" : percent(*contender.gap)) : "-", {}},
         {count(contender.rate_per_s), {}},
         {contender.time_to_best_s ? quantity(*contender.time_to_best_s, "s") : "-", {}},
         {count(static_cast<double>(contender.improved)), {}},
         {count(static_cast<double>(contender.evaluated)), {}}});
}

}  // namespace

int draw_comparison(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const int height = canvas.height();
    const int contenders = static_cast<int>(snapshot.comparison.size());
    const int plot = height >= contenders + 6 ? height - contenders - 1
                     : height >= 10           ? height / 2
                                              : 0;
    if (plot > 0) {
        Curves curves;
        curves.end_s = snapshot.elapsed_s;
        for (std::size_t i = 0; i < snapshot.comparison.size(); ++i) {
            curves.series.push_back({snapshot.comparison[i].history, lane(i), false, letter(i)});
        }
        draw_steps(canvas.part({0, 0, canvas.width(), plot}), curves);
    }
    Canvas below = canvas.part({0, plot, canvas.width(), height - plot});
    const Table columns({{"", 1, 0},
                         {"name", 9, 0, true, true},
                         {"best", 9, 0},
                         {"gap", 6, 1},
                         {"per s", 5, 2},
                         {"found at", 9, 3},
                         {"found", 5, 4},
                         {"evals", 5, 5}},
                        below.width());
    draw_line(below, 0, 0, columns.header());
    std::vector<Line> lines;
    for (std::size_t i = 0; i < snapshot.comparison.size(); ++i) {
        lines.push_back(contender_line(columns, snapshot.comparison[i], i, canvas.symbols()));
    }
    if (lines.empty()) {
        below.text(0, 1, "nobody has started yet", style::label);
    }
    return draw_lines(below.part({0, 1, below.width(), below.height() - 1}), lines,
                      view.scroll_of(Panel::comparison), view.filter);
}

}  // namespace tessera::dashboard
