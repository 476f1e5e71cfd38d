// The dashboard in a process of its own, for one that forks and has one thread therefore.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/snapshot.hpp"

namespace tessera::cli {

/// Thread rule: one thread, which has started no other.
class ViewProcess {
public:
    ViewProcess();
    /// Closes the view and waits until the terminal is given back.
    ~ViewProcess();
    ViewProcess(const ViewProcess&) = delete;
    ViewProcess& operator=(const ViewProcess&) = delete;

    /// Draws it, unless the one before is still on its way. Does not wait.
    void show(const telemetry::Snapshot& snapshot);

    /// What the person at the terminal asks for.
    struct Request {
        enum class Kind : std::uint8_t { stop, inspect, overview, stop_search, page };
        Kind kind = Kind::stop;
        std::int64_t number = 0;  ///< search, or pages
    };
    /// Since the last call. Does not wait.
    std::vector<Request> requests();
    /// Nobody has closed it yet.
    bool open() const {
        return pid_ > 0;
    }

private:
    void flush();
    void end();

    pid_t pid_ = -1;
    int socket_ = -1;
    std::string unsent_, unread_;
};

}  // namespace tessera::cli
