// Funnel: what became of the candidates, phase by phase and reason by reason, and how far each
// Einsum is.
#include <algorithm>
#include <cmath>

#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"

namespace tessera::dashboard {

namespace {

using telemetry::Reason;

struct Counted {
    Reason reason;
    std::uint64_t number;
};

std::vector<Counted> reasons(const telemetry::FunnelView& funnel, bool pruning) {
    std::vector<Counted> result;
    for (std::size_t i = 0; i < telemetry::n_reasons; ++i) {
        const auto reason = static_cast<Reason>(i);
        if (telemetry::is_pruning(reason) == pruning && funnel.rejected[i] > 0) {
            result.push_back({reason, funnel.rejected[i]});
        }
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Counted& a, const Counted& b) { return a.number > b.number; });
    return result;
}

std::string share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "" : percent(static_cast<double>(part) / static_cast<double>(whole));
}

std::string words(Reason reason) {
    std::string result = telemetry::name(reason);
    std::replace(result.begin(), result.end(), '_', ' ');
    return result;
}

Line stage(const std::string& name, std::uint64_t number, std::uint64_t whole, Style style,
           const std::vector<Counted>& why) {
    Line line = {{pad_right(name, 10), style::label},
                 {count(static_cast<double>(number)) + " ", style},
                 {pad_left(share(number, whole), 6), style::text}};
    if (!why.empty()) {
        line.push_back({" " + words(why.front().reason) + " ", style::label});
        const double part = static_cast<double>(why.front().number) /
                            static_cast<double>(std::max<std::uint64_t>(1, number));
        line.push_back({std::to_string(std::lround(part * 100)) + "%", style::text});
    }
    return line;
}

std::string bar_text(double fraction, int width, const Symbols& symbols) {
    std::string result;
    const int filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * width + 0.5);
    for (int i = 0; i < width; ++i) {
        append_utf8(result, i < filled ? symbols.bar.back() : symbols.dotted);
    }
    return result;
}

void add_reasons(std::vector<Line>& lines, const std::vector<Counted>& why, std::uint64_t whole,
                 int width, const Symbols& symbols) {
    for (const Counted& entry : why) {
        const double part = static_cast<double>(entry.number) / static_cast<double>(whole);
        lines.push_back({{"  " + pad_right(words(entry.reason), 13), style::label},
                         {count(static_cast<double>(entry.number)) + " ", style::text},
                         {pad_left(percent(part), 6) + " ", style::text},
                         {bar_text(part, std::clamp(width - 30, 0, 30), symbols), style::bar}});
    }
}

void add_phases(std::vector<Line>& lines, const Snapshot& snapshot, const Symbols& symbols) {
    for (const telemetry::PhaseView& phase : snapshot.phases) {
        Span mark = phase.active ? state_mark(telemetry::RunState::running, symbols)
                                 : state_mark(telemetry::RunState::finished, symbols);
        std::string text;
        if (phase.done > 0 || phase.total > 0) {  // some phases count nothing
            text = pad_left(std::to_string(phase.done), 6);
            // There may be more than were known.
            text += phase.total > 0 && phase.total >= phase.done ? "/" + std::to_string(phase.total)
                                                                 : "";
            text += phase.unit.empty() ? "" : " " + phase.unit;
        }
        lines.push_back({mark,
                         {" " + pad_right(phase.name, 13), style::label},
                         {pad_left(quantity(phase.seconds, "s"), 9), style::text},
                         {text, style::text}});
    }
}

void add_einsums(std::vector<Line>& lines, const Snapshot& snapshot, int width,
                 const Symbols& symbols) {
    const Table table({{"Einsum", 10, 0, true},
                       {"templates", 11, 0},
                       {"", 10, 3, true},
                       {"pareto", 6, 1},
                       {"joined", 6, 2}},
                      width);
    lines.push_back(table.header());
    for (const telemetry::EinsumView& einsum : snapshot.einsums) {
        const double part = einsum.templates_total == 0
                                ? 0
                                : static_cast<double>(einsum.templates_done) /
                                      static_cast<double>(einsum.templates_total);
        lines.push_back(table.row(
            {{einsum.name, style::text},
             {std::to_string(einsum.templates_done) + "/" + std::to_string(einsum.templates_total),
              {}},
             {bar_text(part, 10, symbols), style::bar},
             {count(static_cast<double>(einsum.pareto)), {}},
             {count(static_cast<double>(einsum.joined)), {}}}));
    }
}

}  // namespace

int draw_funnel(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const telemetry::FunnelView& funnel = snapshot.funnel;
    const std::vector<Counted> pruned = reasons(funnel, true), invalid = reasons(funnel, false);
    const std::uint64_t whole =
        std::max({funnel.generated, funnel.pruned() + funnel.invalid(), funnel.evaluated});
    // The short form names the main reason behind each stage, the long form all of them.
    const bool is_long = canvas.height() >= 14;
    const std::vector<Counted> none;
    std::vector<Line> lines;
    lines.push_back(stage("generated", funnel.generated, 0, style::value, none));
    lines.push_back(stage("pruned", funnel.pruned(), whole, style::text, is_long ? none : pruned));
    if (is_long) {
        add_reasons(lines, pruned, std::max<std::uint64_t>(1, whole), canvas.width(),
                    canvas.symbols());
    }
    lines.push_back(
        stage("invalid", funnel.invalid(), whole, style::text, is_long ? none : invalid));
    if (is_long) {
        add_reasons(lines, invalid, std::max<std::uint64_t>(1, whole), canvas.width(),
                    canvas.symbols());
    }
    lines.push_back(stage("evaluated", funnel.evaluated, whole, style::value, none));
    lines.push_back(stage("improved", funnel.improved, 0, style::best, none));
    add_phases(lines, snapshot, canvas.symbols());
    const bool per_einsum =
        std::any_of(snapshot.einsums.begin(), snapshot.einsums.end(),
                    [](const telemetry::EinsumView& einsum) { return einsum.templates_total > 0; });
    if (per_einsum) {
        add_einsums(lines, snapshot, canvas.width(), canvas.symbols());
    }
    return draw_lines(canvas, lines, view.scroll_of(Panel::funnel), view.filter);
}

}  // namespace tessera::dashboard
