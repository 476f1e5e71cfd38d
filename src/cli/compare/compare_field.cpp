// Map:
//   field_plan.hpp     which searches there are, and the words of each
//   field_search.hpp   one search, in its child
//   field_folder.hpp   trials and reports on disk
//   field_watch.hpp    what is shown while it runs
//   FieldRun           runs the children; hands on what they say
#include "compare_field.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <ostream>

#include "base/process_pool.hpp"
#include "cli/cli.hpp"
#include "cli/field/field_folder.hpp"
#include "cli/field/field_input.hpp"
#include "cli/field/field_plan.hpp"
#include "cli/field/field_search.hpp"
#include "cli/field/field_watch.hpp"
#include "cli/inputs.hpp"
#include "cli/output.hpp"
#include "cli/run/live_run.hpp"
#include "cli/view/interrupt.hpp"
#include "cli/view/view_process.hpp"
#include "compare.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

using io::ParsedJson;

class FieldRun {
public:
    FieldRun(const std::vector<std::string>& args, const Arguments& arguments, std::ostream& out,
             std::ostream& err)
        : args_(args),
          arguments_(arguments),
          plan_(arguments),
          field_(plan_.field),
          out_(out),
          err_(err),
          ui_(ui(arguments, err)) {}
    int run() {
        print_warnings_once();
        io::Json description = comparison_run_json(args_);
        description["field"] = plan_.identity();
        done_ = folder_.open(arguments_, description, field_);
        if (ui_ == Ui::tui) {
            view_.emplace();
        }
        Interrupt interrupt;
        interrupt_ = &interrupt;
        const std::vector<std::size_t> left = plan_.left();
        watch_.emplace(field_, identity(), left);
        const bool watched = folder_.keeps() || ui_ == Ui::tui || ui_ == Ui::snapshots;
        const bool whole = base::run_in_children(
            left, pool(),
            [&](std::size_t i, int pipe) {
                base::write_to_pipe(pipe, run_field_search(plan_.words(i, watched), pipe));
            },
            [&](std::size_t i, const base::ChildEnd& end) { ended(i, end); }, interrupt.stop());
        watch_->finished(whole ? telemetry::RunState::finished : telemetry::RunState::interrupted);
        show(true);
        view_.reset();
        if (!deliver(whole)) {
            return ExitCode::user_error;
        }
        return whole ? exit_code() : ExitCode::interrupted;
    }

private:
    /// Instances may share their files.
    void print_warnings_once() {
        std::vector<std::string> lines;
        for (const FieldInstance& instance : field_.instances) {
            for (const std::string& warning : instance.warnings) {
                if (std::ranges::find(lines, warning) == lines.end()) {
                    lines.push_back(warning);
                }
            }
        }
        print_file_warnings(err_, lines);
    }

    base::ProcessPoolOptions pool() {
        base::ProcessPoolOptions options;
        options.jobs =
            arguments_.given("jobs") ? static_cast<int>(arguments_.whole("jobs", 1, 1024)) : 1;
        options.pin = !arguments_.given("threads") || arguments_.text("threads") == "1";
        options.limit_s = plan_.limit_s > 0 ? 2 * plan_.limit_s + 30 : 0;
        options.line = [this](std::size_t i, const std::string& line) { heard(i, line); };
        options.started = [this](std::size_t i) { watch_->started(i); };
        options.turn = [this](const base::SignalTask& signal) {
            fulfil(signal);
            show(false);
        };
        return options;
    }

    telemetry::RunIdentity identity() const {
        ComparisonSubject subject;
        subject.workload = "compare";
        subject.metric = field_.metric;
        subject.threads = 1;
        telemetry::RunIdentity run = comparison_identity(args_, subject);
        run.mapper = "comparison";
        run.directory = folder_.path();
        return run;
    }

    void heard(std::size_t i, const std::string& line) {
        if (line.empty() || line.front() != '{') {
            return;  // words for people
        }
        try {
            watch_->heard(i, telemetry::from_json(line));
        } catch (const UserError&) {
            // No snapshot: nothing is shown.
        }
    }

    void fulfil(const base::SignalTask& signal) {
        if (!view_) {
            return;
        }
        for (const ViewProcess::Request& request : view_->requests()) {
            using Kind = ViewProcess::Request::Kind;
            const auto search = static_cast<std::size_t>(request.number);
            switch (request.kind) {
                case Kind::stop:
                    watch_->stopping("asked for in the dashboard");
                    interrupt_->request_stop();
                    break;
                case Kind::stop_search:
                    signal(search, SIGINT);
                    break;
                case Kind::inspect:
                    watch_->inspect(search);
                    break;
                case Kind::overview:
                    watch_->inspect(std::nullopt);
                    break;
                case Kind::page:
                    watch_->turn_page(static_cast<int>(request.number));
                    break;
            }
            shown_ = {};
        }
        if (!view_->open()) {
            view_.reset();
        }
    }

    /// Four times a second on the terminal, once a second in the folder.
    void show(bool last) {
        using namespace std::chrono_literals;
        const auto now = std::chrono::steady_clock::now();
        if ((view_ || ui_ == Ui::snapshots) && (last || now - shown_ >= 250ms)) {
            shown_ = now;
            const telemetry::Snapshot snapshot = watch_->shown();
            if (view_) {
                view_->show(snapshot);
            } else {
                err_ << telemetry::to_json(snapshot) + "\n" << std::flush;
            }
        }
        if (folder_.keeps() && (last || now - stored_ >= 1s)) {
            stored_ = now;
            folder_.show(telemetry::to_json(watch_->page()) + "\n");
        }
    }

    void ended(std::size_t i, const base::ChildEnd& end) {
        const std::uint64_t seed = field_.trials[i].seed;
        ParsedJson json = base::parsed_json(end.text);
        if (const FieldMapping* const given = plan_.given_of(i);
            given != nullptr && json.is_object() && json.contains("value") &&
            json["value"].is_number()) {
            json["wall_s"] = given->time_s;
            json["curve"] = {{given->time_s, json["value"], 1}};
        }
        std::optional<Trial> trial = end.failed.empty() ? read_trial(json) : std::nullopt;
        if (!trial) {
            json = {{"status", "failed"},
                    {"error", end.failed.empty() ? "its process said nothing" : end.failed}};
            trial = read_trial(json);
        }
        trial->seed = seed;
        trial->memory_bytes = std::max(trial->memory_bytes, end.peak_memory_bytes);
        field_.trials[i] = *trial;
        json["seed"] = seed;
        json["memory_bytes"] = trial->memory_bytes;
        folder_.add(i, json);
        ++done_;
        const std::string what = field_.mappers[field_.mapper_of(i)] + " on " +
                                 field_.instances[field_.instance_of(i)].name + ", seed " +
                                 std::to_string(seed) + ": " + name(trial->status);
        watch_->ended(i, what + (trial->error.empty() ? "" : ": " + trial->error));
        if (ui_ == Ui::line || (ui_ == Ui::tui && !view_)) {
            err_ << "tessera: " << done_ << " of " << field_.trials.size() << ": " << what
                 << std::endl;
        } else if (ui_ == Ui::json) {
            const ParsedJson line = {{"search", i}, {"what", what}, {"trial", json}};
            err_ << line.dump(-1, ' ', false, ParsedJson::error_handler_t::replace) << std::endl;
        }
    }

    bool deliver(bool whole) {
        if (arguments_.flag("json")) {
            out_ << io::dumped(field_json(field_));
        } else {
            print_field(out_, field_);
        }
        out_.flush();
        return folder_.finish(field_, whole, !arguments_.flag("json"), out_, err_);
    }

    int exit_code() const {
        bool found = false, failed = false, infeasible = false;
        for (const Trial& trial : field_.trials) {
            found = found || trial.found();
            failed = failed || trial.status == Trial::Status::failed;
            infeasible = infeasible || trial.status == Trial::Status::infeasible;
        }
        return failed       ? ExitCode::partial
               : found      ? ExitCode::ok
               : infeasible ? ExitCode::no_legal_mapping
                            : ExitCode::limit_before_result;
    }

    const std::vector<std::string>& args_;
    const Arguments& arguments_;
    FieldPlan plan_;
    Field& field_;
    std::ostream& out_;
    std::ostream& err_;
    FieldFolder folder_;
    std::size_t done_ = 0;
    const Ui ui_;
    std::optional<FieldWatch> watch_;
    std::optional<ViewProcess> view_;
    Interrupt* interrupt_ = nullptr;
    std::chrono::steady_clock::time_point shown_{}, stored_{};
};

}  // namespace

void add_field_options(options::Description& description) {
    description.add_options()  //
        ("instances", options::text().named("FILE"),
         "compare on many problems, a YAML list of {name, arch, workload, define: {NAME: VALUE}, "
         "start: FILE, given: {NAME: FILE}}, "
         "each search in a process of its own; statistics and a report in -o")  //
        ("jobs,j", options::text().named("N"),
         "with --instances: searches at a time (1), each on a core of its own")  //
        ("resume", options::flag(), "with --instances: go on with the comparison in the folder");
}

int compare_field(const std::vector<std::string>& args, const Arguments& arguments,
                  std::ostream& out, std::ostream& err) {
    return FieldRun(args, arguments, out, err).run();
}

}  // namespace tessera::cli
