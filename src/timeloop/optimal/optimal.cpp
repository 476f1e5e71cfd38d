// The optimal search: spatial and bypass choices by ascending bound, temporal loops by dynamic
// programming, every candidate evaluated by the cost model. One objective after the other.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "tessera/base/error.hpp"
#include "tessera/base/parallel.hpp"
#include "tessera/base/stop.hpp"
#include "timeloop/mapper/pool.hpp"
#include "timeloop/optimal/improvement.hpp"
#include "timeloop/optimal/members.hpp"
#include "timeloop/optimal/primal.hpp"
#include "timeloop/optimal/tables.hpp"

namespace tessera::timeloop {
namespace {

constexpr double slack = 1 + tie;
constexpr std::size_t most_points = 2'000'000;  // of a lattice: tables of some hundred MB
constexpr std::size_t most_tasks = 1'000'000;
constexpr std::size_t many_tasks = 4096;                         // more take tenths of a second
constexpr std::size_t most_ties = 8, most_tie_points = 100'000;  // of tasks that break ties
constexpr std::uint32_t bypasses_between_looks = 256;
constexpr double most_members = 1e5;  // mappings of one set of factors looked at one by one

struct Task {
    double bound = 0;  // of the objective
    std::uint32_t spatial = 0, bypass = 0;
    bool open = false;  // solved, but the best mapping found costs more than the bound
};

class Search {
public:
    explicit Search(Pool& pool) : pool_(pool), stage_(std::in_place, pool, 0) {}

    void run() {
        if (stage_->geometry().spaces.size() > 16 || stage_->geometry().levels > 15) {
            throw UserError(
                pool_.settings.where,
                "mapper: the optimal search handles up to 16 data spaces and 15 storage "
                "levels; name one of Timeloop's algorithms");
        }
        const base::StopScope scope({&pool_.ended});
        unless_stopped([this] { make_tasks(); });
        if (!tasks_.empty()) {
            record_bound(std::min(tasks_.front().bound, rest_bound_));
        }
        search();
        while (pool_.result.best && stage_->objective() + 1 < pool_.asked && !pool_.over()) {
            unless_stopped([this] { next_stage(); });
            search();
        }
        if (pool_.asked == 1 && stage_->counts() && pool_.result.best && !pool_.over()) {
            unless_stopped([this] { break_ties(); });
        }
        pool_.result.valid = pool_.evaluated;
        pool_.count_evaluations();
        pool_.recorder.end_phase();
    }

private:
    /// The objective of the stage.
    void search() {
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
        conclude();
    }
    // Where there are too many pairs, choices with few cycles come first; of the others a trivial
    // bound is all that is known.
    void make_tasks() {
        const auto& bypasses = pool_.space.bypasses();
        const Geometry& geometry = stage_->geometry();
        SpatialChoices listed =
            spatial_choices(geometry, std::max<std::size_t>(1, most_tasks / bypasses.size()),
                            [this] { look_for_first(); });
        choices_ = std::move(listed.list);
        rest_cycles_ = listed.rest_cycles;
        for (std::uint32_t s = 0; s < choices_.size(); ++s) {
            const double least = geometry.objective(geometry.compute_cost, choices_[s].cycles);
            if (least > best_value() * slack || !add_tasks(s)) {
                rest_cycles_ = choices_[s].cycles;
                break;
            }
        }
        sort_tasks();
        set_rest_bound();
    }
    /// All bypasses of a spatial choice. False: there are too many, or a limit is met.
    bool add_tasks(std::uint32_t spatial) {
        const auto& bypasses = pool_.space.bypasses();
        for (std::uint32_t b = 0; b < bypasses.size(); ++b) {
            if (tasks_.size() >= most_tasks || (b % bypasses_between_looks == 0 && pool_.over())) {
                return false;
            }
            const Edges edges(stage_->geometry(), choices_[spatial], bypasses[b]);
            if (edges.valid()) {
                const double bound = stage_->geometry().objective(edges.floor(), edges.cycles());
                tasks_.push_back({bound, spatial, b, false});
            }
            if (tasks_.size() == many_tasks) {
                look_for_first();
            }
        }
        return true;
    }
    /// What comes takes long: something is found before.
    void look_for_first() {
        if (best_value() == HUGE_VAL) {
            find_first_mapping(pool_, *stage_);
            pool_.count_evaluations();
        }
    }
    void sort_tasks() {
        std::stable_sort(tasks_.begin(), tasks_.end(),
                         [](const Task& a, const Task& b) { return a.bound < b.bound; });
    }
    void set_rest_bound() {
        const Geometry& geometry = stage_->geometry();
        rest_bound_ = rest_cycles_ == HUGE_VAL
                          ? HUGE_VAL
                          : geometry.objective(geometry.compute_cost, rest_cycles_);
    }
    // What can be as good as the incumbent in the objective that is done, bounded in the next one.
    void next_stage() {
        const double cap = best_value() * slack;
        std::erase_if(tasks_, [&](const Task& task) { return task.bound > cap; });
        rest_cycles_ = rest_bound_ > cap ? HUGE_VAL : rest_cycles_;
        stage_.emplace(pool_, stage_->objective() + 1);
        next_task_ = 0;
        set_rest_bound();
        for (Task& task : tasks_) {
            task.bound = 0;
            task.open = true;
        }
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (i % bypasses_between_looks == 0 && pool_.over()) {
                return;
            }
            Task& task = tasks_[i];
            const Edges edges(stage_->geometry(), choices_[task.spatial],
                              pool_.space.bypasses()[task.bypass]);
            task.bound = stage_->geometry().objective(edges.floor(), edges.cycles());
            task.open = false;
        }
        sort_tasks();
    }
    // Something good at once: the incumbent of the stage before, else simple mappings of the most
    // promising choices, improved step by step.
    void first_incumbents() {
        if (stage_->objective() > 0) {
            const Mapping best = *pool_.result.best;
            ImprovementHeuristic(pool_, *stage_).run(best, 3000);
        }
        for (std::size_t i = 0; i < tasks_.size() && i < 4 && !pool_.over(); ++i) {
            improve_simple(tasks_[i], 3000);
        }
        if (!tasks_.empty()) {
            look_for_first();  // its tables may take long
        }
    }
    void improve_simple(const Task& task, std::uint64_t max_evals) {
        ImprovementHeuristic improvement(pool_, *stage_);
        const auto start =
            improvement.simple(choices_[task.spatial], pool_.space.bypasses()[task.bypass]);
        if (start) {
            improvement.run(*start, max_evals);
        }
    }
    // Many mappings are equal in cycles or words. The energy of the most promising is worth a
    // moment; nothing is said of the others.
    void break_ties() {
        std::erase_if(tasks_, [&](const Task& task) { return task.bound > best_value() * slack; });
        tasks_.resize(std::min(tasks_.size(), many_tasks));
        next_stage();
        first_incumbents();
        tasks_.resize(std::min(tasks_.size(), most_ties));
        each_task(next_task_, [this](Task& task) {
            const Edges edges(stage_->tables(), choices_[task.spatial],
                              pool_.space.bypasses()[task.bypass]);
            if (task.bound < best_value() && edges.lattice().size <= most_tie_points) {
                solve(task);
            }
        });
    }
    double best_value() {
        const std::lock_guard lock(pool_.mutex);
        return pool_.result.best ? stage_->value(pool_.result.cost) : HUGE_VAL;
    }
    /// Largest cost in the tables with which a mapping can still beat or equal the incumbent.
    double limit(const Edges& edges) {
        return stage_->limit(edges.cycles(), best_value());
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
        const Edges edges(stage_->tables(), choice, keep);
        if (edges.lattice().size > most_points) {
            improve_simple(task, 20000);
            return;
        }
        Tables tables(edges, [this] { return pool_.over(); });
        const double linear = tables.solve(limit(edges));
        if (linear == HUGE_VAL) {
            task.bound = HUGE_VAL;
            task.open = false;
            return;
        }
        task.bound = std::max(task.bound, stage_->bound(linear, edges.cycles()));
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
            return ++tried < 4 && found > task.bound * stage_->slack();
        });
        task.open = found > task.bound * stage_->slack();
        if (task.open && best_plan && found < HUGE_VAL) {
            ImprovementHeuristic(pool_, *stage_).run(*best_plan, 6000);
        }
    }
    // What the bound leaves open is looked at one by one: every mapping of every assignment whose
    // bound is below the incumbent.
    void settle(Task& task) {
        const SpatialChoice& choice = choices_[task.spatial];
        const auto& keep = pool_.space.bypasses()[task.bypass];
        const Edges edges(stage_->tables(), choice, keep);
        if (edges.lattice().size > most_points) {
            return;
        }
        Tables tables(edges, [this] { return pool_.over(); });
        const double most = limit(edges);
        tables.solve(most);
        CompiledModel::Workspace scratch;
        std::set<std::vector<std::vector<std::int64_t>>> seen;
        bool complete = true;
        tables.plans(most, [&](const TemporalPlan& plan) {
            const double bound = std::max(task.bound, stage_->bound(plan.bound, edges.cycles()));
            if (bound > best_value() || seen.contains(plan.factors)) {
                return true;
            }
            const Mapping mapping = to_mapping(pool_.space, choice, keep, plan);
            if (consider(mapping, scratch) <= bound * stage_->slack()) {
                return true;  // no other order of these loops can be better
            }
            seen.insert(plan.factors);
            Members members(stage_->geometry(), mapping);
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
        const double value = stage_->value(cost);
        if (value < HUGE_VAL) {
            pool_.offer(mapping, cost);
        }
        return value;
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
    // Of the first objective. The bounds hold for perfect factors only.
    void record_bound(double bound) {
        if (stage_->objective() == 0 && pool_.space.factor_template() == FactorTemplate::uber) {
            pool_.recorder.bound(pool_.recorded(bound));
        }
    }
    void conclude() {
        MapperResult& result = pool_.result;
        result.total += tasks_.size();
        const double best = best_value(), bound = open_bound();
        const bool seen = bound == HUGE_VAL && next_task_ >= tasks_.size() && !pool_.ended;
        if (!result.best) {
            result.proof = seen ? Proof::infeasible : Proof::none;
            return;
        }
        const double least = std::min(best, bound);
        if (stage_->objective() == 0) {
            result.bound = least;
            record_bound(least);
        }
        if (result.proven < stage_->objective()) {
            return;  // one before it is open: this says nothing of what is better in that
        }
        result.next_bound.reset();
        if (seen || best <= least * stage_->slack()) {
            ++result.proven;
        } else if (stage_->objective() > 0) {
            result.next_bound = least;
        }
        if (result.proven == pool_.asked) {
            result.proof = Proof::optimal;
        }
    }

    Pool& pool_;
    std::optional<Stage> stage_;
    std::vector<SpatialChoice> choices_;  ///< by ascending cycles
    std::vector<Task> tasks_;
    double rest_cycles_ = HUGE_VAL;  ///< least of what is no task; infinity: everything is one
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
    pool.result.proven = 0;
    pool.result.next_bound.reset();
    run_imperfect(pool);
}

}  // namespace tessera::timeloop
