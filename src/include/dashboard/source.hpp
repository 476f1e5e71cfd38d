// Where a viewer's snapshots come from: the socket of a running search, or the status.json of a run
// directory, which may lie on another host's file system. A run of this host whose process is gone
// has the state `lost`.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/run_process.hpp"
#include "telemetry/snapshot.hpp"

namespace tessera::dashboard {

/// Thread rule: one thread.
class Source {
public:
    virtual ~Source() = default;
    /// The next snapshot, waiting at most this long; null: none came.
    /// \throws UserError if what comes is no snapshot of this version.
    virtual telemetry::SnapshotPtr next(std::chrono::milliseconds at_most) = 0;
    /// Nothing will come any more.
    virtual bool ended() const = 0;
    /// The process that runs it, if that is certain.
    virtual std::optional<telemetry::RunProcess> process() const = 0;
};

/// `run`: the id of a running search (or the beginning of only one), or a run directory. Empty: the
/// search of this user on this host that started last.
/// \throws UserError naming the runs there are.
std::unique_ptr<Source> open_source(const std::string& run);

/// The newest snapshots of all searches of this user on this host, the newest search first.
std::vector<telemetry::SnapshotPtr> running_searches();

}  // namespace tessera::dashboard
