// A worker: gets the job by message, then tasks, and runs each in a child process.
#pragma once

#include <functional>
#include <string>

#include "base/process_pool.hpp"

namespace tessera::ranks {

/// What a job is to a worker.
struct Work {
    std::string traits;  ///< must be equal on all ranks
    base::ProcessPoolOptions pool;
    /// Runs a task in a child process, and writes its answer to the pipe.
    std::function<void(const std::string& task, int pipe)> body;
};

/// Works until the manager says that it is over. Nothing is written to the terminal.
/// `program`: name and version, equal on all ranks. `prepare` throws tessera::Error for a job that
/// cannot be done here, which the manager is told.
/// \returns the exit code \throws UserError if there is no MPI
/// Thread rule: as for fork(); MPI, whose threads a fork would lose, begins after it.
int work(const std::string& program, const std::function<Work(const std::string& job)>& prepare);

}  // namespace tessera::ranks
