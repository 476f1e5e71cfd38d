// What a running search keeps in its run directory, which outlives them all.
#pragma once

#include <functional>
#include <string>

#include "base/directory.hpp"
#include "telemetry/best_mappings.hpp"
#include "telemetry/sampler.hpp"

namespace tessera::telemetry {

/// events.jsonl: one line an event, appended; `resumed`: goes on after the last whole line.
class EventsFile : public Sink {
public:
    EventsFile(const base::Directory& folder, bool resumed);
    ~EventsFile() override;
    std::string name() const override {
        return "events.jsonl";
    }
    void update(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;
    void finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;

private:
    void append(const std::string& lines);

    int file_ = -1;
    const bool resumed_;
    bool begun_ = false;
    double last_status_s_ = 0;
};

/// status.json: the newest snapshot, once a second and when the state changes.
class StatusFile : public Sink {
public:
    explicit StatusFile(const base::Directory& folder) : folder_(folder) {}
    std::string name() const override {
        return "status.json";
    }
    bool shows_mapping() const override {
        return true;
    }
    void update(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;

private:
    const base::Directory& folder_;
    double next_s_ = 0;
    RunState written_ = RunState::running;
};

/// mapping.yaml: the best mapping so far, as soon as it is found; with several metrics the Pareto
/// set so far, in mapping.yaml, mapping-2.yaml, ...
class IncumbentFiles : public Sink {
public:
    /// `known`: the value of the mapping that is there already, infinity if there is none.
    IncumbentFiles(const base::Directory& folder, std::vector<std::string> metrics, double known)
        : folder_(folder), known_(known), best_(std::move(metrics)) {}
    std::string name() const override {
        return "mapping.yaml";
    }
    void update(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;

private:
    const base::Directory& folder_;
    const double known_;
    BestMappings best_;
    std::vector<std::string> written_;
};

/// checkpoint.json: the newest state the search gave, asked for every few seconds, and the time it
/// has spent, which counts though a search gives no state.
class CheckpointFile : public Sink {
public:
    /// `state`: that the search goes on from; `wrap` makes the file of state and seconds spent.
    CheckpointFile(const base::Directory& folder, Recorder& recorder, std::string state,
                   std::function<std::string(const std::string&, double)> wrap)
        : folder_(folder), recorder_(recorder), wrap_(std::move(wrap)), state_(std::move(state)) {}
    std::string name() const override {
        return "checkpoint.json";
    }
    bool stores_checkpoints() const override {
        return true;
    }
    void update(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;
    void finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;

private:
    bool take_state(const std::vector<Event>& events);
    void write(const Snapshot& snapshot);

    const base::Directory& folder_;
    Recorder& recorder_;
    const std::function<std::string(const std::string&, double)> wrap_;
    std::string state_;
    double written_s_ = 0;
};

}  // namespace tessera::telemetry
