// A part of the time for one question.
#pragma once

#include <atomic>
#include <thread>

#include "tessera/base/stop.hpp"

namespace tessera::mapspace::infeasible {

/// Sets a stop when the process has used so much CPU time, or when the thread's own stop is set.
class Slice {
public:
    explicit Slice(double cpu_s);

    base::StopToken token() const {
        return base::StopToken{&stop_};
    }
    bool outer_stopped() const {
        return outer_ != nullptr && outer_->load(std::memory_order_relaxed);
    }

private:
    const std::atomic<bool>* outer_;
    std::atomic<bool> stop_{false};
    std::jthread thread_;
};

}  // namespace tessera::mapspace::infeasible
