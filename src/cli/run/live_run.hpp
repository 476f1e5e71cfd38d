// A search while it runs: its telemetry and views, the signals that steer it, its run directory.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cli/arguments.hpp"
#include "cli/view/interrupt.hpp"
#include "io/run_directory.hpp"
#include "telemetry/best_mappings.hpp"
#include "telemetry/sampler.hpp"

namespace tessera::cli {

class ScreenSink;

/// --ui
enum class Ui { line, tui, json, snapshots, none };

/// Adds --ui, --plain, --quiet, and the limits of a search.
void add_run_control(options::Description& description);
/// The first three of these.
void add_views(options::Description& description);
/// The limits of --max-evals, --max-time, --max-cpu-time, --max-stall, --max-memory, --gap,
/// --target. \throws UserError
base::Budget budget(const Arguments& arguments);
/// What the options ask for, as far as the terminal can do it. \throws UserError
Ui ui(const Arguments& arguments, std::ostream& err);

/// To be made on the heap: a thread sanitizer takes mutexes at one place of the stack for one
/// mutex, also those of runs one after the other.
class LiveRun : public telemetry::RunControl {
public:
    struct Settings {
        telemetry::RunIdentity run;
        base::Budget budget;
        std::vector<telemetry::PluginView> plugins;
        Ui ui = Ui::line;
        bool plain = false;
        io::RunDirectory* folder = nullptr;  ///< open; null: none
        double known = 0;    ///< value of the mapping.yaml that is there; infinity: none
        double spent_s = 0;  ///< by the runs that are resumed
        /// Delivers the best mappings so far (YAML; none or, with one metric, one), when the search
        /// does not stop in time. Called at most once, on another thread than the search's; the
        /// process ends after it.
        std::function<void(const std::vector<std::string>&)> rescue;
        /// Sees every snapshot and what happened since the one before, on the sampler's thread; for
        /// the last time in finish(). May be empty.
        std::function<void(const telemetry::Snapshot&, const std::vector<telemetry::Event>&)> watch;
        /// telemetry::Sampler::Settings::describe, before, amend
        std::function<telemetry::MappingView(const std::string&)> describe;
        std::vector<telemetry::ContenderView> before;
        std::function<void(telemetry::Snapshot&)> amend = {};
        /// What a stop leaves, for the line that says that it was asked for.
        std::string left = "the best mapping so far will be the result";
    };

    LiveRun(Settings settings, std::ostream& err);
    ~LiveRun() override;

    telemetry::Recorder& recorder() {
        return recorder_;
    }
    const Interrupt& interrupt() const {
        return interrupt_;
    }
    bool interrupted() const {
        return interrupt_.happened();
    }
    /// The search is over: from here on only the third interrupt ends the process early. Waits for
    /// a rescue that has begun, which ends the process.
    void hold();
    /// All views show the end and close.
    void finish(telemetry::RunState state);
    /// The best mappings that the search has told of (YAML; none or, with one metric, one). Once it
    /// is finished.
    std::vector<std::string> best() const;

    void stop(const std::string& why) override;
    void checkpoint() override;

private:
    class Signals;
    class Watcher;
    void add_sinks(std::ostream& err);

    const Settings settings_;
    Interrupt interrupt_;
    telemetry::Recorder recorder_;
    ScreenSink* screen_ = nullptr;  ///< one of the sampler's sinks
    telemetry::BestMappings best_;  ///< of the sampler's thread, while that runs
    std::mutex ending_;             ///< held by the search once it is over, or by a rescue
    telemetry::Sampler sampler_;
    std::unique_lock<std::mutex> held_;
};

/// The state that a mapper left in checkpoint.json, and seconds spent.
struct Checkpoint {
    std::string state;
    double spent_s = 0;
};
std::string to_json(const Checkpoint& checkpoint);
/// \throws UserError
Checkpoint read_checkpoint(const std::string& text, const std::string& file);

std::string host_name();
std::string utc_now();
/// Of `tessera COMMAND ARGS...` in this process: id, directory, version, host, time, pid, command.
/// `folder`: of -o, may be empty; then the run is called after `subject`.
telemetry::RunIdentity process_identity(const std::string& command,
                                        const std::vector<std::string>& args,
                                        const std::string& folder, const std::string& subject);

}  // namespace tessera::cli
