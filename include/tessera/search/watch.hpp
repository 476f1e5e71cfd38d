// Ends a search when a limit of its budget is met. One for all mappers and strategies.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "tessera/base/budget.hpp"

namespace tessera::telemetry {
class Recorder;
}

namespace tessera::search {

/// Looks at the limits every 5 ms, on a thread of its own (none if there is nothing to watch).
/// Evaluations, best value and bound are read from the recorder: limits that must be met exactly
/// (so many evaluations, not a few more) a search counts itself besides.
class Watch {
public:
    /// `outer`: Options::stop, may be null. `recorder` must outlive it. `one_metric`: false leaves
    /// gap and target aside, which several metrics do not have.
    Watch(const base::Budget& budget, const std::atomic<bool>* outer,
          const telemetry::Recorder& recorder, bool one_metric = true);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    /// To be polled every 50 ms of work or less.
    const std::atomic<bool>* stop() const {
        return &stop_;
    }
    bool stopped() const {
        return stop_.load(std::memory_order_relaxed);
    }
    /// "max-evals", "max-time", "max-cpu-time", "max-stall", "max-memory", "target", "gap",
    /// "out-of-memory", or "stop" for `outer`. Null before.
    const char* reason() const {
        return reason_.load();
    }
    /// Ends the search for a reason that the search found itself; a literal.
    void end(const char* reason);

private:
    const char* limit(double start_s) const;

    const base::Budget budget_;
    const std::atomic<bool>* const outer_;
    const telemetry::Recorder& recorder_;
    const bool one_metric_;
    std::atomic<bool> stop_{false};
    std::atomic<const char*> reason_{nullptr};
    std::jthread thread_;
};

}  // namespace tessera::search
