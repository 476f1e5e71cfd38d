// Runs a search strategy on Timeloop's mapspace.
#include <cmath>
#include <limits>

#include "tessera/plugin/registry.hpp"
#include "tessera/search/driver.hpp"
#include "tessera/search/point_text.hpp"
#include "timeloop/mapper/pool.hpp"
#include "timeloop/strategy/worker.hpp"

namespace tessera::timeloop {
namespace {

/// More than this is what later objectives do to Outcome::value.
constexpr double nearly = 1 + 1e-6;

/// Gives the pool what is better by its comparison.
class PoolFindings : public search::Findings {
public:
    PoolFindings(Pool& pool, const StrategySpace& space)
        : pool_(pool), worker_(space, pool.model, pool.objectives, pool.hooks.cycle_s) {}

    void offer(search::Candidate& candidate) override {
        const bool one = pool_.objectives.size() == 1;
        const bool equal = candidate.outcome.value == best_ && !points_.empty();
        if (candidate.outcome.value > best_ * (one ? 1 : nearly) ||
            (equal && one && to_text(candidate.point) >= to_text(points_.front()))) {
            return;
        }
        worker_.evaluate(candidate.point);  // for its cost, which the pool compares
        const Cost cost = worker_.cost();
        if (pool_.offer(worker_.mapping(candidate.point), cost)) {
            best_ = candidate.outcome.value;
            points_ = {candidate.point};
        } else if (equal && same(cost) && to_text(candidate.point) < to_text(points_.front())) {
            // Which of several islands comes first is a matter of time.
            pool_.replace(worker_.mapping(candidate.point), cost);
            points_ = {candidate.point};
        }
    }
    std::vector<search::Point> points() const override {
        return points_;
    }

private:
    bool same(const Cost& cost) const {
        return compare_in_order(cost, pool_.result.cost, pool_.objectives, pool_.levels) == 0;
    }

    Pool& pool_;
    StrategyWorker worker_;
    double best_ = std::numeric_limits<double>::infinity();
    std::vector<search::Point> points_;
};

search::DriverSettings driver_settings(const Pool& pool, const StrategySpace& space) {
    const StrategySettings& strategy = *pool.settings.strategy;
    search::DriverSettings settings;
    settings.strategy = strategy.name;
    settings.make_strategy = [&strategy] {
        return plugin::Registry<search::SearchStrategy>::instance().create(strategy.name,
                                                                           strategy.knobs);
    };
    settings.make_worker = [&pool, &space] {
        return std::make_unique<StrategyWorker>(space, pool.model, pool.objectives,
                                                pool.hooks.cycle_s);
    };
    settings.seed = pool.settings.seed;
    settings.threads = pool.threads;
    settings.batch = strategy.batch;
    settings.n_islands = strategy.islands;
    settings.budget = pool.hooks.budget;
    settings.budget.max_time_s = pool.time_limit_s;
    if (settings.budget.max_evals == 0) {
        settings.budget.max_evals = pool.settings.search_size;
    }
    return settings;
}

/// The limit that a search of strategies ended at, as users write it.
const char* limit_name(const Pool& pool, const std::string& reason) {
    if (reason == "max-evals") {
        return pool.hooks.budget.max_evals > 0 ? "--max-evals" : "search-size";
    }
    return reason == "max-stall" ? "--max-stall" : nullptr;
}

}  // namespace

void run_strategy(Pool& pool) {
    pool.found_by = "search:" + pool.settings.strategy->name;
    const StrategySpace space(pool.space, pool.model);
    const search::DriverSettings settings = driver_settings(pool, space);
    base::Budget watched;  // the pool looks at the other limits
    watched.stall_evals = settings.budget.stall_evals;
    search::Watch watch(watched, &pool.ended, pool.recorder);
    PoolFindings findings(pool, space);
    search::Driver driver(settings, watch, pool.recorder);
    std::vector<search::Candidate> start;
    const auto worker = settings.make_worker();
    for (const Mapping& mapping : pool.hooks.start) {
        search::Candidate& known = start.emplace_back();
        if (space.encode(mapping, known.point)) {
            known.outcome = worker->evaluate(known.point);
        }
        if (!known.outcome.legal()) {
            start.pop_back();
        } else {
            findings.offer(known);
        }
    }
    driver.run(space, findings, start, "");
    pool.evaluated = driver.evaluated();
    pool.result.total = pool.result.valid = driver.evaluated();
    if (watch.reason() != nullptr) {
        pool.end(watch.reason(), limit_name(pool, watch.reason()));
    }
    if (!driver.ended()) {
        if (watch.reason() == nullptr) {
            pool.end("strategy");
        }
    } else if (!pool.result.best) {
        pool.result.proof = Proof::infeasible;
    } else if (pool.objectives.size() == 1) {
        pool.result.proof = Proof::optimal;
        pool.result.proven = 1;
        pool.result.bound = pool.value(pool.result.cost);
    }
}

}  // namespace tessera::timeloop
