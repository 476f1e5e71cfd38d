#include "relay.hpp"

#include <chrono>
#include <utility>

namespace tessera::mapper {

using telemetry::Event;

Relay::Relay(telemetry::Recorder& from, telemetry::Recorder& to, telemetry::Worker& counters)
    : from_(from), to_(to), counters_(counters) {
    from_.listen(false);
    counters_.state(telemetry::WorkerState::running);
    thread_ = std::jthread([this](const std::stop_token& done) {
        while (!done.stop_requested()) {
            from_.wait(std::chrono::milliseconds(20));
            hand_on();
        }
    });
}

Relay::~Relay() {
    thread_.request_stop();
    from_.wake();
    thread_.join();
    hand_on();
    counters_.state(telemetry::WorkerState::idle);
}

void Relay::hand_on() {
    for (Event& event : from_.take_events()) {
        if (event.kind == Event::Kind::incumbent) {
            to_.incumbent(std::move(*event.incumbent));
        } else if (event.kind == Event::Kind::bound) {
            to_.bound(event.value);
        } else if (event.kind == Event::Kind::log) {
            to_.log(event.text, event.level);
        }
    }
    std::uint64_t generated = 0, evaluated = 0;
    for (const telemetry::Recorder::Counted& counted : from_.workers()) {
        generated += counted.worker->generated_count();
        evaluated += counted.worker->evaluated_count();
    }
    counters_.generated(generated - std::exchange(generated_, generated));
    counters_.evaluated(evaluated - std::exchange(evaluated_, evaluated));
}

}  // namespace tessera::mapper
