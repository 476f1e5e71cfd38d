// Threads that evaluate a batch of candidates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/parallel.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/strategy.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::search {

/// The value that is minimised: the metric's, of several EDP.
void set_value(Outcome& outcome, const mapper::Options& options);

/// Makes and evaluates one candidate: its point and outcome. \throws base::Stopped.
void run_candidate(Candidate& c, Worker& worker, telemetry::Worker& counters,
                   const mapper::Options& options);

/// Threads that work through the candidates of a batch; each candidate's outcome is independent of
/// who evaluates it. One thread calls evaluate() at a time; it works along.
class WorkerPool {
public:
    WorkerPool(const OpenSpace& space, int threads, const mapper::Options& options,
               telemetry::Recorder& recorder, const std::string& source);

    /// Fills the outcome of every candidate. Once the stop token is set the rest is left not
    /// evaluated. \returns the work it was (Worker::take_work). \throws what an evaluation throws.
    std::uint64_t evaluate(std::span<Candidate> batch);

    /// For the thread that calls evaluate().
    Worker& worker() {
        return *workers_[0].worker;
    }

private:
    struct PoolWorker {
        std::unique_ptr<Worker> worker;
        telemetry::Worker* counters;
    };

    const mapper::Options& options_;
    std::vector<PoolWorker> workers_;
    base::Threads threads_;
};

}  // namespace tessera::search
