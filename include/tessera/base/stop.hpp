// Stopping deep computations. Who starts a search says with a StopScope what stops it; the loops
// below call poll_stop() every few hundred rows, which ends them by an exception. So a stop takes
// effect within milliseconds, and no function in between needs a parameter for it.
#pragma once

#include <atomic>
#include <chrono>

namespace tessera::base {

/// Thrown by poll_stop(); caught by who opened the scope. Results in the making are lost.
struct Stopped {};

/// What stops a computation. An empty one: nothing.
struct StopToken {
    const std::atomic<bool>* flag = nullptr;
    /// The flag is not obeyed earlier: for work without which there is nothing to show.
    std::chrono::steady_clock::time_point not_before{};
    /// Another thread of the same loop has failed (parallel.hpp): obeyed at once.
    const std::atomic<bool>* abandoned = nullptr;
};

/// The token that poll_stop() looks at on this thread. Threads start with an empty one: hand on
/// current_stop() to those that help.
class StopScope {
public:
    explicit StopScope(const StopToken& token);
    ~StopScope();
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

private:
    StopToken outer_;
};

const StopToken& current_stop();

/// True if the token of this thread's scope says so.
bool stop_asked();

/// \throws Stopped if stop_asked(). Costs a few loads.
void poll_stop();

}  // namespace tessera::base
