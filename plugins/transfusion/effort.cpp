#include "effort.hpp"

#include "tessera/base/error.hpp"

namespace tessera::transfusion {

namespace {

telemetry::Recorder& recorder_of(const mapper::Options& options, telemetry::Recorder& unread) {
    return options.recorder != nullptr ? *options.recorder : unread;
}

}  // namespace

Effort::Effort(const mapper::Options& options, const std::string& name)
    : max_evals_(options.budget.max_evals),
      worker_(recorder_of(options, unread_).worker(0, name)),
      watch_(options.budget, options.stop, recorder_of(options, unread_),
             options.metrics.size() == 1) {}

void Effort::evaluated(std::uint64_t n) {
    evaluated_ += n;
    worker_.evaluated(n);
    if (max_evals_ > 0 && evaluated_ >= max_evals_) {
        watch_.end("max-evals");
    }
}

bool Effort::over() {
    if (!cut_since_ && watch_.stopped()) {
        cut_since_ = std::chrono::steady_clock::now();
    }
    return cut_since_.has_value();
}

void Effort::poll() {
    constexpr auto patience = std::chrono::milliseconds(100);
    if (over() && std::chrono::steady_clock::now() > *cut_since_ + patience) {
        throw LimitReached("a limit ended the search before any mapping was found");
    }
}

}  // namespace tessera::transfusion
