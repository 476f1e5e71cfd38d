#include "timeloop/mapper/pool.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <sstream>
#include <system_error>
#include <thread>

#include "telemetry/process.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "timeloop/write.hpp"

namespace tessera::timeloop {
namespace {

constexpr auto clock_period = std::chrono::milliseconds(5);

}  // namespace

Pool::Pool(const MapSpace& s, const MapperSettings& m, const MapperHooks& h)
    : space(s),
      settings(m),
      hooks(h),
      model(s.problem(), s.architecture(), h.model),
      objectives(m.objectives),
      levels(s.architecture().levels()),
      threads(m.threads > 0 ? m.threads
                            : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))),
      recorder(h.recorder ? *h.recorder : unread) {
    if (objectives.empty()) {
        objectives.emplace_back();
    }
    asked = objectives.size();
    const bool optimal =
        !m.strategy && m.algorithm.value_or(Algorithm::optimal) == Algorithm::optimal;
    if (optimal && asked == 1 && objectives.front().kind != Objective::Kind::edp) {
        const bool energy = objectives.front().kind == Objective::Kind::energy;
        objectives.push_back({energy ? Objective::Kind::delay : Objective::Kind::energy, 0});
    }
    time_limit_s = m.time_limit_s;
    if (h.budget.max_time_s > 0 && (time_limit_s <= 0 || h.budget.max_time_s < time_limit_s)) {
        time_limit_s = h.budget.max_time_s;
        time_limit_name = "--max-time";
    }
    const base::Budget& b = h.budget;
    const bool bounded =
        time_limit_s > 0 || b.max_evals > 0 || b.max_cpu_s > 0 || m.target || b.target || b.gap > 0;
    const bool endless = m.strategy ? m.search_size == 0 && b.stall_evals == 0 : optimal;
    if (endless && !bounded) {
        time_limit_s = default_time_limit_s;
        time_limit_name = "time-limit (60 s where nothing else limits the search)";
    }
    if (h.recorder != nullptr) {
        problem = std::make_shared<const Problem>(s.problem());
        architecture = std::make_shared<const Architecture>(s.architecture());
    }
    result.threads = threads;
    result.mapspace_size = s.size_text();
    try {
        clock = std::jthread([this](const std::stop_token& done) { watch_clock(done); });
    } catch (const std::system_error&) {  // no more threads: those that search look at it
    }
}

void Pool::watch_clock(const std::stop_token& done) {
    std::mutex own;
    std::condition_variable_any pause;
    std::unique_lock lock(own);
    while (!done.stop_requested() && !out_of_time()) {
        pause.wait_for(lock, done, clock_period, [] { return false; });
    }
}

bool Pool::offer(const Mapping& mapping, const Cost& cost) {
    const std::lock_guard lock(mutex);
    if (result.best && !better(cost, result.cost)) {
        return false;
    }
    result.best = mapping;
    result.cost = cost;
    result.best_s = seconds();
    const double value = this->value(cost);
    const auto met = [&](const std::optional<double>& target) {
        return target && value <= *target;
    };
    if (met(settings.target)) {
        end("target");
    } else if (met(hooks.budget.target)) {
        end("target", "--target");
    }
    if (hooks.improved) {
        hooks.improved(mapping, cost);
    }
    telemetry::Incumbent incumbent;
    incumbent.value = recorded(value);
    incumbent.energy_j = cost.energy_pj * 1e-12;
    incumbent.latency_s = static_cast<double>(cost.cycles) * hooks.cycle_s;
    incumbent.found_by = found_by;
    if (problem) {
        incumbent.detail = compact_text(*problem, mapping);
        incumbent.mapping = [problem = problem, architecture = architecture, mapping] {
            std::ostringstream text;
            write_map_yaml(text, *problem, *architecture, mapping);
            return text.str() + "\n";
        };
    }
    recorder.incumbent(std::move(incumbent));
    return true;
}

void Pool::replace(const Mapping& mapping, const Cost& cost) {
    const std::lock_guard lock(mutex);
    result.best = mapping;
    result.cost = cost;
}

void Pool::end(const char* why, const char* limit) {
    const char* none = nullptr;
    if (reason.compare_exchange_strong(none, why)) {
        limit_name = limit != nullptr ? limit : why;
    }
    ended = true;
}

void Pool::note_limit(const std::string& name) {
    const std::lock_guard lock(mutex);
    if (std::find(result.limits.begin(), result.limits.end(), name) == result.limits.end()) {
        result.limits.push_back(name);
    }
}

bool Pool::out_of_time() {
    if (ended) {
        return true;
    }
    const base::Budget& budget = hooks.budget;
    if (hooks.stop && hooks.stop->load(std::memory_order_relaxed)) {
        end("stop", "an interrupt");
    } else if (time_limit_s > 0 && seconds() >= time_limit_s) {
        end("max-time", time_limit_name);
    } else if (budget.max_cpu_s > 0 &&
               static_cast<double>(std::clock()) / CLOCKS_PER_SEC >= budget.max_cpu_s) {
        end("max-cpu-time", "--max-cpu-time");
    } else if (budget.max_memory_bytes > 0 &&
               telemetry::resident_bytes() >= budget.max_memory_bytes) {
        end("max-memory", "--max-memory");
    }
    return ended;
}

bool Pool::over() {
    if (out_of_time()) {
        return true;
    }
    const base::Budget& budget = hooks.budget;
    if (base::stop_asked()) {
        end("stop", "an interrupt");
    } else if (budget.max_evals > 0 && evaluated >= budget.max_evals) {
        end("max-evals", "--max-evals");
    } else if (budget.gap > 0 && std::isfinite(recorder.best()) &&
               recorder.best() - recorder.bound() <= budget.gap * recorder.best()) {
        end("gap", "--gap");
    }
    return ended;
}

double Pool::recorded(double value) const {
    switch (objectives.front().kind) {
        case Objective::Kind::edp:
        case Objective::Kind::delay:
            return value * hooks.cycle_s;
        case Objective::Kind::energy:
            return value * 1e-12;
        default:
            return value;
    }
}

void Pool::count_evaluations() {
    const std::lock_guard lock(mutex);
    const std::uint64_t now = evaluated;
    telemetry::Worker& worker = recorder.worker(0, "timeloop");
    worker.generated(now - counted);
    worker.evaluated(now - counted);
    counted = now;
}

void Pool::log(const std::string& line) {
    if (hooks.log) {
        const std::lock_guard lock(mutex);
        hooks.log(line);
    }
}

}  // namespace tessera::timeloop
