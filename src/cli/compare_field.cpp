// Map:
//   search_words()     a search, and what its child says, which is what the journal keeps
//   PipeLines          what the child's search shows, as lines to the parent
//   FieldRun           folder, children, views, delivery
#include "cli/compare_field.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <mutex>
#include <optional>
#include <ostream>
#include <sstream>
#include <streambuf>

#include "base/process_pool.hpp"
#include "cli/cli.hpp"
#include "cli/compare.hpp"
#include "cli/field_input.hpp"
#include "cli/field_plan.hpp"
#include "cli/field_watch.hpp"
#include "cli/interrupt.hpp"
#include "cli/live_run.hpp"
#include "cli/output.hpp"
#include "cli/timeloop.hpp"
#include "cli/view_process.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

using io::ParsedJson;
using Policy = io::RunDirectory::Policy;

constexpr const char* journal = "points.jsonl";

/// Passes whole lines on to a pipe. Thread rule: any thread.
class PipeLines : public std::streambuf {
public:
    explicit PipeLines(int pipe) : pipe_(pipe) {}

private:
    int_type overflow(int_type c) override {
        const char one = traits_type::to_char_type(c);
        xsputn(&one, 1);
        return c;
    }
    std::streamsize xsputn(const char* text, std::streamsize n) override {
        const std::lock_guard guard(lock_);
        line_.append(text, static_cast<std::size_t>(n));
        const std::size_t end = line_.rfind('\n');
        if (end != std::string::npos) {
            base::write_to_pipe(pipe_, line_.substr(0, end + 1));
            line_.erase(0, end + 1);
        }
        return n;
    }

    std::mutex lock_;
    const int pipe_;
    std::string line_;
};

/// What the child of a search says: the trial of the document of tessera compare.
std::string search_words(const std::vector<std::string>& words, int pipe) {
    std::ostringstream out;
    PipeLines lines(pipe);
    std::ostream err(&lines);
    ParsedJson answer;
    try {
        if (!timeloop_inputs("compare", words, out, err)) {
            compare_command(words, out, err);
        }
        const ParsedJson document = base::parsed_json(out.str());
        answer = document.at("contenders").at(0).at("trials").at(0);
    } catch (const Error& error) {
        answer = {{"status", "failed"}, {"error", error.what()}};
    } catch (const std::exception& error) {
        answer = {{"status", "failed"},
                  {"error", std::string("an internal error: ") + error.what()}};
    }
    return answer.dump(-1, ' ', false, ParsedJson::error_handler_t::replace);
}

std::string curves_csv(const Field& field) {
    std::ostringstream out;
    out.precision(17);
    out << "instance,mapper,seed,time_s,evaluated,value\n";
    for (std::size_t i = 0; i < field.trials.size(); ++i) {
        const std::size_t m = field.mapper_of(i);
        const std::size_t instance = field.instance_of(i);
        for (const ComparisonPoint& point : field.trials[i].curve) {
            out << instance << "," << field.mappers[m] << "," << field.trials[i].seed << ","
                << point.time_s << "," << point.evaluated << "," << point.value << "\n";
        }
    }
    return out.str();
}

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
    ~FieldRun() {
        if (journal_ >= 0) {
            ::close(journal_);
        }
    }
    FieldRun(const FieldRun&) = delete;
    FieldRun& operator=(const FieldRun&) = delete;

    int run() {
        open();
        if (ui_ == Ui::tui) {
            view_.emplace();
        }
        Interrupt interrupt;
        interrupt_ = &interrupt;
        const std::vector<std::size_t> left = plan_.left();
        watch_.emplace(field_, identity(), left);
        const bool watched = folder_ || ui_ == Ui::tui || ui_ == Ui::snapshots;
        const bool whole = base::run_in_children(
            left, pool(),
            [&](std::size_t i, int pipe) {
                base::write_to_pipe(pipe, search_words(plan_.words(i, watched), pipe));
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
        run.directory = folder_ ? folder_->path().string() : "";
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
        if (folder_ && stores_ && (last || now - stored_ >= 1s)) {
            stored_ = now;
            try {
                folder_->write("status.json", telemetry::to_json(watch_->page()) + "\n");
            } catch (const UserError&) {
                stores_ = false;  // a full disk: what is found counts more than who watches
            }
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
        if (journal_ >= 0) {
            const ParsedJson line = {{"search", i}, {"trial", json}};
            base::write_to_pipe(
                journal_, line.dump(-1, ' ', false, ParsedJson::error_handler_t::replace) + "\n");
        }
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

    void open() {
        const bool force = arguments_.flag("force"), resume = arguments_.flag("resume");
        if ((force || resume) && !arguments_.has("output")) {
            throw UserError(std::string("option '--") + (force ? "force" : "resume") +
                            "' needs the folder: -o DIR");
        }
        if (force && resume) {
            throw UserError("options '--force' and '--resume' exclude each other");
        }
        if (!arguments_.has("output")) {
            return;
        }
        folder_.emplace(arguments_.text("output"), force    ? Policy::replace
                                                   : resume ? Policy::resume
                                                            : Policy::refuse);
        const bool goes_on = resume && folder_->state() != io::RunDirectory::State::free;
        io::Json description = comparison_run_json(args_);
        description["field"] = plan_.identity();
        if (goes_on) {
            check_same(description);
        }
        folder_->open();
        if (goes_on) {
            read_known();
        } else {
            folder_->write("run.json", io::dumped(description), true);
        }
        folder_->write("checkpoint.json", "{}\n");
        journal_ = folder_->folder().open_to_append(journal);
    }

    void check_same(const io::Json& now) const {
        const ParsedJson before = base::parsed_json(folder_->read("run.json"));
        const ParsedJson expected = base::parsed_json(io::dumped(now));
        if (!before.is_object() || !before.contains("field") ||
            before["field"] != expected["field"]) {
            throw UserError("-o " + folder_->path().string() +
                            ": holds another comparison (instances, mappers, seeds, options or "
                            "files differ); give its command again, or choose another folder");
        }
    }

    void read_known() {
        const std::string text = folder_->read(journal);
        std::size_t whole = 0;
        for (std::size_t end; (end = text.find('\n', whole)) != std::string::npos;
             whole = end + 1) {
            const ParsedJson line = base::parsed_json(text.substr(whole, end - whole));
            if (!line.is_object() || !line.contains("search") || !line.contains("trial") ||
                !line["search"].is_number_unsigned()) {
                continue;
            }
            const auto i = line["search"].get<std::size_t>();
            const std::optional<Trial> trial = read_trial(line["trial"]);
            if (i < field_.trials.size() && trial && trial->status != Trial::Status::failed) {
                field_.trials[i] = *trial;
                ++done_;
            }
        }
        if (whole < text.size()) {
            folder_->write(journal, text.substr(0, whole), true);
        }
    }

    bool deliver(bool whole) {
        if (arguments_.flag("json")) {
            out_ << io::dumped(field_json(field_));
        } else {
            print_field(out_, field_);
        }
        out_.flush();
        if (!folder_) {
            return true;
        }
        const std::map<std::string, std::string> files = {
            {"result.json", io::dumped(field_json(field_))},
            {"trials.csv", trials_csv(field_)},
            {"curves.csv", curves_csv(field_)},
            {"report.html", field_html(field_)}};
        const auto unwritten = folder_->finish(files, whole);
        if (!unwritten.empty()) {
            explain_unwritten(err_, *folder_, unwritten, files,
                              "make room and give the command again with --resume");
        } else if (!arguments_.flag("json")) {
            print_place(out_, *folder_);
        }
        return unwritten.empty();
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
    std::optional<io::RunDirectory> folder_;
    int journal_ = -1;
    std::size_t done_ = 0;
    const Ui ui_;
    std::optional<FieldWatch> watch_;
    std::optional<ViewProcess> view_;
    Interrupt* interrupt_ = nullptr;
    bool stores_ = true;
    std::chrono::steady_clock::time_point shown_{}, stored_{};
};

}  // namespace

void add_field_options(options::options_description& description) {
    description.add_options()  //
        ("instances", options::value<std::string>()->value_name("FILE"),
         "compare on many problems, a YAML list of {name, arch, workload, define: {NAME: VALUE}, "
         "start: FILE, given: {NAME: FILE}}, "
         "each search in a process of its own; statistics and a report in -o")  //
        ("jobs,j", options::value<std::string>()->value_name("N"),
         "with --instances: searches at a time (1), each on a core of its own")  //
        ("resume", options::bool_switch(),
         "with --instances: go on with the comparison in the folder");
}

int compare_field(const std::vector<std::string>& args, const Arguments& arguments,
                  std::ostream& out, std::ostream& err) {
    return FieldRun(args, arguments, out, err).run();
}

}  // namespace tessera::cli
