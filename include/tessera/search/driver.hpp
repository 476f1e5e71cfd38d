// Runs a search strategy on a space: asks for candidates, makes and evaluates them on all threads,
// tells the outcomes, until the budget or the strategy ends. One for every mapspace.
//
// What is found depends on the seed, the batch size and the number of islands, not on the number of
// threads, as long as no limit on time cuts it short.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/budget.hpp"
#include "tessera/search/space_worker.hpp"
#include "tessera/search/watch.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::search {

/// Where a search puts what it finds.
class Findings {
public:
    virtual ~Findings() = default;
    /// A legal candidate that may be better than those before. One that does not stand a closer
    /// look gets verdict `refused`.
    virtual void offer(Candidate& candidate) = 0;
    /// The best points, for the state of the search.
    virtual std::vector<Point> points() const = 0;
};

struct DriverSettings {
    std::string strategy;  ///< its name, for messages and records
    std::function<std::shared_ptr<SearchStrategy>()> make_strategy;
    std::function<std::unique_ptr<SpaceWorker>()> make_worker;
    /// Sets Outcome::value of a legal outcome; empty: the worker has done so.
    std::function<void(Outcome&)> set_value;
    /// Whether the first of two legal outcomes is the better one; empty: that of less value.
    std::function<bool(const Outcome&, const Outcome&)> better;
    std::uint64_t seed = 1;
    int threads = 1;
    std::size_t batch = 1024;   ///< candidates that are evaluated together, at most
    std::size_t n_islands = 4;  ///< objects of a strategy that works on few candidates at a time
    base::Budget budget;
    bool several_metrics = false;  ///< a Pareto set is looked for
    /// Asked once, where nothing was found for a while: whether it is proved that there is nothing.
    /// Empty: not asked.
    std::function<bool()> proves_infeasible;
};

/// One search. `watch` and `recorder` must outlive it.
class Driver {
public:
    /// Makes the strategy. \throws UserError if it never ends and the budget has no limit.
    Driver(DriverSettings settings, Watch& watch, telemetry::Recorder& recorder);
    ~Driver();

    /// The whole search. `start`: legal points to begin with, with their values. `resume`: what the
    /// recorder was given as checkpoint, or empty; the points to begin with are known then.
    /// \throws UserError if that is no such state, PluginError if the strategy does not understand
    /// it, what an evaluation throws.
    void run(const Space& space, Findings& findings, const std::vector<Candidate>& start,
             const std::string& resume);

    /// The strategy proposed every point: the best one is optimal.
    bool ended() const;
    /// No mapping is legal: DriverSettings::proves_infeasible said so.
    bool infeasible() const;
    std::uint64_t evaluated() const;
    /// What the strategy used for something else than the search, and until when.
    Preparation preparation() const;
    double tuned_s() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::search
