// Several mappers on one problem: each starts alone, one after the other, with the same budget.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/live_run.hpp"
#include "telemetry/sampler.hpp"
#include "tessera/base/budget.hpp"

namespace tessera::cli {

/// The best value from some time on.
struct ComparisonPoint {
    double time_s = 0;  ///< since its search began
    double value = 0;
    std::uint64_t evaluated = 0;
    double cpu_s = 0;    ///< of the process since its search began
    double charged = 0;  ///< mapper::Statistics::charged
};

/// What was evaluated for something else than its value, see search::Preparation.
struct Preparation {
    std::uint64_t trained_on = 0, tuned_by = 0;
    double tuned_s = 0;  ///< of the search, until it had set itself

    bool any() const {
        return trained_on > 0 || tuned_by > 0;
    }
};
/// "trained on 200000, set itself by 950 in 52 ms"; "-": nothing
std::string text(const Preparation& preparation);

/// One search of one contender, or one evaluation of a given mapping.
struct Trial {
    enum class Status : std::uint8_t {
        not_run,     ///< an interrupt came before
        optimal,     ///< proven
        feasible,    ///< stopped before a proof
        infeasible,  ///< no mapping is legal, proven
        nothing,     ///< stopped before any mapping was found
        evaluated,   ///< a given mapping
        failed,      ///< `error` says why
    };
    std::uint64_t seed = 0;
    Status status = Status::not_run;
    std::optional<double> value, energy_j, latency, bound;  ///< latency: s, or cycles (Timeloop)
    double wall_s = 0, cpu_s = 0;
    std::uint64_t generated = 0, evaluated = 0;
    double charged = 0;              ///< mapper::Statistics::charged
    std::uint64_t memory_bytes = 0;  ///< most that was resident while it ran
    Preparation preparation;
    std::string stopped_by, error;
    std::vector<std::string> reasons;    ///< infeasible: mapper::Result::reasons
    std::vector<ComparisonPoint> curve;  ///< every better mapping
    std::vector<std::pair<std::string, std::string>> files;  ///< name ending, content

    bool found() const {
        return value.has_value();
    }
    /// (value - bound) / value; 0 if proven.
    std::optional<double> gap() const;
    /// Seconds, of the wall clock or of CPU time, until the value was at most `goal`.
    std::optional<double> time_to(double goal, bool of_cpu = false) const;
    /// The best value at a time; infinity: none yet.
    double at(double time_s) const;
};

/// "optimal", "not run"
const char* name(Trial::Status status);

/// What the dashboard shows of a trial that has ended; the name stays.
void show_trial(telemetry::ContenderView& view, const Trial& trial);

/// A contender's name in ids and file names.
std::string plain_name(std::string text);

/// One of those that are compared.
class Contender {
public:
    explicit Contender(std::string name) : name_(std::move(name)) {}
    virtual ~Contender() = default;

    struct Start {
        std::uint64_t seed = 0;
        base::Budget budget;
        telemetry::Recorder* recorder = nullptr;
        const std::atomic<bool>* stop = nullptr;
    };
    /// Fills everything but the curve, the clocks and the counters. \throws tessera::Error
    virtual void run(const Start& start, Trial& trial) = 0;
    /// False: a given mapping, which is evaluated once.
    virtual bool searches() const {
        return true;
    }
    virtual std::vector<telemetry::PluginView> plugins() const {
        return {};
    }
    /// What the dashboard shows of a mapping; empty: nothing.
    virtual std::function<telemetry::MappingView(const std::string&)> describe() const {
        return {};
    }

    const std::string& name() const {
        return name_;
    }
    std::vector<Trial> trials;

private:
    std::string name_;
};

struct Comparison {
    std::vector<std::unique_ptr<Contender>> contenders;
    std::uint64_t first_seed = 0, n_seeds = 1;
    base::Budget budget;
    telemetry::RunIdentity run;  ///< `mapper` and `seed` are set for each search
    Ui ui = Ui::none;
    bool plain = false;
    /// Delivers what there is if a search does not react to the second Ctrl-C.
    std::function<void()> rescue;

    /// Runs all. Contenders take turns in going first, so that none always finds a warm machine.
    /// What a contender throws becomes its trial's error. \returns false if it was interrupted.
    bool run_all(std::ostream& err);

private:
    bool run_one(Contender& contender, Trial& trial, std::ostream& err);
    std::vector<telemetry::ContenderView> ended() const;
};

}  // namespace tessera::cli
