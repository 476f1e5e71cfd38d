#include "worker_pool.hpp"

#include <algorithm>

#include "tessera/base/stop.hpp"

namespace tessera::search {
namespace {

/// Candidates taken at a time, at most: short enough to share the end of a batch evenly.
constexpr std::size_t most_at_once = 8;

telemetry::Reason reason_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::incompatible:
        case Verdict::no_point:
            return telemetry::Reason::incompatible;
        case Verdict::fanout:
            return telemetry::Reason::fanout;
        case Verdict::capacity:
            return telemetry::Reason::capacity;
        case Verdict::refused:
            return telemetry::Reason::illegal;
        default:
            return telemetry::Reason::constraint;
    }
}

}  // namespace

WorkerPool::WorkerPool(const DriverSettings& settings, const std::atomic<bool>* stop,
                       telemetry::Recorder& recorder, const std::string& source)
    : settings_(settings), stop_(stop), threads_(settings.threads) {
    for (int t = 0; t < threads_.size(); ++t) {
        workers_.push_back(
            {settings.make_worker(), &recorder.worker(static_cast<std::size_t>(t), source)});
    }
}

std::uint64_t WorkerPool::evaluate(std::span<Candidate> batch) {
    for (Candidate& candidate : batch) {
        candidate.outcome = {};
    }
    for (const PoolWorker& pool_worker : workers_) {
        pool_worker.counters->state(telemetry::WorkerState::running);
    }
    const base::StopScope scope({stop_});
    const std::size_t shares = 8 * workers_.size();
    const std::size_t portion = std::clamp<std::size_t>(batch.size() / shares, 1, most_at_once);
    const std::size_t portions = (batch.size() + portion - 1) / portion;
    try {
        threads_.for_each(portions, [&](std::size_t p, int thread) {
            for (Candidate& c :
                 batch.subspan(p * portion).first(std::min(portion, batch.size() - p * portion))) {
                const PoolWorker& own = workers_[static_cast<std::size_t>(thread)];
                run_candidate(c, *own.worker, *own.counters, settings_);
            }
        });
    } catch (const base::Stopped&) {  // the rest is not evaluated
    }
    std::uint64_t work = 0;
    for (const PoolWorker& pool_worker : workers_) {
        pool_worker.counters->state(telemetry::WorkerState::idle);
        work += pool_worker.worker->take_work();
    }
    return work;
}

void run_candidate(Candidate& c, SpaceWorker& worker, telemetry::Worker& counters,
                   const DriverSettings& settings) {
    base::poll_stop();
    worker.run(c);
    counters.generated();
    if (const double charge = worker.take_charge(); charge > 0) {
        counters.charged(charge);
    }
    SpaceWorker::Failures failures = worker.take_failures();
    for (std::size_t v = 0; v < failures.size(); ++v) {
        if (failures[v] > 0) {
            counters.generated(failures[v]);
            counters.rejected(reason_of(static_cast<Verdict>(v)), failures[v]);
        }
    }
    if (!c.outcome.legal()) {
        counters.rejected(reason_of(c.outcome.verdict));
        return;
    }
    counters.evaluated();
    set_value(c.outcome, settings);
}

}  // namespace tessera::search
