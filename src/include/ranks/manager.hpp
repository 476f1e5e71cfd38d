// The manager: hands out the tasks of a job to the workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/process_pool.hpp"

namespace tessera::ranks {

/// A job as every worker gets it.
struct Job {
    std::string program;  ///< name and version; a worker with another is refused
    std::string text;     ///< for the worker's `prepare`
    std::string traits;   ///< those of a worker must be equal
    /// Why traits differ, for a message: "has other plugins (...)".
    std::function<std::string(const std::string& of_worker)> difference;
};

struct TaskOptions {
    int jobs = 1;                                  ///< tasks that a worker runs at a time
    std::function<std::string(std::size_t)> text;  ///< a task as the worker gets it
    std::function<void(const std::string&)> told;  ///< hears which worker was lost, and why
};

class Manager {
public:
    /// Waits for all ranks. \throws UserError if there is no MPI
    Manager();
    /// The workers end.
    ~Manager();
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    int workers() const;
    /// Gives the job to all workers and waits until they are ready. False: `stop` was set.
    /// \throws Error of the first worker that cannot do it, with its rank and host
    bool prepare(const Job& job, const std::atomic<bool>* stop);
    /// As base::run_in_children(), on the workers. What a lost worker was running is run by
    /// another; if that is lost too, the task failed. False also if the launcher was killed.
    /// \pre prepare() \throws UserError once all workers are lost
    bool run(const std::function<std::optional<std::size_t>()>& next, const TaskOptions& options,
             const std::function<void(std::size_t task, const base::ChildEnd&)>& done,
             const std::atomic<bool>* stop);

private:
    class Team;
    std::unique_ptr<Team> team_;
};

}  // namespace tessera::ranks
