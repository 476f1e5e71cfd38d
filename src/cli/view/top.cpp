// tessera top: watch a search that runs elsewhere.
//
//   top_text()      the options
//   frame()         --once: one picture on stdout
//   list()          --list
//   watch()         the dashboard; a thread feeds it from the run
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <thread>

#include "base/printable.hpp"
#include "cli/arguments.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"
#include "dashboard/source.hpp"
#include "dashboard/viewer.hpp"
#include "io/json_text.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

using namespace dashboard;
using namespace std::chrono_literals;
using telemetry::SnapshotPtr;

constexpr const char* examples =
    R"(  tessera top                              watch the search that started last
  tessera top runs/gpt3                    watch, or look at, the run of a folder
  tessera top --once --size 80x24          print one frame
)";

}  // namespace

CommandText top_text() {
    options::Description result("Options", 100);
    const auto text = [](const char* standard, const char* name) {
        return options::text().by_default(standard).named(name);
    };
    add_inputs(result, "");
    result.add_options()  //
        ("run", options::text().named("RUN"),
         "what to watch: a run directory, or the name of a running search (its beginning is "
         "enough); also without --run; default: the search that started last")       //
        ("list", options::flag(), "list the running searches")                       //
        ("once", options::flag(), "print one frame and end")                         //
        ("size", text("auto", "WxH"), "columns and lines of the frame of --once")    //
        ("panel", text("summary", "NAME"), "panel shown first: a name or 0 to 9")    //
        ("symbols", text("auto", "SET"), "auto, block, braille or ascii")            //
        ("color", text("auto", "WHEN"), "auto, always or never")                     //
        ("json", options::flag(), "--once or --list: numbers instead of a picture")  //
        ("control", options::flag(), "the keys s and c may stop and checkpoint the run");
    return {"[RUN] [options]", examples, result};
}

namespace {

Size size_of(const Arguments& arguments, const std::string& text) {
    if (text == "auto") {
        const auto variable = [](const char* name, int standard) {
            const char* value = std::getenv(name);
            const int number = value ? std::atoi(value) : 0;
            return number > 0 && number <= 1000 ? number : standard;
        };
        return {variable("COLUMNS", 80), variable("LINES", 24)};
    }
    int width = 0, height = 0;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%dx%d%c", &width, &height, &rest) != 2 || width < 1 ||
        height < 1 || width > 1000 || height > 1000) {
        throw UserError("--size " + arguments.text("size") +
                        ": expected columns and lines from 1 to 1000, as in 80x24");
    }
    return {width, height};
}

View view_of(const Arguments& arguments) {
    View view = initial_view();
    std::vector<std::string> names;
    for (int i = 0; i < panel_count; ++i) {
        names.push_back(key_of(static_cast<Panel>(i)));
    }
    for (int i = 0; i < panel_count; ++i) {
        std::string name = title(static_cast<Panel>(i));
        name[0] = static_cast<char>(name[0] - 'A' + 'a');
        names.push_back(name);
    }
    view.focus = static_cast<Panel>(arguments.choice("panel", names) % panel_count);
    const std::size_t set = arguments.choice("symbols", {"auto", "block", "braille", "ascii"});
    if (set > 0) {
        view.symbols = set == 1   ? SymbolSet::block
                       : set == 2 ? SymbolSet::braille
                                  : SymbolSet::ascii;
    }
    const std::size_t color = arguments.choice("color", {"auto", "always", "never"});
    if (color == 2 || (color == 1 && view.theme == Theme::mono)) {
        view.theme = color == 1 ? Theme::color : Theme::mono;
    }
    return view;
}

/// `run`: as named by the user; empty: the one that started last.
SnapshotPtr first(Source& source, const std::string& run) {
    SnapshotPtr snapshot = source.next(5s);
    if (!snapshot) {
        throw UserError((run.empty() ? "the run" : base::one_line(run)) +
                        ": the run does not answer, and no status.json tells of it; if it has a "
                        "folder, name that: tessera top DIR");
    }
    return snapshot;
}

std::string run_of(const Arguments& arguments) {
    return arguments.has("run") ? arguments.text("run") : std::string();
}

int frame(const Arguments& arguments, std::ostream& out) {
    const Size size = size_of(arguments, arguments.text("size"));
    const View view = view_of(arguments);
    const SnapshotPtr snapshot = first(*open_source(run_of(arguments)), run_of(arguments));
    if (arguments.flag("json")) {
        out << telemetry::to_json(*snapshot) << "\n";
        return ExitCode::ok;
    }
    const Frame picture = render(size, *snapshot, view).frame;
    const bool colors = arguments.text("color") == "always";
    base::write_unchanged(out, colors ? picture.ansi() : picture.text());
    return ExitCode::ok;
}

int list(const Arguments& arguments, std::ostream& out, std::ostream& err) {
    const std::vector<SnapshotPtr> running = running_searches();
    if (arguments.flag("json")) {
        io::Json runs = io::Json::array();
        for (const SnapshotPtr& snapshot : running) {
            runs.push_back(
                base::written(io::ParsedJson::parse(telemetry::to_json(*snapshot)).at("run")));
        }
        out << io::dumped({{"runs", runs}});
        return ExitCode::ok;
    }
    if (running.empty()) {
        err << "no search of yours is running on this host\n";
        return ExitCode::ok;
    }
    std::vector<std::vector<std::string>> rows = {
        {"run", "pid", "state", "time", "best", "gap", "workload", "architecture", "directory"}};
    for (const SnapshotPtr& s : running) {
        rows.push_back({s->run.id, std::to_string(s->run.pid), telemetry::name(s->state),
                        clock(s->elapsed_s), best_text(*s), gap_text(*s), s->run.workload,
                        s->run.architecture, s->run.directory});
    }
    print_table(out, rows, 9);
    return ExitCode::ok;
}

std::atomic<Viewer*> watched{nullptr};

void on_signal(int) {
    if (Viewer* viewer = watched.load()) {
        viewer->close();
    }
}

/// While it lives, SIGINT, SIGTERM and SIGHUP close the viewer.
class CloseOnSignal {
public:
    explicit CloseOnSignal(Viewer& viewer) {
        watched = &viewer;
        struct sigaction action {};
        sigemptyset(&action.sa_mask);
        action.sa_handler = on_signal;
        for (std::size_t i = 0; i < 3; ++i) {
            ::sigaction(signals[i], &action, &before_[i]);
        }
    }
    ~CloseOnSignal() {
        for (std::size_t i = 0; i < 3; ++i) {
            ::sigaction(signals[i], &before_[i], nullptr);
        }
        watched = nullptr;
    }
    CloseOnSignal(const CloseOnSignal&) = delete;
    CloseOnSignal& operator=(const CloseOnSignal&) = delete;

private:
    static constexpr int signals[3] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before_[3];
};

/// The keys s and c as signals to the run, if it is one of this host.
Viewer::Hooks control_of(const Arguments& arguments, const Source& source,
                         const telemetry::RunIdentity& run) {
    if (!arguments.flag("control")) {
        return {};
    }
    std::optional<telemetry::RunProcess> process = source.process();
    if (!process || !process->signal(0)) {
        throw UserError("--control: no process of yours on this host runs it (its files name pid " +
                        std::to_string(run.pid) + " on " + run.host + ")");
    }
    const auto shared = std::make_shared<telemetry::RunProcess>(std::move(*process));
    return {[shared] { shared->signal(SIGTERM); }, [shared] { shared->signal(SIGUSR2); }};
}

bool over(const telemetry::Snapshot& snapshot) {
    return snapshot.state != telemetry::RunState::running &&
           snapshot.state != telemetry::RunState::stopping;
}

/// Feeds the viewer until it is asked to stop. A run that is silent without having ended is lost.
void feed(const std::stop_token& stop, Source& source, Viewer& viewer, SnapshotPtr last) {
    constexpr auto silence = 5s;
    auto heard = std::chrono::steady_clock::now();
    while (!stop.stop_requested()) {
        SnapshotPtr snapshot;
        try {
            snapshot = source.next(200ms);
        } catch (const std::exception&) {
            viewer.lost(true);
            return;
        }
        const auto now = std::chrono::steady_clock::now();
        if (snapshot) {
            last = snapshot;
            heard = now;
            viewer.publish(std::move(snapshot));
        }
        const bool silent = source.ended() || now - heard > silence;
        viewer.lost(silent && !over(*last));
        if (source.ended()) {
            return;
        }
    }
}

int watch(const Arguments& arguments) {
    View view = view_of(arguments);
    const std::unique_ptr<Source> source = open_source(run_of(arguments));
    SnapshotPtr snapshot = first(*source, run_of(arguments));
    Viewer viewer(std::move(view), control_of(arguments, *source, snapshot->run));
    viewer.publish(snapshot);
    const CloseOnSignal closing(viewer);
    Terminal terminal;
    std::jthread feeder(
        [&](const std::stop_token& stop) { feed(stop, *source, viewer, snapshot); });
    viewer.run(terminal);
    return ExitCode::ok;
}

}  // namespace

int top_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
    const options::Description known = top_text().options;
    std::vector<std::string> named = args;
    // RUN stands by itself as well as behind --run.
    for (std::size_t i = 0; i < named.size(); ++i) {
        static constexpr const char* with_value[] = {"--run", "--size", "--panel", "--symbols",
                                                     "--color"};
        const bool option = named[i].compare(0, 1, "-") == 0;
        const bool value = i > 0 && std::find(std::begin(with_value), std::end(with_value),
                                              named[i - 1]) != std::end(with_value);
        if (!option && !value) {
            named.insert(named.begin() + static_cast<std::ptrdiff_t>(i), "--run");
            break;
        }
    }
    const Arguments arguments("top", named, known);
    if (arguments.flag("help")) {
        print_help(out, examples, known);
        return ExitCode::ok;
    }
    if (arguments.flag("list")) {
        return list(arguments, out, err);
    }
    // A picture that moves makes no sense in a file.
    return arguments.flag("once") || arguments.flag("json") || !::isatty(STDOUT_FILENO)
               ? frame(arguments, out)
               : watch(arguments);
}

}  // namespace tessera::cli
