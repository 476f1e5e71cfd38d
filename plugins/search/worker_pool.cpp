#include "worker_pool.hpp"

#include <algorithm>

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

WorkerPool::WorkerPool(const OpenSpace& space, int threads, const mapper::Options& options,
                       telemetry::Recorder& recorder, const std::string& source)
    : options_(options), threads_(threads) {
    for (int t = 0; t < threads_.size(); ++t) {
        workers_.push_back({std::make_unique<Worker>(space),
                            &recorder.worker(static_cast<std::size_t>(t), source)});
    }
}

std::uint64_t WorkerPool::evaluate(std::span<Candidate> batch) {
    for (Candidate& candidate : batch) {
        candidate.outcome = {};
    }
    for (const PoolWorker& pool_worker : workers_) {
        pool_worker.counters->state(telemetry::WorkerState::running);
    }
    const base::StopScope scope({options_.stop});
    const std::size_t shares = 8 * workers_.size();
    const std::size_t portion = std::clamp<std::size_t>(batch.size() / shares, 1, most_at_once);
    const std::size_t portions = (batch.size() + portion - 1) / portion;
    try {
        threads_.for_each(portions, [&](std::size_t p, int thread) {
            for (Candidate& c :
                 batch.subspan(p * portion).first(std::min(portion, batch.size() - p * portion))) {
                evaluate(c, workers_[static_cast<std::size_t>(thread)]);
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

void WorkerPool::evaluate(Candidate& c, PoolWorker& pool_worker) const {
    base::poll_stop();
    switch (c.how) {
        case Candidate::How::draw:
            c.outcome = pool_worker.worker->draw(c.seed, c.point);
            break;
        case Candidate::How::vary:
            c.outcome = pool_worker.worker->vary(c.seed, c.einsum, c.point);
            break;
        default:
            c.outcome = pool_worker.worker->evaluate(c.point);
    }
    telemetry::Worker& counters = *pool_worker.counters;
    counters.generated();
    Worker::Failures failures = pool_worker.worker->take_failures();
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
    c.outcome.value = mapper::metric_value(
        options_.metrics.size() == 1 ? options_.metrics.front() : mapper::Metric::edp,
        c.outcome.energy_j, c.outcome.latency_s);
}

}  // namespace tessera::search
