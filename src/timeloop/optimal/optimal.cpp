// The optimal search: spatial and bypass choices by ascending bound, temporal loops by dynamic
// programming, every candidate evaluated by the cost model.
#include <algorithm>
#include <cmath>
#include <set>

#include "tessera/base/error.hpp"
#include "tessera/base/parallel.hpp"
#include "tessera/base/stop.hpp"
#include "timeloop/mapper/pool.hpp"
#include "timeloop/optimal/improvement.hpp"
#include "timeloop/optimal/members.hpp"
#include "timeloop/optimal/tables.hpp"

namespace tessera::timeloop {
namespace {

constexpr double slack = 1 + 1e-9;
constexpr std::size_t most_points = 2'000'000;  // of a lattice: tables of some hundred MB
constexpr std::size_t most_tasks = 1'000'000;
constexpr std::uint32_t bypasses_between_looks = 256;
constexpr double most_members = 1e5;  // mappings of one set of factors looked at one by one

struct Task {
    double bound = 0;  // of the objective
    std::uint32_t spatial = 0, bypass = 0;
    bool open = false;  // solved, but the best mapping found costs more than the bound
};

class Search {
public:
    explicit Search(Pool& pool)
        : pool_(pool), geometry_(pool.space, pool.objectives.front(), pool.hooks.model) {}

    void run() {
        if (geometry_.spaces.size() > 16 || geometry_.levels > 15) {
            throw UserError(
                pool_.settings.where,
                "mapper: the optimal search handles up to 16 data spaces and 15 storage "
                "levels; name one of Timeloop's algorithms");
        }
        const base::StopScope scope({&pool_.ended});
        unless_stopped([this] {
            choices_ = spatial_choices(geometry_);
            make_tasks();
        });
        if (!tasks_.empty()) {
            record_bound(std::min(tasks_.front().bound, rest_bound_));
        }
        phase_ = &pool_.recorder.begin_phase("spatial choices", tasks_.size(), "choices");
        unless_stopped([this] { first_incumbents(); });
        each_task(next_task_, [this](Task& task) {
            if (task.bound < best_value()) {
                // One that is stopped stays open: its bound is all that is known.
                task.open = true;
                solve(task);
            }
        });
        const bool settle = !pool_.over();
        record_bound(std::min(open_bound(), best_value()));
        phase_ = &pool_.recorder.begin_phase("settling", tasks_.size(), "choices");
        if (settle) {
            std::atomic<std::size_t> next{0};
            each_task(next, [this](Task& task) {
                if (task.open && task.bound < best_value()) {
                    this->settle(task);
                }
            });
        }
        finish();
        pool_.count_evaluations();
        pool_.recorder.end_phase();
    }

private:
    // Where there are too many pairs, choices with few cycles come first; of the others a trivial
    // bound is all that is known.
    void make_tasks() {
        const auto& bypasses = pool_.space.bypasses();
        std::uint32_t compared = 0;
        std::stable_sort(choices_.begin(), choices_.end(), [&](const auto& a, const auto& b) {
            if ((++compared & 0xfff) == 0) {
                base::poll_stop();
            }
            return a.cycles < b.cycles;
        });
        double rest = HUGE_VAL;
        for (std::uint32_t s = 0; s < choices_.size() && rest == HUGE_VAL; ++s) {
            if (tasks_.size() + bypasses.size() > most_tasks || pool_.over()) {
                rest = geometry_.objective(geometry_.compute_cost, choices_[s].cycles);
                break;
            }
            for (std::uint32_t b = 0; b < bypasses.size(); ++b) {
                if (b % bypasses_between_looks == 0 && pool_.over()) {
                    rest = geometry_.objective(geometry_.compute_cost, choices_[s].cycles);
                    break;
                }
                const Edges edges(geometry_, choices_[s], bypasses[b]);
                if (edges.valid()) {
                    tasks_.push_back(
                        {geometry_.objective(edges.floor(), edges.cycles()), s, b, false});
                }
            }
        }
        std::stable_sort(tasks_.begin(), tasks_.end(),
                         [](const Task& a, const Task& b) { return a.bound < b.bound; });
        rest_bound_ = rest;
    }
    // Something good at once: simple mappings of the most promising choices, improved step by step.
    void first_incumbents() {
        for (std::size_t i = 0; i < tasks_.size() && i < 4 && !pool_.over(); ++i) {
            improve_simple(tasks_[i], 3000);
        }
    }
    void improve_simple(const Task& task, std::uint64_t max_evals) {
        ImprovementHeuristic improvement(pool_, geometry_);
        const auto start =
            improvement.simple(choices_[task.spatial], pool_.space.bypasses()[task.bypass]);
        if (start) {
            improvement.run(*start, max_evals);
        }
    }
    // Largest linear cost with which a mapping can still beat or equal the incumbent.
    double limit(double cycles) {
        const std::lock_guard lock(pool_.mutex);
        if (!pool_.result.best || geometry_.cycles_only) {
            return HUGE_VAL;
        }
        const double best = pool_.value(pool_.result.cost) * slack;
        return geometry_.times_cycles ? best * 1e12 / cycles : best;
    }
    double best_value() {
        const std::lock_guard lock(pool_.mutex);
        return pool_.result.best ? pool_.value(pool_.result.cost) : HUGE_VAL;
    }
    /// Tasks one after the other, shared by all threads, until a limit is met.
    template <class Use>
    void each_task(std::atomic<std::size_t>& next, const Use& use) {
        const auto work = [&](std::size_t, int) {
            while (!pool_.over()) {
                const std::size_t i = next++;
                if (i >= tasks_.size()) {
                    return;
                }
                unless_stopped([&] { use(tasks_[i]); });
                phase_->advance();
                pool_.count_evaluations();
            }
        };
        unless_stopped([&] {
            base::parallel_for(static_cast<std::size_t>(pool_.threads), pool_.threads, work);
        });
    }
    template <class Work>
    static void unless_stopped(const Work& work) {
        try {
            work();
        } catch (const base::Stopped&) {
        }
    }
    void solve(Task& task) {
        const SpatialChoice& choice = choices_[task.spatial];
        const auto& keep = pool_.space.bypasses()[task.bypass];
        const Edges edges(geometry_, choice, keep);
        if (edges.lattice().size > most_points) {
            improve_simple(task, 20000);
            return;
        }
        Tables tables(edges, [this] { return pool_.over(); });
        const double linear = tables.solve(limit(edges.cycles()));
        if (linear == HUGE_VAL) {
            task.bound = HUGE_VAL;
            task.open = false;
            return;
        }
        task.bound = std::max(task.bound, geometry_.objective(linear, edges.cycles()));
        CompiledModel::Workspace scratch;
        double found = HUGE_VAL;
        int tried = 0;
        std::optional<Mapping> best_plan;
        tables.plans(linear * slack, [&](const TemporalPlan& plan) {
            const Mapping mapping = to_mapping(pool_.space, choice, keep, plan);
            const double value = consider(mapping, scratch);
            if (value < found) {
                found = value;
                best_plan = mapping;
            }
            return ++tried < 4 && found > task.bound * slack;
        });
        task.open = found > task.bound * slack;
        if (task.open && best_plan && found < HUGE_VAL) {
            ImprovementHeuristic(pool_, geometry_).run(*best_plan, 6000);
        }
    }
    // What the bound leaves open is looked at one by one: every mapping of every assignment whose
    // bound is below the incumbent.
    void settle(Task& task) {
        const SpatialChoice& choice = choices_[task.spatial];
        const auto& keep = pool_.space.bypasses()[task.bypass];
        const Edges edges(geometry_, choice, keep);
        if (edges.lattice().size > most_points) {
            return;
        }
        Tables tables(edges, [this] { return pool_.over(); });
        const double most = limit(edges.cycles());
        tables.solve(most);
        CompiledModel::Workspace scratch;
        std::set<std::vector<std::vector<std::int64_t>>> seen;
        bool complete = true;
        tables.plans(most, [&](const TemporalPlan& plan) {
            const double bound = geometry_.objective(plan.bound, edges.cycles());
            if (bound > best_value() || seen.contains(plan.factors)) {
                return true;
            }
            const Mapping mapping = to_mapping(pool_.space, choice, keep, plan);
            if (consider(mapping, scratch) <= bound * slack) {
                return true;  // no other order of these loops can be better
            }
            seen.insert(plan.factors);
            Members members(geometry_, mapping);
            complete = members.count() <= most_members && members.each([&](const Mapping& member) {
                consider(member, scratch);
                return (pool_.evaluated & 127) != 0 || !pool_.over();
            });
            return complete && !pool_.over();
        });
        if (complete && !pool_.over()) {
            task.open = false;
        }
    }
    double consider(const Mapping& mapping, CompiledModel::Workspace& scratch) {
        FlatMapping flat;
        flatten(mapping, flat);
        Cost cost;
        pool_.model.evaluate(flat, scratch, cost);
        ++pool_.evaluated;
        if (!cost.fit.ok() || cost.forgets || cost.wrapped) {
            return HUGE_VAL;
        }
        pool_.offer(mapping, cost);
        return pool_.value(cost);
    }
    // Least bound of what can still be better than the incumbent; infinity: nothing can. While no
    // thread works on the tasks.
    double open_bound() {
        const double best = best_value();
        double bound = rest_bound_ < best ? rest_bound_ : HUGE_VAL;
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (tasks_[i].bound < best && (tasks_[i].open || i >= next_task_)) {
                bound = std::min(bound, tasks_[i].bound);
            }
        }
        return bound;
    }
    // The bounds hold for perfect factors only.
    void record_bound(double bound) {
        if (pool_.space.factor_template() == FactorTemplate::uber) {
            pool_.recorder.bound(pool_.recorded(bound));
        }
    }
    void finish() {
        MapperResult& result = pool_.result;
        result.valid = pool_.evaluated;
        result.total = tasks_.size();
        const double best = best_value(), bound = open_bound();
        if (bound == HUGE_VAL && next_task_ >= tasks_.size() && !pool_.ended) {
            result.proof = result.best ? Proof::optimal : Proof::infeasible;
        }
        if (result.best) {
            result.bound = std::min(best, bound);
            record_bound(*result.bound);
            if (best <= *result.bound * slack) {
                result.proof = Proof::optimal;
            }
        }
    }

    Pool& pool_;
    Geometry geometry_;
    std::vector<SpatialChoice> choices_;
    std::vector<Task> tasks_;
    double rest_bound_ = 0;  ///< of what is no task; until all tasks are known, of everything
    std::atomic<std::size_t> next_task_{0};
    telemetry::Phase* phase_ = nullptr;
};

}  // namespace

void run_optimal(Pool& pool) {
    bool residuals = false;
    for (const TilingLevel& level : pool.space.levels()) {
        for (const std::int64_t residual : level.fixed_residual) {
            residuals |= residual != 0;
        }
    }
    const bool ruby = pool.space.factor_template() == FactorTemplate::ruby;
    if (!residuals) {
        Search(pool).run();
    }
    if (!residuals && !ruby) {
        if (!pool.result.best && !pool.ended) {
            run_for_reasons(pool);
        }
        return;
    }
    // The bounds hold for perfect factors only. What has a short last pass is drawn at random from
    // the larger space; nothing is proven about it.
    pool.result.proof = Proof::none;
    pool.result.bound.reset();
    run_imperfect(pool);
}

}  // namespace tessera::timeloop
