// Options of run control: limits and views.
#include <iostream>

#include "cli/answer/usage_goals.hpp"
#include "dashboard/terminal.hpp"
#include "live_run.hpp"

namespace tessera::cli {

void add_run_control(options::Description& description) {
    const auto text = [](const char* name) { return options::text().named(name); };
    description.add_options()  //
        ("max-time", text("TIME"),
         "stop after this time (500ms, 3s, 2m, 1h) with the best mapping so far")         //
        ("max-cpu-time", text("TIME"), "the same in CPU time of all threads")             //
        ("max-evals", text("N"), "stop after N evaluations (of pmappings, in ffm)")       //
        ("max-stall", text("N"), "stop after N evaluations without a better mapping")     //
        ("max-memory", text("SIZE"), "stop above this resident memory (900MiB, 2GiB)")    //
        ("target", text("VALUE"), "stop at a mapping this good (one metric; J, s, J s)")  //
        ("gap", text("FRACTION"), "stop when (best - bound) / best is this small, as 0.01");
    add_views(description);
}

void add_views(options::Description& description) {
    description.add_options()  //
        ("ui", options::text().by_default("auto").named("VIEW"),
         "what is shown while it runs: auto (lines), line, tui (dashboard), json (events), "
         "snapshots "
         "(the whole state, four times a second, as lines of JSON) or none")  //
        ("plain", options::flag(), "lines as sentences, for screen readers")  //
        ("quiet,q", options::flag(), "the same as --ui none");
}

base::Budget budget(const Arguments& arguments) {
    base::Budget result;
    const auto limited = [&](const char* name) {
        return arguments.has(name) && arguments.text(name) != "unlimited";
    };
    if (limited("max-time")) {
        result.max_time_s = arguments.duration_s("max-time");
    }
    if (limited("max-cpu-time")) {
        result.max_cpu_s = arguments.duration_s("max-cpu-time");
    }
    if (limited("max-evals")) {
        result.max_evals = arguments.whole("max-evals", 1, ~0ull);
    }
    if (limited("max-stall")) {
        result.stall_evals = arguments.whole("max-stall", 1, ~0ull);
    }
    if (limited("max-memory")) {
        result.max_memory_bytes = arguments.size_bytes("max-memory");
    }
    if (arguments.has("target")) {
        result.target = arguments.number("target", 0, "a positive number in J, s or J s");
    }
    if (arguments.has("gap")) {
        result.gap = arguments.number("gap", 1, "a fraction above 0 and below 1, as 0.01");
    }
    const bool scalar = result.target.has_value() || result.gap > 0;
    if (scalar && arguments.has("metric") &&
        (arguments.metrics().size() > 1 || !usage_goals(arguments).memories.empty())) {
        arguments.refuse(arguments.has("gap") ? "gap" : "target",
                         "a single --metric: a Pareto set has none");
    }
    return result;
}

Ui ui(const Arguments& arguments, std::ostream& err) {
    const std::size_t choice =
        arguments.choice("ui", {"auto", "line", "tui", "json", "none", "snapshots"});
    if (arguments.flag("quiet") || choice == 4) {
        return Ui::none;
    }
    if (choice == 3) {
        return Ui::json;
    }
    if (choice == 5) {
        return Ui::snapshots;
    }
    // The dashboard takes the terminal only when it is asked for.
    if (choice < 2) {
        return Ui::line;
    }
    // Only what is the process's own stderr can be a terminal.
    if (&err != &std::cerr || !dashboard::terminal_is_there()) {
        err << "tessera: --ui tui needs a terminal; lines are shown instead\n";
        return Ui::line;
    }
    return Ui::tui;
}

}  // namespace tessera::cli
