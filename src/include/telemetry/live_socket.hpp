// The newest snapshot to whoever connects, one line of JSON after the other.
//
// The socket has an abstract name (Linux): it is no file, so that nothing is left behind however
// the process ends. Only the same user (or root) is served. A viewer that does not keep up misses
// snapshots; one that goes away is forgotten. Nothing a viewer sends is read. Viewers beyond the
// 64th get one snapshot, which names the folder where they can go on.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/sampler.hpp"

namespace tessera::telemetry {

class SocketServer : public Sink {
public:
    /// \throws UserError if the name is taken
    explicit SocketServer(const std::string& run_id);
    ~SocketServer() override;
    std::string name() const override {
        return "the socket for viewers";
    }
    bool shows_mapping() const override {
        return !viewers_.empty() || somebody_waits();
    }
    void update(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;
    void finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;

private:
    struct Viewer {
        int socket = -1;
        std::string rest;  ///< of the line it was not ready for
    };
    void accept_viewers(const std::string& line);
    bool somebody_waits() const;

    int listener_ = -1;
    std::vector<Viewer> viewers_;
};

/// An id that may be made of this text: letters, digits, `-`, `_` and `.`, 64 characters at most.
std::string run_id(std::string text);

/// Ids of what look like runs of the user on this host, sorted. Anybody may have made such a
/// socket; SocketClient tells whose it is.
std::vector<std::string> running_runs();

/// A viewer's side. Thread rule: one thread.
class SocketClient {
public:
    using Clock = std::chrono::steady_clock;

    /// Waits a moment for a run that is busy with other viewers.
    /// \throws UserError if no such run of this user can be reached until then
    explicit SocketClient(const std::string& run_id,
                          Clock::time_point until = Clock::now() + std::chrono::seconds(1));
    ~SocketClient();
    SocketClient(const SocketClient&) = delete;
    SocketClient& operator=(const SocketClient&) = delete;

    /// For poll(); readable when next() may have something.
    int descriptor() const {
        return socket_;
    }
    /// The newest snapshot that came within the time, older ones skipped; null: none.
    /// \throws UserError if what comes is no snapshot
    SnapshotPtr next(std::chrono::milliseconds at_most);
    /// The process at the other end, as the system says; 0: it cannot be seen from here.
    int pid() const {
        return pid_;
    }
    /// The run has ended, or is gone: next() will give nothing more.
    bool ended() const {
        return ended_;
    }

private:
    int socket_ = -1, pid_ = 0;
    std::string run_id_, text_;
    bool ended_ = false;
};

}  // namespace tessera::telemetry
