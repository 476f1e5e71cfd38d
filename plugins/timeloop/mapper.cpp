// Mapper `timeloop`: Timeloop's mapspace and algorithms, and the optimal search, on native
// problems. Einsum by Einsum; the outermost memory holds every tensor, so nothing is fused. Map:
//   Job          one Einsum on one compute with one set of constraints: a search of its own
//   TimeloopRun  all jobs; the best of each Einsum become one LoopTree
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <numeric>

#include "native.hpp"
#include "tessera/base/error.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/mapping/assemble.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/watch.hpp"
#include "tessera/telemetry/recorder.hpp"
#include "tessera/workload/workload.hpp"
#include "timeloop/mapper.hpp"

namespace tessera::mapper {

namespace {

using timeloop::Proof;
using Kind = timeloop::Objective::Kind;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// \throws UserError
Kind kind_of(Metric metric) {
    switch (metric) {
        case Metric::energy:
            return Kind::energy;
        case Metric::latency:
            return Kind::delay;
        case Metric::edp:
            return Kind::edp;
        case Metric::traffic:
        case Metric::dynamic_energy:
        case Metric::leak_energy:
            break;
    }
    throw UserError(std::string("mapper 'timeloop' does not minimise ") + facts(metric).name);
}

struct Job {
    arch::Path* path = nullptr;
    model::NativeCase native;
    timeloop::Constraints constraints;
};

/// What is known of one Einsum.
struct Einsum {
    std::string name;
    std::vector<std::unique_ptr<arch::Path>> paths;
    std::vector<Job> jobs;
    double best = infinity;   ///< of the metric, all instances; by Timeloop's accounting
    double bound = infinity;  ///< least over the jobs
    bool proven = true;       ///< every job is
    mapping::Branch branch;   ///< of the best; path null: none yet
    std::vector<std::string> reasons;
};

class TimeloopRun {
public:
    TimeloopRun(const model::Problem& problem, const model::CostModel& model,
                const Options& options, const timeloop::MapperSettings& settings)
        : problem_(problem),
          model_(model),
          options_(options),
          settings_(settings),
          metric_(options.metrics.front()),
          recorder_(options.recorder ? *options.recorder : unread_),
          worker_(recorder_.worker(0, "timeloop")),
          watch_(options.budget, options.stop, recorder_) {
        settings_.objectives = {{kind_of(metric_), 0}};
        settings_.threads = options.threads;
        settings_.seed = options.seed;
    }

    Result run() {
        const auto start = recorder_.now_s();
        for (std::size_t e = 0; e < problem_.workload->einsums.size(); ++e) {
            einsums_.push_back(prepared(static_cast<int>(e)));
        }
        std::size_t left = 0;
        for (const Einsum& einsum : einsums_) {
            left += einsum.jobs.size();
        }
        recorder_.begin_phase("searches", left, "searches");
        try {
            for (Einsum& einsum : einsums_) {
                for (const Job& job : einsum.jobs) {
                    if (watch_.stopped()) {
                        einsum.proven = false;
                        einsum.bound = 0;
                        continue;
                    }
                    search(einsum, job, left--);
                }
            }
        } catch (const std::bad_alloc&) {
            if (!assembled()) {
                throw;
            }
            watch_.end("out-of-memory");
            for (Einsum& einsum : einsums_) {
                einsum.proven = false;
                einsum.bound = 0;
            }
        }
        recorder_.end_phase();
        worker_.state(telemetry::WorkerState::done);
        Result result = concluded();
        result.statistics.wall_s = recorder_.now_s() - start;
        return result;
    }

private:
    Einsum prepared(int index) const {
        Einsum einsum;
        einsum.name = problem_.workload->einsums[static_cast<std::size_t>(index)].name;
        for (const std::string& compute : problem_.architecture->compute_names()) {
            auto path = std::make_unique<arch::Path>(
                problem_.architecture->path(*problem_.workload, index, compute, problem_.compat));
            if (!path->compute().enabled) {
                continue;
            }
            const model::NativeCase native = model::native_hardware(*path);
            for (timeloop::Constraints& constraints : model::native_constraints(*path, native)) {
                einsum.jobs.push_back({path.get(), native, std::move(constraints)});
            }
            einsum.paths.push_back(std::move(path));
        }
        if (einsum.jobs.empty()) {
            throw NoLegalMapping("Einsum " + einsum.name +
                                 ": no compute may run it (`enabled` is false)");
        }
        return einsum;
    }

    /// The value of a cost of one instance in SI units, all instances counted.
    double value_of(const timeloop::Objective& objective, double value, const Job& job) const {
        const double n = job.path->einsum.n_instances;
        return objective.kind == Kind::energy  ? value * 1e-12 * n
               : objective.kind == Kind::delay ? value * job.native.cycle_s * n
                                               : value * job.native.cycle_s * n * n;
    }

    void search(Einsum& einsum, const Job& job, std::size_t left) {
        timeloop::MapperHooks hooks;
        hooks.stop = watch_.stop();
        hooks.model = job.native.options;
        const base::Budget& budget = options_.budget;
        // Of what is left every search gets the same part.
        const auto part = static_cast<double>(left);
        if (budget.max_time_s > 0) {
            hooks.budget.max_time_s =
                std::max(1e-3, (budget.max_time_s - (recorder_.now_s() - start_s_)) / part);
        }
        if (budget.max_evals > 0) {
            const std::uint64_t used = recorder_.evaluated();
            const std::uint64_t rest = budget.max_evals > used ? budget.max_evals - used : 0;
            hooks.budget.max_evals = std::max<std::uint64_t>(1, rest / left);
        }
        hooks.budget.stall_evals = budget.stall_evals;
        telemetry::Recorder inner;
        hooks.recorder = &inner;
        counted_ = {};
        const double before = einsum.best;
        hooks.improved = [&](const timeloop::Mapping& mapping, const timeloop::Cost& cost) {
            improved(einsum, job, mapping, cost);
            count(inner.evaluated(), inner.evaluated());
        };
        hooks.log = [&](const std::string& line) { recorder_.log(einsum.name + ": " + line); };
        const timeloop::MapperResult result = timeloop::search_mappings(
            job.native.problem, job.native.architecture, job.constraints, settings_, hooks);
        count(std::max(result.total, result.valid), result.valid);
        recorder_.extend_phase(0).advance();
        size_ = result.mapspace_size;
        ++searches_;
        threads_ = result.threads;
        if (!result.stopped_by.empty()) {
            stopped_by_ = result.stopped_by;
        }
        if (result.best) {
            // Of equal ones it returns the last, which is better in another metric.
            improved(einsum, job, *result.best, result.cost, einsum.best < before);
        }
        const bool decided = result.proof != Proof::none;
        einsum.proven = einsum.proven && decided;
        if (result.proof != Proof::infeasible) {
            einsum.bound = std::min(
                einsum.bound,
                result.bound ? value_of(settings_.objectives.front(), *result.bound, job) : 0);
        }
        for (const std::string& reason : result.reasons) {
            einsum.reasons.push_back("Einsum " + einsum.name + ": " + reason);
        }
    }

    void count(std::uint64_t generated, std::uint64_t evaluated) {
        if (generated > counted_.generated) {
            worker_.generated(generated - counted_.generated);
            counted_.generated = generated;
        }
        if (evaluated > counted_.evaluated) {
            worker_.evaluated(evaluated - counted_.evaluated);
            counted_.evaluated = evaluated;
        }
    }

    void improved(Einsum& einsum, const Job& job, const timeloop::Mapping& mapping,
                  const timeloop::Cost& cost, bool last = false) {
        const timeloop::Objective& objective = settings_.objectives.front();
        const double value = value_of(
            objective, objective_value(objective, cost, static_cast<int>(mapping.levels.size())),
            job);
        if (!(value < einsum.best) && !(last && value == einsum.best)) {
            return;
        }
        const auto written =
            model_.name() == "timeloop" ? model::to_pmapping : model::to_raised_pmapping;
        einsum.branch = {job.path, written(*job.path, job.native, mapping)};
        einsum.best = value;
        if (const auto whole = assembled()) {
            tell(*whole);
        }
    }

    /// All Einsums one after the other, or nothing while one has no mapping.
    std::optional<mapping::Mapping> assembled() const {
        std::vector<mapping::Branch> branches;
        for (const Einsum& einsum : einsums_) {
            if (einsum.branch.path == nullptr) {
                return std::nullopt;
            }
            branches.push_back(einsum.branch);
        }
        return mapping::assemble(branches,
                                 std::vector<int>(branches.empty() ? 0 : branches.size() - 1, 0));
    }

    void tell(const mapping::Mapping& whole) {
        const model::Report report = model_.evaluate(problem_, whole);
        telemetry::Incumbent found;
        found.value = mapper::metric_value(metric_, report);
        found.energy_j = report.energy_j();
        found.latency_s = report.latency_s();
        found.found_by = "timeloop";
        found.worker = 0;
        found.mapping = [tree = std::make_shared<const mapping::Mapping>(whole)] {
            return mapping::to_yaml(*tree);
        };
        recorder_.incumbent(std::move(found));
    }

    Result concluded() {
        Result result;
        result.stopped_by = watch_.reason() != nullptr ? watch_.reason() : stopped_by_;
        result.statistics.evaluated = worker_.evaluated_count();
        result.statistics.mapspace_size = searches_ == 1 ? size_ : "";
        result.statistics.threads = threads_;
        const auto whole = assembled();
        if (!whole) {
            const bool none = std::any_of(einsums_.begin(), einsums_.end(), [](const Einsum& e) {
                return e.branch.path == nullptr && e.proven;
            });
            result.status = none ? Status::infeasible : Status::feasible;
            for (const Einsum& einsum : einsums_) {
                if (einsum.branch.path == nullptr) {
                    result.reasons.insert(result.reasons.end(), einsum.reasons.begin(),
                                          einsum.reasons.end());
                }
            }
            return result;
        }
        check(*whole);
        Solution solution{*whole, model_.evaluate(problem_, *whole)};
        const double value = mapper::metric_value(metric_, solution.report);
        result.status = Status::feasible;
        // Sums of minima are minima; a product of sums is not a sum of products.
        if (model_.name() == "timeloop" && (metric_ != Metric::edp || einsums_.size() == 1)) {
            double bound = 0;
            bool proven = true;
            for (const Einsum& einsum : einsums_) {
                bound += std::min(einsum.bound, einsum.best);
                proven = proven && einsum.proven;
            }
            result.status = proven ? Status::optimal : Status::feasible;
            const double claimed =
                std::accumulate(einsums_.begin(), einsums_.end(), 0.0,
                                [](double sum, const Einsum& einsum) { return sum + einsum.best; });
            if (!(std::abs(claimed - value) <= 1e-9 * value)) {
                throw Bug("mapper timeloop and cost model timeloop disagree on a mapping");
            }
            if (proven || bound > 0) {
                result.bound = proven ? value : std::min(bound, value);
                recorder_.bound(*result.bound);
            }
        }
        result.solutions.push_back(std::move(solution));
        return result;
    }

    /// What Timeloop's constraints could not say.
    void check(const mapping::Mapping& whole) const {
        for (const mapspace::Violation& violation : mapspace::check(problem_, whole)) {
            if (violation.severity != mapspace::Severity::warning) {
                throw UserError(
                    "mapper timeloop: its best mapping breaks a rule that Timeloop's constraints "
                    "cannot express: " +
                    mapspace::to_text(violation) + "; use another mapper");
            }
        }
    }

    const model::Problem& problem_;
    const model::CostModel& model_;
    const Options& options_;
    timeloop::MapperSettings settings_;
    const Metric metric_;
    telemetry::Recorder unread_;
    telemetry::Recorder& recorder_;
    telemetry::Worker& worker_;
    const double start_s_ = recorder_.now_s();
    search::Watch watch_;
    std::vector<Einsum> einsums_;
    struct Counted {
        std::uint64_t generated = 0, evaluated = 0;
    } counted_;
    std::string size_, stopped_by_;
    int searches_ = 0, threads_ = 1;
};

}  // namespace

class TimeloopMapper : public Mapper {
public:
    static std::vector<plugin::Knob> knobs() {
        constexpr std::int64_t most = std::int64_t{1} << 52;
        return {plugin::Knob::choice(
                    "algorithm", "optimal",
                    {"optimal", "random", "random-pruned", "linear-pruned", "hybrid", "exhaustive"},
                    "how the mapspace is searched; all but optimal are Timeloop's"),
                plugin::Knob::integer("timeout", 1000, 0, most, "",
                                      "Timeloop's algorithms end after so many invalid mappings in "
                                      "a row, per thread; 0: never"),
                plugin::Knob::integer("victory_condition", 500, 0, most, "",
                                      "and after so many valid ones without a better one"),
                plugin::Knob::integer("search_size", 0, 0, most, "",
                                      "and after so many valid ones in all")};
    }
    explicit TimeloopMapper(const plugin::KnobValues& knobs) {
        settings_.algorithm = timeloop::algorithm_named(knobs.text("algorithm"));
        settings_.timeout = static_cast<std::uint64_t>(knobs.integer("timeout"));
        settings_.victory = static_cast<std::uint64_t>(knobs.integer("victory_condition"));
        settings_.search_size = static_cast<std::uint64_t>(knobs.integer("search_size"));
    }
    std::string name() const override {
        return "timeloop";
    }
    Result map(const model::Problem& problem, const model::CostModel& model,
               const Options& options) override {
        if (options.metrics.size() != 1) {
            throw UserError("mapper timeloop minimises one metric: energy, latency or edp");
        }
        if (options.mapspace.partial_tiles()) {
            throw UserError(
                "mapper timeloop searches perfect factors; leave out "
                "--imperfect-temporal and --imperfect-spatial");
        }
        if (!options.start.empty()) {
            throw UserError(
                "mapper timeloop draws its mappings and begins with none; leave out --start");
        }
        return TimeloopRun(problem, model, options, settings_).run();
    }

private:
    timeloop::MapperSettings settings_;
};

TESSERA_PLUGIN(Mapper, TimeloopMapper, "timeloop",
               "Timeloop's mapspace and algorithms, Einsum by Einsum", "Timeloop (ISPASS 2019)");

}  // namespace tessera::mapper
