// Islands: several objects of one strategy, each with a seed and a worker of its own, that work
// side by side and tell each other the best mapping now and then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/base/json.hpp"
#include "tessera/base/parallel.hpp"
#include "tessera/search/driver.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::search {

/// What is found depends on the seed and the number of islands, not on the threads.
class Islands {
public:
    /// Takes a strategy that was not started as the first island and makes the others. `settings`
    /// must outlive it; `stop` ends rounds.
    Islands(std::shared_ptr<SearchStrategy> first, const DriverSettings& settings,
            const std::atomic<bool>* stop, telemetry::Recorder& recorder,
            const std::string& source);

    /// Before everything else. \throws base::Stopped as strategies do
    void start(const Space& space);

    /// Every island goes on until its round, about 20 ms of work by what candidates are, is over,
    /// or for 50 ms of time. A new round takes at most `most_evals` candidates altogether. `used`:
    /// SearchStrategy::budget_used. \returns the candidates that were told.
    std::uint64_t go_on(std::uint64_t most_evals, double used);
    /// All islands are at the end of a round: only there what they do depends on each other.
    bool round_over() const;

    /// What was found while they went on that no island knew to be worse: the best, or for several
    /// metrics the Pareto set of each island. In the order of islands.
    std::vector<Candidate>& found() {
        return found_;
    }
    /// A legal point with its value: every island hears of it.
    void begin_with(const Candidate& known);

    /// The best of all goes to the islands that have none as good.
    void exchange();

    /// No island has anything left to propose.
    bool ended() const;
    /// exhausted() of all of them.
    bool exhausted() const;

    /// What all have used: what they were trained on once, what they set themselves by each.
    Preparation preparation() const;

    /// For the caller's thread, between rounds.
    SpaceWorker& worker() {
        return *islands_.front().worker;
    }

    /// Null if the strategy cannot be saved.
    base::Json save() const;
    /// False: not understood.
    bool restore(const nlohmann::json& states);

private:
    struct Island {
        std::shared_ptr<SearchStrategy> strategy;
        std::unique_ptr<SpaceWorker> worker;
        telemetry::Worker* counters = nullptr;
        std::vector<Candidate> batch, found;
        Candidate best;
        std::uint64_t told = 0;  ///< since it went on
        // Of its round.
        std::uint64_t evals_left = 0, work = 0;
        bool round_over = true;
        bool ended = false;
    };
    void begin_round(std::uint64_t most_evals, double used);
    void run(Island& island);
    void keep(Island& island, const Candidate& c) const;

    const DriverSettings& settings_;
    const std::atomic<bool>* stop_;
    std::vector<Island> islands_;
    std::vector<Candidate> found_;
    base::Threads threads_;
};

}  // namespace tessera::search
