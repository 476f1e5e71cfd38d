// Hands on what a member's search tells about itself to the recorder of the whole.
#pragma once

#include <string>
#include <thread>

#include "tessera/telemetry/recorder.hpp"

namespace tessera::mapper {

/// While it lives. The destructor hands on what is left.
class Relay {
public:
    /// `counters`: of `to`, for evaluations of this member.
    Relay(telemetry::Recorder& from, telemetry::Recorder& to, telemetry::Worker& counters);
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;
    ~Relay();

private:
    void hand_on();

    telemetry::Recorder& from_;
    telemetry::Recorder& to_;
    telemetry::Worker& counters_;
    std::uint64_t generated_ = 0, evaluated_ = 0;
    std::jthread thread_;
};

}  // namespace tessera::mapper
