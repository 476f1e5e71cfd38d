#include "tessera/base/stop.hpp"

namespace tessera::base {
namespace {

// Out of line and in the host only: a plugin's own copy of the variable would be another one.
thread_local StopToken token;

}  // namespace

StopScope::StopScope(const StopToken& inner) : outer_(token) {
    token = inner;
}

StopScope::~StopScope() {
    token = outer_;
}

const StopToken& current_stop() {
    return token;
}

bool stop_asked() {
    if (token.abandoned != nullptr && token.abandoned->load(std::memory_order_relaxed)) {
        return true;
    }
    return token.flag != nullptr && token.flag->load(std::memory_order_relaxed) &&
           (token.not_before == std::chrono::steady_clock::time_point{} ||
            std::chrono::steady_clock::now() >= token.not_before);
}

void poll_stop() {
    if (stop_asked()) {
        throw Stopped{};
    }
}

}  // namespace tessera::base
