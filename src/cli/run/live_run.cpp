#include "live_run.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "base/terminal_restore.hpp"
#include "cli/cli.hpp"
#include "cli/view/screen_sink.hpp"
#include "io/json_text.hpp"
#include "io/report_json.hpp"
#include "telemetry/best_mappings.hpp"
#include "telemetry/file_sinks.hpp"
#include "telemetry/line_log.hpp"
#include "telemetry/live_socket.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

/// The process ends one second after the second interrupt. Four looks a second: the interrupt is
/// seen up to 0.25 s late, and what is due between two looks waits for the next, 0.75 s at worst.
constexpr double rescue_after_s = 0.3;

bool is_terminal(std::ostream& err) {
    const char* term = std::getenv("TERM");
    return &err == &std::cerr && ::isatty(STDERR_FILENO) != 0 && term != nullptr &&
           std::string(term) != "dumb";
}

/// What the search in this folder goes on from; empty if it begins.
std::string saved_state(const io::RunDirectory& folder) {
    const std::string text = folder.read("checkpoint.json");
    return text.empty() ? "" : read_checkpoint(text, "checkpoint.json").state;
}

}  // namespace

/// Reads the flags that signal handlers set, tells what is pending, and rescues what was found when
/// the search does not stop in time.
class LiveRun::Signals : public telemetry::Sink {
public:
    Signals(LiveRun& run, std::ostream& err) : run_(run), err_(err) {}
    std::string name() const override {
        return "the watch on signals";
    }

    void update(const telemetry::SnapshotPtr& snapshot,
                const std::vector<telemetry::Event>& events) override {
        run_.best_.take(events);
        if (run_.interrupt_.take_status_request()) {
            err_ << "tessera: " << telemetry::summary(*snapshot) << std::endl;
        }
        if (run_.interrupt_.take_checkpoint_request()) {
            run_.checkpoint();
        }
        const int count = run_.interrupt_.count();
        if (count > told_) {
            tell(*snapshot, count);
            told_ = count;
            since_s_ = snapshot->elapsed_s;
        }
        if (count >= 2 && snapshot->elapsed_s - since_s_ >= rescue_after_s && !rescued_) {
            rescued_ = true;
            rescue();
        }
    }
    void finish(const telemetry::SnapshotPtr&,
                const std::vector<telemetry::Event>& events) override {
        run_.best_.take(events);
    }

private:
    void tell(const telemetry::Snapshot& s, int count) {
        if (told_ == 0) {
            run_.sampler_.stopping(run_.interrupt_.cause());
        }
        std::string line =
            count == 1 ? "stopping, " + run_.settings_.left + "; again to stop within a second"
                       : "stopping within a second; again to stop at once";
        for (const telemetry::PhaseView& phase : s.phases) {
            line += phase.active ? " (pending: " + phase.name + ")" : "";
        }
        run_.recorder_.log(line);
        // The dashboard shows it among its log lines.
        if (!run_.screen_ || !run_.screen_->drawing()) {
            err_ << "tessera: " << line << std::endl;
        }
    }

    void rescue() {
        const std::unique_lock<std::mutex> lock(run_.ending_, std::try_to_lock);
        if (!lock.owns_lock()) {
            return;  // the search is over and writes its result
        }
        run_.interrupt_.hold();
        base::restore_terminal();
        if (run_.settings_.rescue) {
            run_.settings_.rescue(run_.best());
        }
        ::_exit(ExitCode::interrupted);
    }

    LiveRun& run_;
    std::ostream& err_;
    int told_ = 0;
    double since_s_ = 0;
    bool rescued_ = false;
};

/// Settings::watch
class LiveRun::Watcher : public telemetry::Sink {
public:
    explicit Watcher(const Settings& settings) : settings_(settings) {}
    std::string name() const override {
        return "the record of the search";
    }
    void update(const telemetry::SnapshotPtr& snapshot,
                const std::vector<telemetry::Event>& events) override {
        settings_.watch(*snapshot, events);
    }

private:
    const Settings& settings_;
};

LiveRun::LiveRun(Settings settings, std::ostream& err)
    : settings_(std::move(settings)),
      best_(settings_.run.metrics),
      sampler_(recorder_,
               {settings_.run, settings_.budget, settings_.plugins, std::chrono::milliseconds(250),
                settings_.describe, settings_.before, settings_.amend}) {
    recorder_.set_metrics(settings_.run.metrics);
    add_sinks(err);
    sampler_.start();
}

LiveRun::~LiveRun() {
    sampler_.finish(telemetry::RunState::failed);
}

void LiveRun::add_sinks(std::ostream& err) {
    const bool terminal = is_terminal(err);
    sampler_.add(std::make_unique<Signals>(*this, err));
    if (settings_.watch) {
        sampler_.add(std::make_unique<Watcher>(settings_));
    }
    if (io::RunDirectory* folder = settings_.folder) {
        const bool resumed = folder->state() == io::RunDirectory::State::unfinished;
        const auto wrap = [spent_s = settings_.spent_s](const std::string& state, double time_s) {
            return to_json({state, spent_s + time_s});
        };
        const base::Directory& files = folder->folder();
        sampler_.add(std::make_unique<telemetry::IncumbentFiles>(files, settings_.run.metrics,
                                                                 settings_.known));
        sampler_.add(std::make_unique<telemetry::CheckpointFile>(files, recorder_,
                                                                 saved_state(*folder), wrap));
        sampler_.add(std::make_unique<telemetry::EventsFile>(files, resumed));
        sampler_.add(std::make_unique<telemetry::StatusFile>(files));
    }
    try {
        sampler_.add(std::make_unique<telemetry::SocketServer>(settings_.run.id));
    } catch (const UserError& error) {
        recorder_.log(error.what(), telemetry::LogLevel::warning);
    }
    telemetry::LineLog::Settings how;
    how.heartbeat_s = terminal ? 5 : 30;
    how.plain = settings_.plain;
    if (settings_.ui == Ui::tui) {
        auto screen = std::make_unique<ScreenSink>(*this, err, how);
        screen_ = screen.get();
        sampler_.add(std::move(screen));
    } else if (settings_.ui == Ui::line) {
        sampler_.add(std::make_unique<telemetry::LineLog>(err, how));
    } else if (settings_.ui == Ui::json) {
        sampler_.add(std::make_unique<telemetry::JsonLog>(err));
    } else if (settings_.ui == Ui::snapshots) {
        sampler_.add(std::make_unique<telemetry::SnapshotLog>(err));
    }
}

void LiveRun::hold() {
    held_ = std::unique_lock(ending_);
    interrupt_.hold();
}

void LiveRun::finish(telemetry::RunState state) {
    if (interrupt_.count() > 0) {
        sampler_.stopping(interrupt_.cause());
    }
    sampler_.finish(state);
}

std::vector<std::string> LiveRun::best() const {
    std::vector<std::string> mappings;
    for (const telemetry::Incumbent& found : best_.all()) {
        mappings.push_back(found.mapping());
    }
    return mappings;
}

void LiveRun::stop(const std::string& why) {
    sampler_.stopping(why);
    interrupt_.request_stop();
}

void LiveRun::checkpoint() {
    recorder_.ask_for_checkpoint();
    recorder_.log("a checkpoint was asked for");
}

std::string to_json(const Checkpoint& checkpoint) {
    io::Json json;
    json["schema_version"] = io::schema_version;
    json["spent_s"] = checkpoint.spent_s;
    json["state"] = checkpoint.state;
    return io::dumped(json);
}

Checkpoint read_checkpoint(const std::string& text, const std::string& file) {
    const io::ParsedJson json = base::parsed_json(text);
    if (!json.is_object() || !json.contains("state") || !json["state"].is_string() ||
        !json.contains("spent_s") || !json["spent_s"].is_number()) {
        throw UserError(file + ": is no checkpoint; start again with --force");
    }
    return {json["state"].get<std::string>(), json["spent_s"].get<double>()};
}

std::string host_name() {
    char text[256] = "";
    ::gethostname(text, sizeof text - 1);
    return text;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

telemetry::RunIdentity process_identity(const std::string& command,
                                        const std::vector<std::string>& args,
                                        const std::string& folder, const std::string& subject) {
    telemetry::RunIdentity run;
    std::string name = subject;
    if (!folder.empty()) {
        const auto path = std::filesystem::absolute(folder).lexically_normal();
        run.directory = path.string();
        name = (path.has_filename() ? path : path.parent_path()).filename().string();
    }
    run.pid = static_cast<int>(::getpid());
    run.id = telemetry::run_id(name + "-" + std::to_string(run.pid));
    run.version = version;
    run.host = host_name();
    run.started = utc_now();
    run.command = {"tessera", command};
    run.command.insert(run.command.end(), args.begin(), args.end());
    return run;
}

}  // namespace tessera::cli
