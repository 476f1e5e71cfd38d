// What a method has done so far, and when it has to end.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tessera/mapper/mapper.hpp"
#include "tessera/search/watch.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::transfusion {

/// A method that has to end takes the first that fits of whatever it still lacks: a mapping of the
/// layer is made of all its Einsums.
class Effort {
public:
    Effort(const mapper::Options& options, const std::string& name);

    void evaluated(std::uint64_t n = 1);
    std::uint64_t evaluated_count() const {
        return evaluated_;
    }
    /// True: look for nothing better.
    bool over();
    /// The same for who polls it himself, and says so by over() afterwards.
    const std::atomic<bool>* stop() const {
        return watch_.stop();
    }
    /// \throws LimitReached if the method still lacks something .1 s after it should have ended
    void poll();
    /// The limit that cut the search short; empty: none.
    std::string ended_by() const {
        return cut_since_ && watch_.reason() != nullptr ? watch_.reason() : "";
    }

private:
    const std::uint64_t max_evals_;
    telemetry::Recorder unread_;
    telemetry::Worker& worker_;
    search::Watch watch_;
    std::uint64_t evaluated_ = 0;
    std::optional<std::chrono::steady_clock::time_point> cut_since_;
};

}  // namespace tessera::transfusion
