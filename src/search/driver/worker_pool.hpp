// Threads that evaluate a batch of candidates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/parallel.hpp"
#include "tessera/search/driver.hpp"

namespace tessera::search {

/// Outcome::value of a legal outcome, where the worker has not set it.
inline void set_value(Outcome& outcome, const DriverSettings& settings) {
    if (settings.set_value && outcome.legal()) {
        settings.set_value(outcome);
    }
}

inline bool better(const Outcome& a, const Outcome& b, const DriverSettings& settings) {
    return settings.better ? settings.better(a, b) : a.value < b.value;
}

/// Makes and evaluates one candidate: its point and outcome. \throws base::Stopped.
void run_candidate(Candidate& c, SpaceWorker& worker, telemetry::Worker& counters,
                   const DriverSettings& settings);

/// Threads that work through the candidates of a batch; each candidate's outcome is independent of
/// who evaluates it. One thread calls evaluate() at a time; it works along.
class WorkerPool {
public:
    /// `settings` must outlive it.
    WorkerPool(const DriverSettings& settings, const std::atomic<bool>* stop,
               telemetry::Recorder& recorder, const std::string& source);

    /// Fills the outcome of every candidate. Once the stop token is set the rest is left not
    /// evaluated. \returns the work it was (SpaceWorker::take_work). \throws what an evaluation
    /// throws.
    std::uint64_t evaluate(std::span<Candidate> batch);

    /// For the thread that calls evaluate().
    SpaceWorker& worker() {
        return *workers_[0].worker;
    }

private:
    struct PoolWorker {
        std::unique_ptr<SpaceWorker> worker;
        telemetry::Worker* counters;
    };

    const DriverSettings& settings_;
    const std::atomic<bool>* stop_;
    std::vector<PoolWorker> workers_;
    base::Threads threads_;
};

}  // namespace tessera::search
