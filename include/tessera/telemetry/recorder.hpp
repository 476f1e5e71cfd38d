// What a running search tells about itself. Workers write, one sampler reads.
//
//   Worker     counters of one thread: relaxed atomics on cache lines of its own, no locks
//   Phase      how far the search is: done of total
//   Recorder   all of them, and what is rare: incumbents, bound, front, log lines, checkpoints
//
// A mapper or strategy takes mapper::Options::recorder; if that is null it makes a Recorder of its
// own, which nobody reads:
//
//     telemetry::Recorder unread;
//     telemetry::Recorder& recorder = options.recorder ? *options.recorder : unread;
//     telemetry::Worker& worker = recorder.worker(thread, "random");
//     ...
//     worker.generated();
//     if (!legal) worker.rejected(telemetry::Reason::capacity);
//     else { worker.evaluated(); if (recorder.improves(v)) recorder.incumbent({...}); }
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tessera::telemetry {

/// Why a candidate did not become a result.
enum class Reason : std::uint8_t {
    constraint,    ///< a constraint of the specification
    capacity,      ///< a memory is too small
    fanout,        ///< more spatial instances than there are
    loop_limit,    ///< more fused or spatial loops than allowed
    best_effort,   ///< another candidate uses more of the hardware, as was asked for
    incompatible,  ///< does not fit what the other Einsums do
    illegal,       ///< refused by the legality checker
    error,         ///< the cost model or a plugin failed on it
    bound,         ///< cannot beat what is known
    dominated,     ///< another one is as good in every respect
    duplicate,     ///< seen before
};
inline constexpr std::size_t n_reasons = 11;

/// "capacity"
const char* name(Reason reason);
/// True: dropped although it may be legal (bound, dominated, duplicate).
bool is_pruning(Reason reason);

enum class WorkerState : std::uint8_t { idle, running, done, failed };
const char* name(WorkerState state);

/// Counters of one thread.
/// Thread rule: written by one thread at a time, read by any.
class alignas(64) Worker {
public:
    /// Candidates looked at, legal or not.
    void generated(std::uint64_t n = 1) {
        add(generated_, n);
    }
    /// Candidates whose cost was computed.
    void evaluated(std::uint64_t n = 1) {
        add(evaluated_, n);
    }
    /// What was asked of pmapping tables, as a share of the work that it was to make them.
    void charged(double share) {
        charged_.store(charged_.load(std::memory_order_relaxed) + share, std::memory_order_relaxed);
    }
    void rejected(Reason reason, std::uint64_t n = 1) {
        add(rejected_[static_cast<std::size_t>(reason)], n);
    }
    /// What it works on: indices of an Einsum and of a template, or -1.
    void doing(int einsum, int item) {
        einsum_.store(einsum, std::memory_order_relaxed);
        item_.store(item, std::memory_order_relaxed);
    }
    void state(WorkerState state) {
        state_.store(state, std::memory_order_relaxed);
    }

    std::uint64_t generated_count() const {
        return generated_.load(std::memory_order_relaxed);
    }
    std::uint64_t evaluated_count() const {
        return evaluated_.load(std::memory_order_relaxed);
    }
    std::uint64_t rejected_count(Reason reason) const {
        return rejected_[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
    }
    double charged_share() const {
        return charged_.load(std::memory_order_relaxed);
    }
    int einsum() const {
        return einsum_.load(std::memory_order_relaxed);
    }
    int item() const {
        return item_.load(std::memory_order_relaxed);
    }
    WorkerState state() const {
        return state_.load(std::memory_order_relaxed);
    }

private:
    // One writer: load and store are cheaper than an atomic addition.
    static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
        counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }

    std::atomic<std::uint64_t> generated_{0}, evaluated_{0};
    std::array<std::atomic<std::uint64_t>, n_reasons> rejected_{};
    std::atomic<double> charged_{0};
    std::atomic<std::int32_t> einsum_{-1}, item_{-1};
    std::atomic<WorkerState> state_{WorkerState::idle};
};

/// A step of the search. Thread rule: any thread.
struct Phase {
    std::string name, unit;  ///< "tile shapes", "templates"; fixed once made
    std::atomic<std::uint64_t> done{0}, total{0};
    std::atomic<int> passes{0};       ///< how often it was begun
    std::atomic<double> since_s{-1};  ///< begun at; negative: not running
    std::atomic<double> spent_s{0};   ///< in finished passes

    void advance(std::uint64_t n = 1) {
        done.fetch_add(n, std::memory_order_relaxed);
    }
};

/// How far one Einsum is. Thread rule: any thread.
struct EinsumProgress {
    std::string name;  ///< fixed once made
    std::atomic<std::uint64_t> templates_done{0}, templates_total{0};
    std::atomic<std::uint64_t> pareto{0};  ///< pmappings of use
    std::atomic<std::uint64_t> joined{0};  ///< partial mappings after it was joined
};

/// A number that only one search method knows, such as a temperature. Thread rule: any thread.
struct Field {
    std::string name, unit;  ///< fixed once made
    std::atomic<double> value{0};
};

/// A mapping better than all before it.
struct Incumbent {
    double value = 0;  ///< of the first metric, SI
    double energy_j = 0, latency_s = 0;
    std::string found_by;  ///< mapper or strategy: "ffm", "search:annealing"
    std::string detail;    ///< step or move: "join", "swap loops"; may be empty
    int worker = -1;
    /// Makes mapping.yaml. Called later, by the sampler's thread: it must own (share) all it uses.
    std::function<std::string()> mapping;
    double time_s = 0;            ///< set by the recorder: since its construction
    std::uint64_t evaluated = 0;  ///< set by the recorder: evaluations so far
    double cpu_s = 0;             ///< set by the recorder: of the process so far
    double charged = 0;           ///< set by the recorder: Worker::charged so far
};

struct FrontPoint {
    double energy_j = 0, latency_s = 0;
};

enum class LogLevel : std::uint8_t { info, warning, error };

/// Something that happened, in order. What is set depends on the kind.
struct Event {
    enum class Kind : std::uint8_t { phase, incumbent, bound, log, checkpoint };
    Kind kind = Kind::log;
    double time_s = 0;
    std::string text;  ///< phase: its name; log: the line; checkpoint: the state
    double value = 0;  ///< bound
    LogLevel level = LogLevel::info;
    std::optional<Incumbent> incumbent;
};

/// Thread rule: everything may be called from any thread unless said otherwise.
class Recorder {
public:
    Recorder() = default;
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    /// What is minimised: "energy", "latency", "edp". Several: incumbents form a Pareto set.
    /// Before the search starts; default {"edp"}.
    void set_metrics(std::vector<std::string> metrics);
    const std::vector<std::string>& metrics() const {
        return metrics_;
    }

    /// The counters of thread `index`; made when first asked for, never moved. `source`: the mapper
    /// or strategy the thread works for, by which the comparison is reckoned.
    Worker& worker(std::size_t index, const std::string& source = "");
    /// Ends the phase that runs and begins this one (again, if the name is known). `total` 0:
    /// unknown. The reference stays valid.
    Phase& begin_phase(const std::string& name, std::uint64_t total = 0,
                       const std::string& unit = "");
    void end_phase();
    /// More to do in the phase that runs. \pre a phase runs
    Phase& extend_phase(std::uint64_t more);
    /// Names the Einsums, once, before workers refer to them.
    void set_einsums(const std::vector<std::string>& names);
    /// \pre index < number of names given
    EinsumProgress& einsum(std::size_t index) {
        return einsums_[index];
    }
    /// Made when first asked for.
    Field& field(const std::string& name, const std::string& unit = "");

    /// Cheap test, meant for every evaluation: is the value below the best of the first metric?
    bool improves(double value) const noexcept {
        return value < best_.load(std::memory_order_relaxed);
    }
    /// Keeps it if it is better than what is known (several metrics: if none known dominates or
    /// equals it). \returns whether it was kept.
    bool incumbent(Incumbent found);
    /// Infinity: none yet.
    double best() const noexcept {
        return best_.load(std::memory_order_relaxed);
    }
    /// Raises the proven lower bound of the first metric; a lower value is ignored.
    void bound(double value);
    /// Minus infinity: none.
    double bound() const noexcept {
        return bound_.load(std::memory_order_relaxed);
    }
    /// Replaces the Pareto front that is shown. Without a call it is made of the incumbents.
    void front(std::vector<FrontPoint> points);
    void log(const std::string& line, LogLevel level = LogLevel::info);

    /// Evaluations of all workers.
    std::uint64_t evaluated() const;
    /// Worker::charged of all.
    double charged() const;
    /// Evaluations since the last incumbent.
    std::uint64_t stalled() const;

    /// True from time to time, when state should be saved: the search then calls checkpoint().
    bool checkpoint_due() const noexcept {
        return checkpoint_due_.load(std::memory_order_relaxed);
    }
    /// State from which the search can go on, in its own words (UTF-8 text). Given back in
    /// mapper::Options::resume. Call it also without being asked when something was proven that
    /// should not be lost.
    void checkpoint(std::string state);
    /// Whether somebody stores what checkpoint() gives. What takes time to make is not made for
    /// nobody.
    bool stores_checkpoints() const noexcept {
        return stores_checkpoints_.load(std::memory_order_relaxed);
    }

    /// Seconds since construction.
    double now_s() const;

    // ---- for the sampler ----
    /// Events are kept from now on. Before, nobody would take them. `checkpoints`: whether those
    /// of kind checkpoint are stored.
    void listen(bool checkpoints = true) noexcept {
        stores_checkpoints_.store(checkpoints);
        listening_.store(true);
    }
    void ask_for_checkpoint() noexcept {
        checkpoint_due_.store(true, std::memory_order_relaxed);
    }
    /// Waits until something happened, at most this long.
    void wait(std::chrono::milliseconds at_most);
    /// Wakes wait().
    void wake();
    /// What happened since the last call, in order.
    std::vector<Event> take_events();

    struct Counted {
        std::string source;
        const Worker* worker = nullptr;
    };
    /// Stable pointers; the lists only grow.
    std::vector<Counted> workers() const;
    std::vector<const Phase*> phases() const;
    std::vector<const Field*> fields() const;
    std::vector<const EinsumProgress*> einsums() const;
    std::vector<FrontPoint> front() const;

private:
    void push(Event event);
    void end_phase_locked();
    bool keeps(const Incumbent& found) const;

    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::vector<std::string> metrics_{"edp"};
    std::atomic<double> best_{std::numeric_limits<double>::infinity()};
    std::atomic<double> bound_{-std::numeric_limits<double>::infinity()};
    std::atomic<std::uint64_t> evaluated_at_incumbent_{0};
    std::atomic<bool> checkpoint_due_{false}, listening_{false}, stores_checkpoints_{false};

    mutable std::mutex lists_;  ///< guards the lists below, not what they hold
    struct WorkerEntry {
        std::string source;
        Worker worker;
    };
    std::deque<WorkerEntry> workers_;
    std::deque<Phase> phases_;
    std::deque<Field> fields_;
    std::deque<EinsumProgress> einsums_;
    Phase* running_ = nullptr;

    mutable std::mutex rare_;  ///< guards events, incumbents and the front
    std::condition_variable happened_;
    bool woken_ = false;
    std::vector<Event> events_;
    std::vector<FrontPoint> front_, incumbent_front_;
};

}  // namespace tessera::telemetry
