// A long call of the library that Python stays master of: it runs on a thread of its own while the
// caller's thread, which alone hears Ctrl-C, waits without the GIL.
//
//   Ctrl-C              the stop token is set; what was found is the result
//   progress callback   is called on the caller's thread; what it throws stops the search and is
//                       thrown to the caller
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "bindings.hpp"
#include "tessera/tessera.hpp"

namespace tessera::python {

class Interruptible {
public:
    /// `progress`: None, or what is called with each Progress. The caller holds the GIL.
    explicit Interruptible(py::object progress) : progress_(std::move(progress)) {}

    std::stop_token stop() const {
        return stop_.get_token();
    }
    /// For Options::progress.
    void tell(const Progress& progress);

    /// Runs `work` to its end. \throws what it throws, and what a callback or signal handler throws
    void run(const std::function<void()>& work);

    /// From any thread: ends it, and run() throws this. The first counts.
    void fail(std::exception_ptr why);
    /// The call that this thread works for; null: none.
    static Interruptible* current();

    /// Ctrl-C came while it ran; nothing is thrown for it.
    bool interrupted() const {
        return interrupted_;
    }

private:
    bool wait();
    void attend();
    void hear_signals();
    void call_back();

    const py::object progress_;
    std::stop_source stop_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<Progress> latest_;
    bool done_ = false, interrupted_ = false;
    std::exception_ptr failure_, python_failure_;
};

/// In a handler of `error`, with the GIL: ends the search, if there is one, which throws what was
/// raised. \throws std::runtime_error with the text of it
[[noreturn]] void fail_search(Interruptible* search, const std::exception& error);

}  // namespace tessera::python
