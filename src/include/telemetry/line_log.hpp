// The search as lines of text: for terminals, pipes and files alike. No escape codes, no carriage
// returns; at most 80 columns. New best mappings are told within 200 ms, of several in that time
// the best; other lines come at a distance.
//
//       time  evals  valid    best edp      bound    gap rate/s  doing
//   *  1.52s  1.23M  37.5%    1.83e-03   1.61e-03  12.0%  55.3k  ffm: join
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "telemetry/sampler.hpp"

namespace tessera::telemetry {

class LineLog : public Sink {
public:
    struct Settings {
        double heartbeat_s = 30;  ///< between lines when nothing happens
        double quiet_s = 1;       ///< nothing but new best mappings and warnings before
        bool plain = false;       ///< sentences instead of columns, for those who listen
        bool notes = false;       ///< log lines of level info too
    };
    LineLog(std::ostream& out, Settings settings) : out_(out), settings_(settings) {}
    std::string name() const override {
        return "the log on stderr";
    }
    void update(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;
    void finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;

private:
    void line(const Snapshot& snapshot, char mark, const Incumbent* found);
    void header(const Snapshot& snapshot);
    void take(const Snapshot& snapshot, const Incumbent& found);
    /// The line of the mapping that waits, if it is time, or `now`.
    void tell(const Snapshot& snapshot, bool now);

    std::ostream& out_;
    const Settings settings_;
    int lines_ = 0;
    double last_s_ = 0, found_s_ = -1;
    std::optional<Incumbent> best_;
    std::optional<Incumbent> waiting_;
    char waiting_mark_ = '*';
};

/// --ui=json: events as in events.jsonl, and a status line a second.
class JsonLog : public Sink {
public:
    explicit JsonLog(std::ostream& out) : out_(out) {}
    std::string name() const override {
        return "the log on stderr";
    }
    void update(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;
    void finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;

private:
    void check() const;

    std::ostream& out_;
    bool begun_ = false;
    double last_s_ = 0;
};

/// --ui=snapshots: the whole state, a line of JSON each time (snapshot.hpp).
class SnapshotLog : public Sink {
public:
    explicit SnapshotLog(std::ostream& out) : out_(out) {}
    std::string name() const override {
        return "the log on stderr";
    }
    bool shows_mapping() const override {
        return true;
    }
    void update(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;

private:
    std::ostream& out_;
};

/// One line on the state of the run, as SIGUSR1 asks for it.
std::string summary(const Snapshot& snapshot);

}  // namespace tessera::telemetry
