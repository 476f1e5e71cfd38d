#include "tessera/telemetry/recorder.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "order.hpp"
#include "telemetry/best_mappings.hpp"

namespace tessera::telemetry {

namespace {

Incumbent at(const FrontPoint& p) {
    Incumbent result;
    result.energy_j = p.energy_j;
    result.latency_s = p.latency_s;
    return result;
}

}  // namespace

const char* name(Reason reason) {
    static constexpr const char* names[] = {"constraint",  "capacity",     "fanout",   "loop limit",
                                            "best effort", "incompatible", "illegal",  "error",
                                            "bound",       "dominated",    "duplicate"};
    static_assert(std::size(names) == n_reasons);
    return names[static_cast<std::size_t>(reason)];
}

bool is_pruning(Reason reason) {
    return reason == Reason::bound || reason == Reason::dominated || reason == Reason::duplicate;
}

const char* name(WorkerState state) {
    static constexpr const char* names[] = {"idle", "running", "done", "failed"};
    return names[static_cast<std::size_t>(state)];
}

double Recorder::now_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Recorder::set_metrics(std::vector<std::string> metrics) {
    metrics_ = std::move(metrics);
}

Worker& Recorder::worker(std::size_t index, const std::string& source) {
    const std::lock_guard lock(lists_);
    while (workers_.size() <= index) {
        workers_.emplace_back();
    }
    if (!source.empty()) {
        workers_[index].source = source;
    }
    return workers_[index].worker;
}

Phase& Recorder::begin_phase(const std::string& name, std::uint64_t total,
                             const std::string& unit) {
    Phase* phase = nullptr;
    {
        const std::lock_guard lock(lists_);
        end_phase_locked();
        const auto known = std::find_if(phases_.begin(), phases_.end(),
                                        [&](const Phase& p) { return p.name == name; });
        if (known == phases_.end()) {
            phase = &phases_.emplace_back();
            phase->name = name;
            phase->unit = unit;
        } else {
            phase = &*known;
        }
        phase->done = 0;
        phase->total = total;
        ++phase->passes;
        phase->since_s = now_s();
        running_ = phase;
    }
    push({Event::Kind::phase, now_s(), name, 0, LogLevel::info, {}});
    return *phase;
}

Phase& Recorder::extend_phase(std::uint64_t more) {
    const std::lock_guard lock(lists_);
    running_->total += more;
    return *running_;
}

void Recorder::end_phase() {
    const std::lock_guard lock(lists_);
    end_phase_locked();
}

void Recorder::end_phase_locked() {
    if (running_ != nullptr) {
        running_->spent_s = running_->spent_s + now_s() - running_->since_s;
        running_->since_s = -1;
        running_ = nullptr;
    }
}

void Recorder::set_einsums(const std::vector<std::string>& names) {
    const std::lock_guard lock(lists_);
    if (!einsums_.empty()) {
        return;
    }
    for (const std::string& name : names) {
        einsums_.emplace_back().name = name;
    }
}

Field& Recorder::field(const std::string& name, const std::string& unit) {
    const std::lock_guard lock(lists_);
    for (Field& field : fields_) {
        if (field.name == name) {
            return field;
        }
    }
    Field& field = fields_.emplace_back();
    field.name = name;
    field.unit = unit;
    return field;
}

bool Recorder::keeps(const Incumbent& found) const {
    if (metrics_.size() <= 1) {
        if (incumbent_front_.empty()) {
            return true;
        }
        Incumbent known = at(incumbent_front_.back());
        known.value = best_.load(std::memory_order_relaxed);
        return is_better(metrics_, found, known);
    }
    return std::none_of(incumbent_front_.begin(), incumbent_front_.end(),
                        [&](const FrontPoint& p) { return covers(metrics_, at(p), found); });
}

bool Recorder::incumbent(Incumbent found) {
    found.time_s = now_s();
    found.evaluated = evaluated();
    found.cpu_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    found.charged = charged();
    const FrontPoint point{found.energy_j, found.latency_s};
    {
        const std::lock_guard lock(rare_);
        if (!std::isfinite(found.value) || !keeps(found)) {
            return false;
        }
        // What needs memory comes first: an incumbent that counts has been told.
        incumbent_front_.reserve(incumbent_front_.size() + 1);
        Event event{Event::Kind::incumbent, found.time_s, "", found.value, LogLevel::info, {}};
        event.incumbent = found;
        if (listening_) {
            events_.push_back(std::move(event));
            woken_ = true;
        }
        if (metrics_.size() <= 1) {
            incumbent_front_.clear();
        }
        std::erase_if(incumbent_front_,
                      [&](const FrontPoint& p) { return covers(metrics_, found, at(p)); });
        incumbent_front_.push_back(point);
        best_.store(std::min(best_.load(), found.value));
        evaluated_at_incumbent_.store(found.evaluated);
    }
    happened_.notify_one();
    return true;
}

void Recorder::bound(double value) {
    double known = bound_.load();
    do {
        if (!(value > known)) {
            return;
        }
    } while (!bound_.compare_exchange_weak(known, value));
    push({Event::Kind::bound, now_s(), "", value, LogLevel::info, {}});
}

void Recorder::front(std::vector<FrontPoint> points) {
    const std::lock_guard lock(rare_);
    front_ = std::move(points);
}

std::vector<FrontPoint> Recorder::front() const {
    const std::lock_guard lock(rare_);
    return front_.empty() ? incumbent_front_ : front_;
}

void Recorder::log(const std::string& line, LogLevel level) {
    push({Event::Kind::log, now_s(), line, 0, level, {}});
}

void Recorder::checkpoint(std::string state) {
    checkpoint_due_.store(false);
    push({Event::Kind::checkpoint, now_s(), std::move(state), 0, LogLevel::info, {}});
}

std::uint64_t Recorder::evaluated() const {
    const std::lock_guard lock(lists_);
    std::uint64_t sum = 0;
    for (const WorkerEntry& entry : workers_) {
        sum += entry.worker.evaluated_count();
    }
    return sum;
}

double Recorder::charged() const {
    const std::lock_guard lock(lists_);
    double sum = 0;
    for (const WorkerEntry& entry : workers_) {
        sum += entry.worker.charged_share();
    }
    return sum;
}

std::uint64_t Recorder::stalled() const {
    const std::uint64_t now = evaluated(), then = evaluated_at_incumbent_.load();
    return now > then ? now - then : 0;
}

void Recorder::push(Event event) {
    if (!listening_) {
        return;
    }
    {
        const std::lock_guard lock(rare_);
        events_.push_back(std::move(event));
        woken_ = true;
    }
    happened_.notify_one();
}

void Recorder::wake() {
    {
        const std::lock_guard lock(rare_);
        woken_ = true;
    }
    happened_.notify_one();
}

void Recorder::wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock(rare_);
    happened_.wait_for(lock, at_most, [this] { return woken_; });
    woken_ = false;
}

std::vector<Event> Recorder::take_events() {
    const std::lock_guard lock(rare_);
    return std::exchange(events_, {});
}

std::vector<Recorder::Counted> Recorder::workers() const {
    const std::lock_guard lock(lists_);
    std::vector<Counted> result;
    for (const WorkerEntry& entry : workers_) {
        result.push_back({entry.source, &entry.worker});
    }
    return result;
}

std::vector<const EinsumProgress*> Recorder::einsums() const {
    const std::lock_guard lock(lists_);
    std::vector<const EinsumProgress*> result;
    for (const EinsumProgress& einsum : einsums_) {
        result.push_back(&einsum);
    }
    return result;
}

std::vector<const Phase*> Recorder::phases() const {
    const std::lock_guard lock(lists_);
    std::vector<const Phase*> result;
    for (const Phase& phase : phases_) {
        result.push_back(&phase);
    }
    return result;
}

std::vector<const Field*> Recorder::fields() const {
    const std::lock_guard lock(lists_);
    std::vector<const Field*> result;
    for (const Field& field : fields_) {
        result.push_back(&field);
    }
    return result;
}

}  // namespace tessera::telemetry
