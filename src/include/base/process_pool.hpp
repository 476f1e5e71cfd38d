// Many tasks, each in a child process of its own: what crashes, or is killed for its memory or its
// time, ends its task and no other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera::base {

/// Sends a signal to the child of a task. False: none runs.
using SignalTask = std::function<bool(std::size_t task, int signal)>;

struct ProcessPoolOptions {
    int jobs = 1;
    double limit_s = 0;  ///< a child that lives longer is killed; 0: no limit
    bool pin = false;    ///< child i of those that run keeps to the i-th core this process may use
    /// Whole lines that a child writes are told here, and are no part of its answer. Empty: its
    /// answer may have lines.
    std::function<void(std::size_t task, const std::string& line)> line;
    std::function<void(std::size_t task)> started;
    /// Called about every 20 ms while children run.
    std::function<void(const SignalTask&)> turn;
};

/// How one child ended.
struct ChildEnd {
    std::string text;  ///< what it wrote to its pipe; with ProcessPoolOptions::line its last line
    std::string
        failed;  ///< why its text cannot be trusted ("was killed ..."); empty: it ended well
    double wall_s = 0, cpu_s = 0;
    std::uint64_t peak_memory_bytes = 0;  ///< what it shares with the parent included
};

/// Runs `body(task, pipe)` in a child for every task, in the order given, at most `jobs` at a time,
/// and `done` here for each that ended. `body` writes its answer to the pipe and returns. Children
/// end with their parent. \returns false if `stop` was set: children were killed, the rest is not
/// run, and nothing is told of a child that ended after it. What `done` throws kills the children
/// and goes on to the caller. Thread rule: as for fork(); the calling process has one thread.
bool run_in_children(const std::vector<std::size_t>& tasks, const ProcessPoolOptions& options,
                     const std::function<void(std::size_t task, int pipe)>& body,
                     const std::function<void(std::size_t task, const ChildEnd&)>& done,
                     const std::atomic<bool>* stop);

/// The same for tasks that come up while others run: `next` is asked whenever a child may start;
/// nothing: none now. Ends when none runs and none comes.
bool run_in_children(const std::function<std::optional<std::size_t>()>& next,
                     const ProcessPoolOptions& options,
                     const std::function<void(std::size_t task, int pipe)>& body,
                     const std::function<void(std::size_t task, const ChildEnd&)>& done,
                     const std::atomic<bool>* stop);

/// All of it. False: the other end is closed.
bool write_to_pipe(int pipe, const std::string& text);

/// Cores this process may use, at least one.
int usable_cores();

}  // namespace tessera::base
