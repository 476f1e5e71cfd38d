// What the threads of one search share: model, incumbent, limits, log.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "tessera/telemetry/recorder.hpp"
#include "timeloop/mapper.hpp"
#include "timeloop/mapspace.hpp"

namespace tessera::timeloop {

/// Relative difference up to which two values of an objective are equal; counts are exact.
double tie_of(const Objective& objective);

/// The value of objective `first`, raised by less than a millionth by those after it, so that a
/// search by one number goes to what is better in these where nothing else differs.
double guide(const std::vector<Objective>& objectives, std::size_t first, const Cost& cost,
             int storage_levels);

/// One search. What it evaluates polls `ended` (base/stop.hpp): evaluations of large arrays take
/// longer than a stop may.
struct Pool {
    Pool(const MapSpace& space, const MapperSettings& settings, const MapperHooks& hooks);

    const MapSpace& space;
    const MapperSettings& settings;
    const MapperHooks& hooks;
    CompiledModel model;
    /// As they are asked for. Behind a single one the optimal search has another that decides
    /// between equal mappings, and of which nothing is said.
    std::vector<Objective> objectives;
    std::size_t asked = 1;  ///< of them
    int levels;
    int threads;
    double time_limit_s;
    const char* time_limit_name = "time-limit";
    bool timeloop_order = false;  ///< incumbents are compared by is_better()
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

    std::string found_by = "timeloop";  ///< who incumbents are said to come from

    std::mutex mutex;  ///< guards everything below but the atomics
    MapperResult result;
    std::atomic<std::uint64_t> evaluated{0};
    std::uint64_t walk_limit = 0;    ///< mappings per thread of a walk; 0: no limit of ours
    std::atomic<bool> ended{false};  ///< a limit of the whole search is met
    std::atomic<const char*> reason{nullptr};      ///< which; null: none
    std::atomic<const char*> limit_name{nullptr};  ///< the same, as users write it

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    double value(const Cost& cost) const {
        return objective_value(objectives.front(), cost, levels);
    }
    bool better(const Cost& a, const Cost& b) const {
        return timeloop_order ? is_better(a, b, objectives, levels)
                              : compare_in_order(a, b, objectives, levels) < 0;
    }
    /// Offers a mapping to the incumbent. \return it is the new best of the whole search.
    bool offer(const Mapping& mapping, const Cost& cost);
    /// Another mapping of the best one's value takes its place.
    void replace(const Mapping& mapping, const Cost& cost);
    /// Clock, Ctrl-C and the limits of the budget; sets `ended`.
    bool over();
    /// Of these, what no thread of the search has to count. Looked at every 5 ms besides, while a
    /// thread is in a long evaluation.
    bool out_of_time();
    /// Until a limit is met or `done`.
    void watch_clock(const std::stop_token& done);
    /// Sets `ended`; the first reason counts. `limit`: the reason as users write it.
    void end(const char* why, const char* limit = nullptr);
    /// One of Timeloop's own limits ended a thread.
    void note_limit(const std::string& name);
    void log(const std::string& line);

    /// An objective's value in SI units, as the recorder wants it.
    double recorded(double value) const;
    /// Tells the recorder of evaluations since the last call.
    void count_evaluations();

    /// What incumbents write themselves with: they outlive the search.
    std::shared_ptr<const Problem> problem;
    std::shared_ptr<const Architecture> architecture;
    telemetry::Recorder unread;
    telemetry::Recorder& recorder;
    std::uint64_t counted = 0;  ///< evaluations that the recorder knows of
    std::jthread clock;         ///< last: it looks at the members above
};

/// Runs Timeloop's own algorithms.
void run_walks(Pool& pool);
/// Draws from a space with imperfect factors, or runs through it if it is small, beside what is
/// already found.
void run_imperfect(Pool& pool);
/// Nothing was found: looks at some mappings (all, if they are few) for the nearest misses.
void run_for_reasons(Pool& pool);
/// Runs ours.
void run_optimal(Pool& pool);
/// Runs a search strategy.
void run_strategy(Pool& pool);

}  // namespace tessera::timeloop
