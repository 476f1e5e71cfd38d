// Makes snapshots of a recorder. Keeps what has a history: incumbents, bounds, rates, log lines.
#pragma once

#include <deque>
#include <map>

#include "telemetry/sampler.hpp"

namespace tessera::telemetry {

class Sampler::Builder {
public:
    Builder(Recorder& recorder, Settings settings)
        : recorder_(recorder), settings_(std::move(settings)) {}

    /// `shown`: the best mapping is.
    Snapshot build(const std::vector<Event>& events, RunState state, const std::string& stop_reason,
                   bool shown);

private:
    struct Rate {
        std::deque<std::pair<double, std::uint64_t>> samples;  ///< time, count
        double moved_s = 0;
        double of(double now_s, std::uint64_t count);
    };
    struct Source {
        std::uint64_t improved = 0;
        std::vector<Step> history;
        Rate rate;
    };

    void take(const std::vector<Event>& events);
    void take_incumbent(const Incumbent& found);
    void add_phases(Snapshot& snapshot) const;
    void add_workers(Snapshot& snapshot);
    void add_comparison(Snapshot& snapshot, const std::map<std::string, std::uint64_t>& evaluated);
    void add_values(Snapshot& snapshot) const;
    void add_budgets(Snapshot& snapshot) const;
    void add_rates(Snapshot& snapshot);
    void add_mapping(Snapshot& snapshot, bool at_once);

    Recorder& recorder_;
    const Settings settings_;
    std::uint64_t serial_ = 0, improved_ = 0;
    std::vector<IncumbentView> incumbents_;
    std::vector<Step> bounds_;
    std::deque<LogView> log_;
    std::optional<double> checkpoint_s_;
    std::map<int, Rate> worker_rates_;
    std::map<int, std::vector<IncumbentView>> worker_incumbents_;
    std::map<std::string, Source> sources_;
    std::optional<Incumbent> best_;  ///< of the first metric
    bool described_ = true, describes_ = true;
    double next_description_s_ = 0;
    MappingView mapping_;
    Rate rate_;
    std::vector<double> rate_history_;
    double last_rate_s_ = 0;
};

}  // namespace tessera::telemetry
