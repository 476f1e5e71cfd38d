// The newest snapshot to whoever connects, one line of JSON after the other.
//
// The socket has an abstract name (Linux): it is no file, so that nothing is left behind however
// the process ends. Only the same user (or root) is served. A viewer that does not keep up misses
// snapshots; one that goes away is forgotten. Nothing a viewer sends is read.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tessera/telemetry/sampler.hpp"

namespace tessera::telemetry {

class SocketServer : public Sink {
public:
    /// \throws UserError if the name is taken
    explicit SocketServer(const std::string& run_id);
    ~SocketServer() override;
    std::string name() const override {
        return "the socket for viewers";
    }
    void update(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;
    void finish(const SnapshotPtr& snapshot, const std::vector<Event>& events) override;

private:
    struct Viewer {
        int socket = -1;
        std::string rest;  ///< of the line it was not ready for
    };
    void accept_viewers();

    int listener_ = -1;
    std::vector<Viewer> viewers_;
};

/// Ids of the user's runs on this host, sorted.
std::vector<std::string> running_runs();

/// A viewer's side. Thread rule: one thread.
class SocketClient {
public:
    /// \throws UserError if no such run can be reached
    explicit SocketClient(const std::string& run_id);
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
    /// The run has ended, or is gone: next() will give nothing more.
    bool ended() const {
        return ended_;
    }

private:
    int socket_ = -1;
    std::string text_;
    bool ended_ = false;
};

}  // namespace tessera::telemetry
