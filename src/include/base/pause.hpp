// Waiting for what does not call.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace tessera::base {

/// Sleeps, twice as long each time until something has happened.
class Pause {
public:
    using Duration = std::chrono::microseconds;

    Pause(Duration shortest, Duration longest)
        : shortest_(shortest), longest_(longest), next_(shortest) {}

    void sleep() {
        std::this_thread::sleep_for(next_);
        next_ = std::min(2 * next_, longest_);
    }
    /// Something has happened.
    void reset() {
        next_ = shortest_;
    }

private:
    const Duration shortest_, longest_;
    Duration next_;
};

}  // namespace tessera::base
