// Race: mappers and strategies that run side by side; a table, and one curve each on common axes.
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

Line racer_line(const Table& columns, const telemetry::RacerView& racer, std::size_t i,
                const Symbols& symbols) {
    const bool leads = racer.gap && *racer.gap <= 0;
    Span mark{"", lane(i)};
    append_utf8(mark.text, symbols.set == SymbolSet::ascii ? letter(i) : U'\u2501');
    return columns.row({mark,
                        {short_name(racer.name), leads ? style::value : style::text},
                        {racer.best ? quantity(*racer.best, "") : "none", style::best},
                        {racer.gap ? (leads ? "leads" : percent(*racer.gap)) : "-", {}},
                        {count(racer.rate_per_s), {}},
                        {racer.time_to_best_s ? quantity(*racer.time_to_best_s, "s") : "-", {}},
                        {count(static_cast<double>(racer.improved)), {}},
                        {count(static_cast<double>(racer.evaluated)), {}}});
}

}  // namespace

int draw_race(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const int height = canvas.height();
    const int racers = static_cast<int>(snapshot.race.size());
    const int plot = height >= racers + 6 ? height - racers - 1 : height >= 10 ? height / 2 : 0;
    if (plot > 0) {
        Curves curves;
        curves.end_s = snapshot.elapsed_s;
        for (std::size_t i = 0; i < snapshot.race.size(); ++i) {
            curves.series.push_back({snapshot.race[i].history, lane(i), false, letter(i)});
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
    for (std::size_t i = 0; i < snapshot.race.size(); ++i) {
        lines.push_back(racer_line(columns, snapshot.race[i], i, canvas.symbols()));
    }
    if (lines.empty()) {
        below.text(0, 1, "nobody has started yet", style::label);
    }
    return draw_lines(below.part({0, 1, below.width(), below.height() - 1}), lines,
                      view.scroll_of(Panel::race), view.filter);
}

}  // namespace tessera::dashboard
