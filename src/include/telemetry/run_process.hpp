// The process behind a run: whether it is there, and signals to it and no other.
#pragma once

#include <optional>

#include "base/directory.hpp"

namespace tessera::telemetry {

enum class Presence {
    writes,   ///< the process holds the lock of the run's folder
    gone,     ///< no such process, or it has nothing to do with the folder
    unknown,  ///< it may not be looked at, or its file system has no locks
};

/// Whether process `pid` of this host writes to the folder. Who filled the folder chose the number
/// in its files; only a running search holds the lock.
Presence presence(const base::Directory& folder, int pid);

/// A process by its descriptor: never another one that got its number later.
class RunProcess {
public:
    explicit RunProcess(int descriptor) : descriptor_(descriptor) {}
    RunProcess(RunProcess&& other) noexcept;
    ~RunProcess();
    RunProcess& operator=(RunProcess&& other) noexcept;

    /// False: it is gone, or it is another user's.
    bool signal(int number) const;

private:
    int descriptor_;
};

/// Nothing: there is none of that number.
std::optional<RunProcess> run_process(int pid);

}  // namespace tessera::telemetry
