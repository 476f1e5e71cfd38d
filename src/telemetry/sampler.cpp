#include "telemetry/sampler.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>

#include "telemetry/snapshot_builder.hpp"

namespace tessera::telemetry {

Sampler::Sampler(Recorder& recorder, Settings settings)
    : recorder_(recorder), period_(settings.period) {
    builder_ = std::make_unique<Builder>(recorder, std::move(settings));
    recorder_.listen(false);
}

Sampler::~Sampler() {
    finish(RunState::finished);
}

void Sampler::add(std::unique_ptr<Sink> sink) {
    if (sink->stores_checkpoints()) {
        recorder_.listen(true);
    }
    sinks_.push_back(std::move(sink));
}

void Sampler::start() {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Sampler::stopping(const std::string& reason) {
    {
        const std::lock_guard lock(state_lock_);
        if (state_ != RunState::running) {
            return;
        }
        state_ = RunState::stopping;
        stop_reason_ = reason;
    }
    recorder_.wake();
}

void Sampler::finish(RunState state) {
    if (finished_) {
        return;
    }
    finished_ = true;
    thread_.request_stop();
    recorder_.wake();
    if (thread_.joinable()) {
        thread_.join();
    }
    recorder_.end_phase();
    {
        const std::lock_guard lock(state_lock_);
        state_ = state;
    }
    try {
        tick(true);
    } catch (const std::bad_alloc&) {  // the views miss the end
    }
    sinks_.clear();
}

SnapshotPtr Sampler::latest() const {
    const std::lock_guard lock(latest_lock_);
    return latest_;
}

void Sampler::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        try {
            tick(false);
        } catch (const std::bad_alloc&) {  // another time; no event is lost
        }
        recorder_.wait(period_);
    }
}

void Sampler::tick(bool last) {
    take_events();
    const std::vector<Event>& events = events_;
    RunState state;
    std::string reason;
    {
        const std::lock_guard lock(state_lock_);
        state = state_;
        reason = stop_reason_;
    }
    const bool shown = std::any_of(sinks_.begin(), sinks_.end(),
                                   [](const auto& sink) { return sink->shows_mapping(); });
    const auto snapshot =
        std::make_shared<const Snapshot>(builder_->build(events, state, reason, shown));
    {
        const std::lock_guard lock(latest_lock_);
        latest_ = snapshot;
    }
    for (std::unique_ptr<Sink>& sink : sinks_) {
        std::string failure;
        try {
            last ? sink->finish(snapshot, events) : sink->update(snapshot, events);
            continue;
        } catch (const std::bad_alloc&) {
            continue;  // it misses this snapshot
        } catch (const std::exception& error) {
            failure = error.what();
        } catch (...) {
            failure = "an exception of unknown type";
        }
        recorder_.log(sink->name() + " is switched off: " + failure, LogLevel::warning);
        sink.reset();
    }
    std::erase(sinks_, nullptr);
    events_.clear();
}

void Sampler::take_events() {
    std::vector<Event> fresh = recorder_.take_events();
    if (events_.empty()) {
        events_ = std::move(fresh);
        return;
    }
    events_.insert(events_.end(), std::make_move_iterator(fresh.begin()),
                   std::make_move_iterator(fresh.end()));
}

}  // namespace tessera::telemetry
