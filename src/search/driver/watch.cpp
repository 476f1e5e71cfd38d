#include "tessera/search/watch.hpp"

#include <cmath>

#include "base/memory_reserve.hpp"
#include "telemetry/process.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::search {

namespace {

constexpr auto period = std::chrono::milliseconds(5);

bool is_limited(const base::Budget& b) {
    return b.max_evals > 0 || b.max_time_s > 0 || b.max_cpu_s > 0 || b.stall_evals > 0 ||
           b.max_memory_bytes > 0 || b.gap > 0 || b.target.has_value();
}

}  // namespace

Watch::Watch(const base::Budget& budget, const std::atomic<bool>* outer,
             const telemetry::Recorder& recorder, bool one_metric)
    : budget_(budget), outer_(outer), recorder_(recorder), one_metric_(one_metric) {
    if (outer_ == nullptr && !is_limited(budget_)) {
        return;
    }
    if (const char* reason = limit(recorder.now_s())) {  // met before anything was begun
        end(reason);
        return;
    }
    thread_ = std::jthread([this, start_s = recorder.now_s()](const std::stop_token& done) {
        while (!done.stop_requested() && !stopped()) {
            if (const char* reason = limit(start_s)) {
                end(reason);
            }
            std::this_thread::sleep_for(period);
        }
    });
}

void Watch::end(const char* reason) {
    const char* none = nullptr;
    reason_.compare_exchange_strong(none, reason);
    stop_.store(true);
}

const char* Watch::limit(double start_s) const {
    if (outer_ != nullptr && outer_->load()) {
        return "stop";
    }
    if (base::memory_ran_out()) {
        return base::out_of_memory;
    }
    if (budget_.max_time_s > 0 && recorder_.now_s() - start_s >= budget_.max_time_s) {
        return "max-time";
    }
    if (budget_.max_cpu_s > 0 && telemetry::cpu_seconds() >= budget_.max_cpu_s) {
        return "max-cpu-time";
    }
    if (budget_.max_memory_bytes > 0 && telemetry::resident_bytes() > budget_.max_memory_bytes) {
        return "max-memory";
    }
    if (budget_.max_evals > 0 && recorder_.evaluated() >= budget_.max_evals) {
        return "max-evals";
    }
    const double best = recorder_.best();
    if (!std::isfinite(best)) {
        return nullptr;
    }
    if (budget_.stall_evals > 0 && recorder_.stalled() >= budget_.stall_evals) {
        return "max-stall";
    }
    if (one_metric_ && budget_.target && best <= *budget_.target) {
        return "target";
    }
    if (one_metric_ && budget_.gap > 0 && best - recorder_.bound() <= budget_.gap * best) {
        return "gap";
    }
    return nullptr;
}

}  // namespace tessera::search
