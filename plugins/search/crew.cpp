#include "crew.hpp"

#include <algorithm>
#include <utility>

namespace tessera::search {
namespace {

// Candidates taken at a time: short enough to share the end of a batch evenly.
constexpr std::size_t portion = 8;

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

Crew::Crew(const OpenSpace& space, int threads, const mapper::Options& options,
           telemetry::Recorder& recorder, const std::string& source)
    : options_(options) {
    for (int t = 0; t < threads; ++t) {
        members_.push_back({std::make_unique<Worker>(space),
                            &recorder.worker(static_cast<std::size_t>(t), source), nullptr});
    }
    for (std::size_t t = 1; t < members_.size(); ++t) {
        threads_.emplace_back([this, t] { serve(t); });
    }
}

Crew::~Crew() {
    {
        const std::lock_guard lock(mutex_);
        quit_ = true;
    }
    begin_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

void Crew::evaluate(std::span<Candidate> batch) {
    {
        const std::lock_guard lock(mutex_);
        batch_ = batch;
        next_ = 0;
        busy_ = threads_.size();
        ++round_;
    }
    begin_.notify_all();
    work(members_[0]);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    for (Member& member : members_) {
        if (member.failure) {
            std::rethrow_exception(std::exchange(member.failure, nullptr));
        }
    }
}

void Crew::serve(std::size_t member) {
    std::uint64_t seen = 0;
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            begin_.wait(lock, [&] { return quit_ || round_ != seen; });
            if (quit_) {
                return;
            }
            seen = round_;
        }
        work(members_[member]);
        const std::lock_guard lock(mutex_);
        if (--busy_ == 0) {
            done_.notify_one();
        }
    }
}

void Crew::work(Member& member) {
    member.counters->state(telemetry::WorkerState::running);
    try {
        for (;;) {
            const std::size_t first = next_.fetch_add(portion);
            if (first >= batch_.size()) {
                break;
            }
            const std::size_t last = std::min(first + portion, batch_.size());
            for (std::size_t i = first; i < last; ++i) {
                evaluate(batch_[i], member);
            }
        }
    } catch (...) {
        member.failure = std::current_exception();
    }
    member.counters->state(telemetry::WorkerState::idle);
}

void Crew::evaluate(Candidate& c, Member& member) const {
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
        c.outcome = {};
        return;
    }
    switch (c.how) {
        case Candidate::How::draw:
            c.outcome = member.worker->draw(c.seed, c.point);
            break;
        case Candidate::How::vary:
            c.outcome = member.worker->vary(c.seed, c.einsum, c.point);
            break;
        default:
            c.outcome = member.worker->evaluate(c.point);
    }
    telemetry::Worker& counters = *member.counters;
    counters.generated();
    Worker::Failures failures = member.worker->take_failures();
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
