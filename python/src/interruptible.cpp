#include "interruptible.hpp"

#include <pybind11/stl.h>

namespace tessera::python {

namespace {

constexpr std::chrono::milliseconds between_signals{50};

thread_local Interruptible* working_for = nullptr;

}  // namespace

void Interruptible::tell(const Progress& progress) {
    const std::lock_guard lock(mutex_);
    latest_ = progress;
    changed_.notify_all();
}

void Interruptible::run(const std::function<void()>& work) {
    {
        std::jthread worker([&] {
            working_for = this;
            try {
                work();
            } catch (...) {
                failure_ = std::current_exception();
            }
            const std::lock_guard lock(mutex_);
            done_ = true;
            changed_.notify_all();
        });
        while (!wait()) {
            attend();
        }
        const py::gil_scoped_release released;  // what the worker still frees may be Python's
        worker.join();
    }
    attend();
    if (python_failure_) {
        std::rethrow_exception(python_failure_);
    }
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

void fail_search(Interruptible* search, const std::exception& error) {
    if (search != nullptr) {
        search->fail(std::current_exception());
    }
    const auto* const raised = dynamic_cast<const py::error_already_set*>(&error);
    throw std::runtime_error(raised == nullptr
                                 ? error.what()
                                 : py::str("{}: {}")
                                       .format(raised->type().attr("__name__"), raised->value())
                                       .cast<std::string>());
}

/// Whether the work is done.
bool Interruptible::wait() {
    const py::gil_scoped_release released;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, between_signals,
                      [&] { return done_ || (latest_ && !progress_.is_none()); });
    return done_;
}

/// With the GIL, on the caller's thread.
void Interruptible::attend() {
    try {
        hear_signals();
        call_back();
    } catch (...) {
        fail(std::current_exception());
    }
}

void Interruptible::fail(std::exception_ptr why) {
    {
        const std::lock_guard lock(mutex_);
        python_failure_ = python_failure_ ? python_failure_ : std::move(why);
    }
    stop_.request_stop();
}

Interruptible* Interruptible::current() {
    return working_for;
}

void Interruptible::hear_signals() {
    if (PyErr_CheckSignals() == 0) {
        return;
    }
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) == 0) {
        throw py::error_already_set();
    }
    PyErr_Clear();
    interrupted_ = true;
    stop_.request_stop();
}

void Interruptible::call_back() {
    std::optional<Progress> now;
    {
        const std::lock_guard lock(mutex_);
        now.swap(latest_);
        now = python_failure_ ? std::nullopt : now;
    }
    if (now && !progress_.is_none()) {
        progress_(now->elapsed_s, now->evaluated, now->phase, now->best, now->bound, now->gap);
    }
}

}  // namespace tessera::python
