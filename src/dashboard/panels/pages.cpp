#include "pages.hpp"

#include <string>
#include <vector>

#include "dashboard/layout.hpp"
#include "dashboard/lines.hpp"
#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"

namespace tessera::dashboard {

namespace {

int length(const Line& line) {
    int result = 0;
    for (const Span& span : line) {
        result += columns(span.text);
    }
    return result;
}

Line state_line(const Snapshot& snapshot, const View& view, const Symbols& symbols) {
    Line line;
    if (view.paused) {
        line.push_back({"PAUSED", style::key});
        line.push_back({" ", {}});
    }
    line.push_back(state_mark(snapshot.state, symbols));
    line.push_back({" " + state_text(snapshot) + " ", style::title});
    line.push_back({clock(snapshot.elapsed_s) + " ", style::value});
    return line;
}

/// Where a key does something.
enum class Where : std::uint8_t {
    everywhere,
    control,     ///< where the run may be told something
    search,      ///< the same, and a search is shown
    comparison,  ///< a comparison, shown by itself
    inspected    ///< one search of it
};

struct Hint {
    const char* key;
    const char* what;
    Where where = Where::everywhere;
};

constexpr Hint hints[] = {{"q", "quit"},
                          {"?", "help"},
                          {"i", "inspect", Where::comparison},
                          {"x", "stop one", Where::comparison},
                          {"[ ]", "page", Where::comparison},
                          {"i", "comparison", Where::inspected},
                          {"0-9", "panel"},
                          {"p", "pause"},
                          {"/", "find"},
                          {"s", "stop", Where::control},
                          {"c", "checkpoint", Where::search},
                          {"d", "detach"},
                          {"e", "export"},
                          {"Enter", "alone"},
                          {"t", "theme"},
                          {"g", "symbols"}};

bool applies(Where where, const Snapshot& snapshot, const View& view) {
    switch (where) {
        case Where::control:
            return view.control;
        case Where::search:
            return view.control && !snapshot.compares && !view.inspecting;
        case Where::comparison:
            return snapshot.compares && view.owner;
        case Where::inspected:
            return view.inspecting && !snapshot.compares;
        default:
            return true;
    }
}

const char* question_text(const View& view, int width) {
    if (view.question == Question::stop_search) {
        return width >= 60 ? "Stop the marked search?  y stop, its best counts   n go on"
                           : "Stop this one?  y yes  n no";
    }
    if (view.question == Question::quit) {
        return width >= 76
                   ? "Stop the search?  y stop, write the result   d close this view only   "
                     "n go on"
                   : "y stop search  d close view  n go on";
    }
    return width >= 60 ? "Stop the search and write the result?  y yes   n no"
                       : "Stop the search?  y yes  n no";
}

}  // namespace

void draw_header(Canvas canvas, const Snapshot& snapshot, const View& view) {
    Line right = state_line(snapshot, view, canvas.symbols());
    Line left = {{" tessera  ", style::title}, {snapshot.run.workload, style::value}};
    if (!snapshot.run.architecture.empty()) {
        left.push_back({" on ", style::label});
        left.push_back({snapshot.run.architecture, style::value});
    }
    left.push_back({"  " + snapshot.run.mapper, style::bound});
    const std::string seed = "seed " + std::to_string(snapshot.run.seed) + "  ";
    if (length(left) + length(right) + columns(seed) < canvas.width()) {
        right.insert(right.begin(), {seed, style::label});
    }
    if (!view.owner && length(left) + length(right) + 8 < canvas.width()) {
        right.insert(right.begin(), {"viewer  ", style::label});
    }
    const int start = canvas.width() - length(right);
    Canvas name = canvas.part({0, 0, start > 0 ? start : 0, 1});
    draw_line(name, 0, 0, left);
    draw_line(canvas, start > 0 ? start : 0, 0, right);
}

void draw_footer(Canvas canvas, const Snapshot& snapshot, const View& view) {
    if (view.question != Question::none) {
        canvas.text(1, 0, question_text(view, canvas.width()), style::warning);
        return;
    }
    if (view.typing_filter) {
        const int x = canvas.text(1, 0, "find: " + view.filter, style::value);
        canvas.text(x, 0, "_  Enter keep  Esc clear", style::label);
        return;
    }
    if (!view.message.empty()) {
        canvas.text(1, 0, view.message, style::warning);
        return;
    }
    int x = 0;
    for (const Hint& hint : hints) {
        const int needed = columns(hint.key) + 1 + columns(hint.what) + 1;
        if (!applies(hint.where, snapshot, view) || x + needed > canvas.width()) {
            continue;
        }
        x = canvas.text(x, 0, hint.key, style::key);
        x = canvas.text(x, 0, std::string(" ") + hint.what + " ", style::label);
    }
    const Symbols& s = canvas.symbols();
    Line legend;
    for (const auto& [glyph, word] : {std::pair(s.improved, " improved "),
                                      {s.running, " running "},
                                      {s.done, " done "},
                                      {s.failed, " failed "}}) {
        legend.push_back({"", style::label});
        append_utf8(legend.back().text, glyph);
        legend.back().text += word;
    }
    if (x + 2 + length(legend) <= canvas.width()) {
        draw_line(canvas, canvas.width() - length(legend), 0, legend);
    }
}

void draw_too_small(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const auto trimmed = [](std::string text) {
        return text.erase(0, text.find_first_not_of(' '));
    };
    std::vector<Span> facts = {
        {snapshot.best ? quantity(*snapshot.best, "") : "nothing yet", style::best}};
    if (!trains(snapshot)) {
        facts.push_back({"gap " + gap_text(snapshot), style::bound});
    }
    if (snapshot.incumbent_age_s) {
        facts.push_back({age(*snapshot.incumbent_age_s) + " ago", style::text});
    }
    if (!trains(snapshot)) {
        facts.push_back({trimmed(count(snapshot.rate_per_s)) + "/s", style::text});
    }
    if (const int failed = failures(snapshot)) {
        facts.push_back({"fail " + std::to_string(failed), style::bad});
    }
    facts.push_back({clock(snapshot.elapsed_s), style::label});
    facts.push_back({state_text(snapshot), style::label});
    const bool note = canvas.height() > 1;
    const int lines = canvas.height() - (note ? 1 : 0);
    int x = 0, y = 0;
    for (const Span& fact : facts) {
        const int width = columns(fact.text);
        if (x > 0 && x + 1 + width > canvas.width()) {
            x = 0;
            ++y;
        }
        if (y >= lines) {
            break;
        }
        x = canvas.text(x == 0 ? 0 : x + 1, y, fact.text, fact.style);
    }
    if (note && view.question != Question::none) {
        draw_footer(canvas.part({0, canvas.height() - 1, canvas.width(), 1}), snapshot, view);
    } else if (note) {
        const std::string needed =
            std::to_string(smallest.width) + "x" + std::to_string(smallest.height);
        canvas.text(0, canvas.height() - 1,
                    canvas.width() >= 18 ? "needs " + needed + "  q quit" : needed, style::label);
    }
}

int draw_help(Canvas canvas, const View& view) {
    static constexpr const char* keys[][2] = {
        {"1 ... 9, 0",
         "Summary, Incumbents, Workers, Funnel, Pareto, Comparison, Plugins, Log, Mapping, Costs"},
        {"Tab", "next panel; Shift-Tab: the one before"},
        {"Enter", "the focused panel alone, and back; Esc: back to the summary"},
        {"up, down, k, j", "scroll by a line; PageUp, PageDown, Home, End"},
        {"i", "comparison: the marked search (up, down) by itself, and back"},
        {"x", "comparison: stop the marked search (asks first)"},
        {"[ ]", "comparison: the instance and seed before, after"},
        {"/", "find: only list lines with this text; empty: all"},
        {"p", "pause the view (the search goes on)"},
        {"+ -", "more or fewer frames a second"},
        {"s", "stop the search and write its result (asks first)"},
        {"c", "write a checkpoint now"},
        {"e", "export this screen: text, colours, and the numbers as JSON"},
        {"t", "theme: colours, for a light background, or mono"},
        {"g", "graph symbols: block, braille, ASCII"},
        {"m", "mouse on or off (off: the terminal can select text)"},
        {"? h F1", "this page; F2: options"},
        {"d", "close this view; the search goes on"},
        {"q F10", "quit; asks before a search is stopped"},
        {"Ctrl-C",
         "search: finish, write the result; twice: stop within a second; three times: at "
         "once"},
    };
    Canvas inside = canvas.box("Help", style::text, style::focused);
    std::vector<Line> lines;
    for (const auto& [key, what] : keys) {
        lines.push_back({{pad_right(key, 15), style::value}, {what, style::text}});
    }
    return draw_lines(inside.part({1, 0, inside.width() - 2, inside.height()}), lines,
                      view.scroll_of(view.focus));
}

int draw_options(Canvas canvas, const View& view) {
    const auto entry = [](const char* key, const char* what, const std::string& value,
                          const char* text) {
        return Line{{pad_right(key, 5), style::value},
                    {pad_right(what, 11), style::label},
                    {pad_right(value, 9), style::best},
                    {text, style::text}};
    };
    const std::vector<Line> lines = {
        entry("t", "theme", name(view.theme),
              "colour: told apart by the colour-blind; light: on white; mono: none"),
        entry("g", "symbols", name(view.symbols), "braille is finest but missing in some fonts"),
        entry("+ -", "rate", quantity(view.rate_hz, "Hz"), "frames a second"),
        entry("m", "mouse", view.mouse ? "on" : "off", "click focuses, wheel scrolls"),
        entry("/", "find", view.filter.empty() ? "-" : view.filter, "only lines with this text"),
    };
    Canvas inside = canvas.box("Options", style::text, style::focused);
    return draw_lines(inside.part({1, 0, inside.width() - 2, inside.height()}), lines,
                      view.scroll_of(view.focus));
}

}  // namespace tessera::dashboard
