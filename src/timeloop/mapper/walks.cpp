// Threads that run Timeloop's own algorithms under Timeloop's own termination rules.
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "tessera/base/parallel.hpp"
#include "tessera/base/stop.hpp"
#include "timeloop/mapper/failures.hpp"
#include "timeloop/mapper/pool.hpp"
#include "timeloop/mapper/walk.hpp"

namespace tessera::timeloop {
namespace {

/// A search that is stopped still looks for its reasons for so long.
constexpr auto time_for_reasons = std::chrono::milliseconds(50);

struct Best {
    bool valid = false;
    Mapping mapping;
    Cost cost;
};

// What the threads exchange under `sync-interval`.
struct Exchange {
    std::mutex mutex;
    Best best;
};

template <class... T>
std::string text(const char* format, T... values) {
    char line[512];
    std::snprintf(line, sizeof line, format, values...);
    return line;
}

class Runner {
public:
    Runner(Pool& pool, Exchange& exchange, Algorithm algorithm, Pruning pruning, int thread)
        : pool_(pool),
          exchange_(exchange),
          settings_(pool.settings),
          several_(pool.objectives.size() > 1),
          thread_(thread),
          view_(pool.space, pruning),
          worker_(pool.recorder.worker(static_cast<std::size_t>(thread), "timeloop")),
          failures(pool.space, pool.settings.diagnostics) {
        view_.deal(static_cast<std::uint64_t>(thread), static_cast<std::uint64_t>(pool.threads));
        walk_ = make_walk(algorithm, settings_, view_, thread);
        // Shared out, rounded up.
        quota_ = settings_.search_size == 0 ? 0 : (settings_.search_size - 1) / pool.threads + 1;
    }

    void run() {
        try {
            walk();
        } catch (const base::Stopped&) {  // inside an evaluation, which counts for nothing
        }
        flush_frontier();
        pool_.evaluated += valid - reported_;
    }

    Best best;
    std::uint64_t total = 0, valid = 0;
    bool complete = false;      ///< the walk ended by itself
    std::optional<Cost> least;  ///< of several objectives: in the order of compare_in_order()

    bool left_out() const {
        return walk_->left_out();
    }

private:
    void walk() {
        MappingId id, previous;
        while (!terminate(id)) {
            if (settings_.sync_interval > 0 && total > 0 && total % settings_.sync_interval == 0) {
                exchange();
            }
            const bool same_loops = total > 0 && id.factors == previous.factors &&
                                    id.permutation == previous.permutation &&
                                    id.split == previous.split;
            same_in_row_ = same_loops ? same_in_row_ + 1 : 0;
            // Where nothing but bypasses can differ, those that come again do count.
            const bool only_bypass =
                total > 1 && same_loops && same_in_row_ < pool_.space.bypass_count();
            if (settings_.log_oaves && id.factors != previous.factors) {
                flush_frontier();
            }
            previous = id;
            step(id, same_loops, only_bypass);
        }
    }
    void say(const std::string& line) {
        pool_.log(text("[%3d] ", thread_) + line);
    }
    void statement(const std::string& what) {
        say("STATEMENT: " + what + ", terminating search.");
    }
    // Timeloop's order; every reason that holds is told. Draws the next mapping in any case.
    bool terminate(MappingId& id) {
        bool end = false;
        if ((total & 0x3f) == 0) {
            pool_.evaluated += valid - reported_;
            reported_ = valid;
            if (pool_.over()) {
                statement("global termination flag activated");
                end = true;
            }
        } else if (pool_.ended.load(std::memory_order_relaxed)) {
            statement("global termination flag activated");
            end = true;
        }
        if (pool_.walk_limit > 0 && total >= pool_.walk_limit) {
            end = true;
        }
        if (quota_ > 0 && valid >= quota_) {
            statement(std::to_string(quota_) + " valid mappings found");
            pool_.note_limit("search-size");
            end = true;
        }
        const std::uint64_t stall = pool_.hooks.budget.stall_evals;
        if ((settings_.victory > 0 && since_best_ >= settings_.victory) ||
            (stall > 0 && since_best_ >= stall)) {
            statement(std::to_string(since_best_) +
                      " suboptimal mappings found since the last upgrade");
            pool_.note_limit(stall > 0 && since_best_ >= stall ? "--max-stall"
                                                               : "victory-condition");
            end = true;
        }
        if (settings_.timeout > 0 && bad_fanout_ + bad_capacity_ >= settings_.timeout) {
            statement(std::to_string(bad_fanout_ + bad_capacity_) + " invalid mappings (" +
                      std::to_string(bad_fanout_) + " fanout, " + std::to_string(bad_capacity_) +
                      " capacity) found since the last valid mapping");
            pool_.note_limit("timeout");
            end = true;
        }
        if (!end && !walk_->next(id)) {
            statement("search algorithm is done");
            complete = walk_->complete();
            end = true;
        }
        return end;
    }
    void step(const MappingId& id, bool same_loops, bool only_bypass) {
        ++total;
        worker_.generated();
        if (!same_loops || !misfit_.ok()) {
            misfit_ = view_.build(id, flat_);
        } else {
            view_.set_bypass(id.bypass, flat_);
        }
        if (!misfit_.ok()) {
            ++bad_fanout_;
            failures.add(misfit_, id);
            worker_.rejected(telemetry::Reason::fanout);
            walk_->report(Outcome::fanout);
            return;
        }
        if (pool_.space.architecture().sparse) {
            base::poll_stop();
            cost_ = cost_of(pool_.space.problem(), pool_.space.architecture(),
                            view_.mapping(id.bypass), pool_.hooks.model);
        } else {
            pool_.model.evaluate(flat_, scratch_, cost_);
        }
        if (!cost_.fit.ok() || cost_.forgets || cost_.wrapped) {
            bad_capacity_ += settings_.penalize_bypass_fails || !only_bypass;
            failures.add(cost_, id);
            worker_.rejected(telemetry::Reason::capacity);
            // A wrapped counter says nothing about other permutations.
            walk_->report(cost_.fit.ok() && cost_.wrapped ? Outcome::valid : Outcome::capacity);
            return;
        }
        ++valid;
        worker_.evaluated();
        if (settings_.log_stats) {
            pool_.log(text("[%d] INVALID %llu %llu %llu", thread_, count(total), count(valid),
                           count(bad_fanout_ + bad_capacity_)));
        }
        bad_fanout_ = bad_capacity_ = 0;
        walk_->report(Outcome::valid);
        consider(id, only_bypass);
    }
    void consider(const MappingId& id, bool only_bypass) {
        if (settings_.log_suboptimal && settings_.log_interval > 0 &&
            total % settings_.log_interval == 0) {
            improvement(id, 4);
        }
        if (settings_.log_oaves &&
            (!frontier_.valid ||
             is_better(cost_, frontier_.cost, pool_.objectives, pool_.levels))) {
            frontier_ = {true, view_.mapping(id.bypass), cost_};
        }
        // Timeloop's comparison takes 0.1 % for none: what it keeps need not be the least.
        if (several_ &&
            (!least || compare_in_order(cost_, *least, pool_.objectives, pool_.levels) < 0)) {
            least = cost_;
        }
        if (best.valid && !pool_.better(cost_, best.cost)) {
            since_best_ += settings_.penalize_bypass_fails || !only_bypass;
            return;
        }
        if (settings_.log_stats) {
            const double old = best.valid ? pool_.value(best.cost) : 0;
            pool_.log(text("[%d] UPDATE %llu %llu %llu %g", thread_, count(total), count(valid),
                           count(since_best_),
                           best.valid && old != 0 ? (old - pool_.value(cost_)) / old : 1.0));
        }
        best = {true, view_.mapping(id.bypass), cost_};
        pool_.offer(best.mapping, best.cost);
        if (!settings_.log_suboptimal && pool_.hooks.log) {
            improvement(id, 8);
        }
        since_best_ = 0;
    }
    static unsigned long long count(std::uint64_t n) {
        return n;
    }
    void improvement(const MappingId& id, int width) {
        say(text("Utilization = %4.2f | pJ/Compute = %*.3f | ", cost_.utilization, width,
                 cost_.energy_pj / pool_.space.problem().computes()) +
            compact_text(pool_.space.problem(), view_.mapping(id.bypass)));
    }
    void exchange() {
        const std::lock_guard lock(exchange_.mutex);
        Best& shared = exchange_.best;
        if (shared.valid && (!best.valid || pool_.better(shared.cost, best.cost))) {
            best = shared;
        } else if (best.valid && (!shared.valid || pool_.better(best.cost, shared.cost))) {
            shared = best;
        }
    }
    void flush_frontier() {
        if (frontier_.valid && pool_.hooks.frontier) {
            const std::lock_guard lock(pool_.mutex);
            pool_.hooks.frontier(frontier_.mapping, thread_);
        }
        frontier_.valid = false;
    }

    Pool& pool_;
    Exchange& exchange_;
    const MapperSettings& settings_;
    const bool several_;
    int thread_;
    MapSpaceView view_;
    telemetry::Worker& worker_;
    std::unique_ptr<Walk> walk_;
    std::uint64_t quota_ = 0, since_best_ = 0, bad_fanout_ = 0, bad_capacity_ = 0, reported_ = 0;
    std::uint64_t same_in_row_ = 0;  ///< mappings with the loops of the one before
    Misfit misfit_;
    FlatMapping flat_;
    CompiledModel::Workspace scratch_;
    Cost cost_;
    Best frontier_;

public:
    FailureLog failures;
};

struct Walked {
    Best best;
    std::optional<Cost> least;  ///< as Runner's
    bool complete = true;       ///< every mapping was visited or is like one that was
};

Walked run_algorithm(Pool& pool, Algorithm algorithm, Pruning pruning) {
    pool.space.check_numbered();
    Exchange exchange;
    std::vector<std::unique_ptr<Runner>> runners;
    for (int thread = 0; thread < pool.threads; ++thread) {
        runners.push_back(std::make_unique<Runner>(pool, exchange, algorithm, pruning, thread));
    }
    // One after the other where there are fewer threads: a share of the space belongs to each.
    try {
        const base::StopScope scope({&pool.ended});
        base::parallel_for(runners.size(), pool.threads,
                           [&](std::size_t i, int) { runners[i]->run(); });
    } catch (const base::Stopped&) {  // not all of them were begun
    }
    // In thread order, so that the answer does not depend on which thread was first.
    Walked walked;
    Best& best = walked.best;
    bool left_out = false;
    for (const auto& runner : runners) {
        if (runner->best.valid && (!best.valid || pool.better(runner->best.cost, best.cost))) {
            best = runner->best;
        }
        if (runner->least &&
            (!walked.least ||
             compare_in_order(*runner->least, *walked.least, pool.objectives, pool.levels) < 0)) {
            walked.least = runner->least;
        }
        pool.result.total += runner->total;
        pool.result.valid += runner->valid;
        walked.complete &= runner->complete;
        left_out = left_out || runner->left_out();
    }
    pool.result.left_out = walked.complete && left_out;
    walked.complete = walked.complete && !left_out;
    const bool pruned = algorithm != Algorithm::exhaustive && algorithm != Algorithm::random;
    const auto until = std::chrono::steady_clock::now() + time_for_reasons;
    const base::StopScope reasons({&pool.ended, until});
    for (int thread = 0; thread < pool.threads; ++thread) {
        if (best.valid && !pool.settings.diagnostics) {
            break;
        }
        MapSpaceView view(pool.space, pruning);
        view.deal(static_cast<std::uint64_t>(thread), static_cast<std::uint64_t>(pool.threads));
        try {
            runners[thread]->failures.render(pool.model, view, pruned, pool.result.failures);
        } catch (const base::Stopped&) {  // those that are ready will do
        }
    }
    return walked;
}

// Of a walk that saw every mapping, or what is like it.
void conclude(Pool& pool, const std::optional<Cost>& least) {
    MapperResult& result = pool.result;
    if (!result.best) {
        result.proof = Proof::infeasible;
        return;
    }
    // By Timeloop's comparison of several objectives the best one may be another than the least.
    const Cost& proven = least ? *least : result.cost;
    const auto value = [&](const Cost& cost) {
        return objective_value(pool.objectives[result.proven], cost, pool.levels);
    };
    result.bound = pool.value(proven);
    while (result.proven < pool.asked &&
           value(result.cost) <= value(proven) * (1 + tie_of(pool.objectives[result.proven]))) {
        ++result.proven;
    }
    if (result.proven == pool.asked) {
        result.proof = Proof::optimal;
    } else if (result.proven > 0) {
        result.next_bound = value(proven);
    }
}

}  // namespace

void run_walks(Pool& pool) {
    pool.timeloop_order = true;
    const Walked walked = run_algorithm(pool, *pool.settings.algorithm, Pruning::timeloop);
    if (walked.best.valid) {
        pool.result.best = walked.best.mapping;
        pool.result.cost = walked.best.cost;
    }
    // What is left out as like another may cost less on a sparse design.
    if (walked.complete && !pool.space.architecture().sparse) {
        conclude(pool, walked.least);
    }
}

namespace {

bool at_most(const MapSpace& space, Wide most) {
    Wide product = 1;
    for (const Wide size : {space.factor_count(), space.permutation_count(), space.split_count(),
                            static_cast<Wide>(space.bypass_count())}) {
        if (size > most || product * size > most) {
            return false;
        }
        product *= size;
    }
    return true;
}

}  // namespace

void run_imperfect(Pool& pool) {
    const bool all = at_most(pool.space, 2'000'000);
    const Walked walked =
        run_algorithm(pool, all ? Algorithm::linear_pruned : Algorithm::random, Pruning::lossless);
    if (walked.complete && all) {
        conclude(pool, std::nullopt);
    }
}

void run_for_reasons(Pool& pool) {
    const bool all = at_most(pool.space, 100'000);
    const std::uint64_t total = pool.result.total;
    const bool ended = pool.ended.exchange(false);
    pool.walk_limit = all ? 100'000 : 20'000;
    if (pool.space.numbered()) {
        run_algorithm(pool, all ? Algorithm::exhaustive : Algorithm::random_pruned,
                      Pruning::timeloop);
    }
    pool.result.total = total;
    pool.ended = ended;
}

}  // namespace tessera::timeloop
