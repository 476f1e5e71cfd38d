// Turns a Recorder into snapshots, four times a second and whenever something happens, and hands
// them to sinks. All sinks run on the sampler's own thread: a slow one delays the others, never the
// search. One that throws is detached with one line in the log.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "telemetry/snapshot.hpp"
#include "tessera/base/budget.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::telemetry {

/// What a sink may ask of the run. Thread rule: any thread.
class RunControl {
public:
    virtual ~RunControl() = default;
    /// Ends the search; the best mapping so far is the result. `why` is shown: "s pressed".
    virtual void stop(const std::string& why) = 0;
    virtual void checkpoint() = 0;
};

/// A view of the run. Thread rule: all on the sampler's thread.
class Sink {
public:
    virtual ~Sink() = default;
    /// "status.json", for the line that says it was detached.
    virtual std::string name() const = 0;
    /// Whether the next update() reads Snapshot::mapping. It is not made for nobody.
    virtual bool shows_mapping() const {
        return false;
    }
    /// Whether it keeps the states that a search gives to Recorder::checkpoint().
    virtual bool stores_checkpoints() const {
        return false;
    }
    /// `events`: what happened since the last call. Anything thrown detaches the sink.
    virtual void update(const SnapshotPtr& snapshot, const std::vector<Event>& events) = 0;
    /// The last call, with the final snapshot.
    virtual void finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) {
        update(snapshot, events);
    }
};

class Sampler {
public:
    struct Settings {
        RunIdentity run;
        base::Budget budget;
        std::vector<PluginView> plugins;
        std::chrono::milliseconds period{250};
        /// What views show of a mapping (the YAML that Incumbent::mapping makes). Called on the
        /// sampler's thread, for the best mapping so far, once a second at most, while a sink shows
        /// it. May be empty.
        std::function<MappingView(const std::string&)> describe;
        /// Searches before this one on the same problem: they stand in Snapshot::comparison too.
        std::vector<ContenderView> before = {};
        /// Adds what the recorder does not know, on the sampler's thread. May be empty.
        std::function<void(Snapshot&)> amend = {};
    };

    /// `recorder` must outlive it. Nothing runs before start().
    Sampler(Recorder& recorder, Settings settings);
    /// Calls finish(finished) if nobody did.
    ~Sampler();
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    /// Before start().
    void add(std::unique_ptr<Sink> sink);
    void start();
    /// The search is asked to end: shown as `stopping`. Any thread.
    void stopping(const std::string& reason);
    /// Last snapshot to all sinks, which are then destroyed. Returns after that.
    void finish(RunState state);
    /// The newest one; null before the first.
    SnapshotPtr latest() const;

private:
    class Builder;
    void run(const std::stop_token& stop);
    void tick(bool last);
    void take_events();

    Recorder& recorder_;
    std::vector<Event> events_;  ///< that no tick has passed on to the sinks yet
    std::unique_ptr<Builder> builder_;
    std::vector<std::unique_ptr<Sink>> sinks_;
    const std::chrono::milliseconds period_;
    mutable std::mutex latest_lock_;
    SnapshotPtr latest_;
    std::mutex state_lock_;
    RunState state_ = RunState::running;
    std::string stop_reason_;
    bool finished_ = false;
    std::jthread thread_;
};

}  // namespace tessera::telemetry
