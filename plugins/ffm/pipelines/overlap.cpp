// Mappings whose branches run at once. Map:
//   in turn        the optimum without pipelines; its branches overlapped as well as they can be
//   room           mappings that leave part of the memories to pipelines, overlapped likewise
//   bounds         for weights of components that add up to 1, no mapping takes less than the least
//                  weighted sum of busy times; each such search finds a mapping that tells which
//                  weights to try next
//   exactly        all mappings below cutoffs above the bound, by the join of pipelines (rows.cpp)
// What is found is proven optimal where a bound meets it; otherwise the gap is told.
#include "overlap.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <set>

#include "../result.hpp"
#include "../run.hpp"
#include "model/overlap.hpp"
#include "model/weighted_looptree.hpp"
#include "relaxation.hpp"
#include "tessera/arch/path.hpp"
#include "tessera/base/error.hpp"
#include "tessera/model/pipelines.hpp"
#include "tessera/workload/workload.hpp"
#include "weights.hpp"

namespace tessera::ffm {

namespace {

using mapper::Metric;

/// Searches for bounds that follow each other at most.
constexpr int most_bounds = 8;
/// Of a limit, what the search in turn may take, and each later one of what is left.
constexpr double share_in_turn = 0.4, share_each = 0.3;
/// How many times the space.
constexpr double rooms[] = {2, 3};
/// Cutoffs of the join of pipelines, from the bound (0) to the best mapping (1).
constexpr double cutoffs[] = {0.1, 0.3, 0.6, 1};

void refuse(const model::Problem& problem, const model::CostModel& model,
            const mapper::Options& options) {
    const std::string option = "mapper 'ffm' with overlap=pipeline ";
    if (model.name() != "looptree") {
        throw UserError(option + "knows the pipelines of cost model looptree only, not those of '" +
                        model.name() + "'");
    }
    if (problem.compat != arch::Compat::none) {
        throw UserError(option + "knows no --compat accelforge, which has no pipelines");
    }
    if (options.metrics.size() != 1 || options.metrics.front() == Metric::energy ||
        options.metrics.front() == Metric::traffic) {
        throw UserError(option +
                        "minimises latency or edp; energy and traffic do not depend on what runs "
                        "at once, leave it out");
    }
}

/// One search with pipelines.
class Overlap {
public:
    Overlap(const model::Problem& problem, const model::CostModel& model,
            const mapper::Options& options)
        : problem_(problem), model_(model), options_(options) {}

    mapper::Result run() {
        const std::vector<mapper::Solution> start = take_start();
        mapper::Result in_turn = search(model_, start, share_in_turn);
        in_turn.later.reset();
        if (in_turn.status == mapper::Status::infeasible) {
            return in_turn;
        }
        const std::vector<mapper::Solution> found = std::move(in_turn.solutions);
        in_turn.solutions = std::move(result_.solutions);
        in_turn.bound.reset();
        result_ = std::move(in_turn);
        for (const mapper::Solution& solution : found) {
            take(solution.mapping, "in turn");
        }
        take_front();
        if (!result_.solutions.empty()) {
            find_bounds();
            find_room();
            find_exactly();
        }
        finish();
        return std::move(result_);
    }

private:
    double value() const {
        return mapper::metric_value(options_.metrics.front(), result_.solutions.front().report);
    }
    /// But for rounding.
    bool proven() const {
        return bound_ >= value() * (1 - agreement);
    }
    bool over() const {
        const bool asked = options_.stop != nullptr && options_.stop->load();
        return asked || !stopped_by_.empty() || proven() ||
               (options_.budget.gap > 0 && bound_ >= value() * (1 - options_.budget.gap)) ||
               (options_.budget.target && value() <= *options_.budget.target);
    }

    /// A limit on what is left of one: a share of it. False: nothing is left.
    bool limit(double share, base::Budget& budget) {
        const auto part = [&](double limit, double spent) {
            return std::max(1e-3, share * (limit - spent));
        };
        const double wall_s =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
        const double cpu_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
        if ((budget.max_time_s > 0 && wall_s >= budget.max_time_s) ||
            (budget.max_cpu_s > 0 && cpu_s >= budget.max_cpu_s) ||
            (budget.max_evals > 0 && evaluated_ >= budget.max_evals)) {
            return false;
        }
        if (budget.max_time_s > 0) {
            budget.max_time_s = part(budget.max_time_s, wall_s);
        }
        if (budget.max_cpu_s > 0) {
            budget.max_cpu_s = cpu_s + part(budget.max_cpu_s, cpu_s);
        }
        if (budget.max_evals > 0) {
            const auto left = static_cast<double>(budget.max_evals - evaluated_);
            budget.max_evals = static_cast<std::uint64_t>(std::max(1.0, share * left));
        }
        return true;
    }

    /// Of a search within this one, which has a share of what is left. False: nothing is.
    bool set_within(double share, mapper::Options& within) {
        within.start.clear();
        within.recorder = nullptr;
        within.progress = nullptr;
        within.resume.clear();
        within.budget.gap = 0;
        within.budget.target.reset();
        return limit(share, within.budget);
    }

    /// A search in turn; what it says of costs is that of `model`.
    mapper::Result search(const model::CostModel& model, std::vector<mapper::Solution> start,
                          double share) {
        return search(model, std::move(start), share, options_);
    }
    mapper::Result search(const model::CostModel& model, std::vector<mapper::Solution> start,
                          double share, mapper::Options within) {
        mapper::Result nothing;
        nothing.status = mapper::Status::feasible;
        if (!set_within(share, within)) {
            stopped_by_ = limit_name();
            return nothing;
        }
        within.start = std::move(start);
        for (mapper::Solution& one : within.start) {
            one.report = model.evaluate(problem_, one.mapping);
        }
        try {
            Run run(problem_, model, within);
            run.without_later_metric();  // it serves mappings in turn
            mapper::Result found = run.run();
            evaluated_ += found.statistics.evaluated;
            return found;
        } catch (const LimitReached&) {  // no mapping in time; what is known stays
            if (result_.solutions.empty()) {
                throw;
            }
            return nothing;
        }
    }

    const char* limit_name() const {
        return options_.budget.max_cpu_s > 0    ? "max-cpu-time"
               : options_.budget.max_time_s > 0 ? "max-time"
                                                : "max-evals";
    }

    /// Mappings to begin with, as they are and as their branches overlap best. The same in turn.
    std::vector<mapper::Solution> take_start() {
        std::vector<mapper::Solution> result = options_.start;
        for (mapper::Solution& one : result) {
            const mapping::Mapping given = one.mapping;
            one.mapping = model::Unpipelined(given).mapping();
            one.report = model_.evaluate(problem_, one.mapping);
            take(one.mapping, "given");
            keep(given, one, "given");
        }
        return result;
    }

    /// A mapping in turn, its branches overlapped as well as they can. What it costs then.
    double take(const mapping::Mapping& mapping, const std::string& step) {
        const model::Report in_turn = model_.evaluate(problem_, mapping);
        remember(in_turn);
        return keep(model::best_overlap(problem_, mapping, in_turn).mapping, {mapping, in_turn},
                    step);
    }

    /// If it is the best. What it costs.
    double keep(const mapping::Mapping& mapping, const mapper::Solution& in_turn,
                const std::string& step) {
        mapper::Solution made{mapping, model_.evaluate(problem_, mapping)};
        const double now = mapper::metric_value(options_.metrics.front(), made.report);
        if (!result_.solutions.empty() && now >= value()) {
            return now;
        }
        check_legality(problem_, options_.mapspace, made.mapping);
        in_turn_ = in_turn;
        result_.solutions.assign(1, std::move(made));
        if (options_.recorder != nullptr) {
            options_.recorder->incumbent(incumbent_of(result_.solutions.front(), now, step));
        }
        say(step + ": " + number(now));
        return now;
    }

    /// A row of the game: the metric with each component alone in place of the latency.
    void remember(const model::Report& report) {
        std::map<std::string, double> busy_s;
        for (const model::EinsumReport& einsum : report.einsums) {
            for (const model::ComponentReport& one : einsum.components) {
                busy_s[one.component] += one.has_latency ? one.latency_s : 0;
            }
        }
        for (auto& [component, seconds] : busy_s) {
            seconds = mapper::metric_value(options_.metrics.front(), report.energy_j(), seconds);
        }
        rows_.push_back(std::move(busy_s));
    }

    Weights next_weights() const {
        std::set<std::string> names;
        for (const auto& row : rows_) {
            for (const auto& [component, value] : row) {
                names.insert(component);
            }
        }
        std::vector<std::vector<double>> table;
        for (const auto& row : rows_) {
            std::vector<double>& values = table.emplace_back();
            for (const std::string& name : names) {
                const auto at = row.find(name);
                values.push_back(at == row.end() ? 0 : at->second);
            }
        }
        const std::vector<double> best = best_weights(table);
        Weights weights;
        std::size_t column = 0;
        for (const std::string& name : names) {
            if (best[column] > 0) {
                weights[name] = best[column];
            }
            ++column;
        }
        return weights;
    }

    /// The least weighted sum of all mappings that are known: no bound can exceed it.
    double least_known(const Weights& weights) const {
        double least = std::numeric_limits<double>::infinity();
        for (const auto& row : rows_) {
            double sum = 0;
            for (const auto& [component, weight] : weights) {
                const auto at = row.find(component);
                sum += at == row.end() ? 0 : weight * at->second;
            }
            least = std::min(least, sum);
        }
        return least;
    }

    /// Mappings that take longer in turn for less energy, and may overlap better.
    void take_front() {
        if (options_.metrics.front() != Metric::edp || over()) {
            return;
        }
        mapper::Options both = options_;
        both.metrics = {Metric::energy, Metric::latency};
        for (const mapper::Solution& one : search(model_, {}, share_each, both).solutions) {
            take(one.mapping, "the Pareto set in turn");
        }
    }

    void find_bounds() {
        for (int i = 0; i < most_bounds && !over(); ++i) {
            Weights weights = i == 0 ? balanced_weights(problem_) : Weights();
            if (weights.size() < 2) {
                weights = next_weights();
            }
            if (least_known(weights) <= bound_ * (1 + agreement)) {
                return;  // these bounds come no closer
            }
            const model::WeightedLoopTree view(weights);
            const mapper::Result found = search(view, {in_turn_}, share_each);
            raise(found, weights);
            for (const mapper::Solution& solution : found.solutions) {
                take(solution.mapping, "bound " + std::to_string(i + 1));
            }
        }
    }

    /// \pre `found` is of a search with these weights
    void raise(const mapper::Result& found, const Weights& weights) {
        double bound = found.bound.value_or(0);
        if (found.status == mapper::Status::optimal && !found.solutions.empty()) {
            bound = mapper::metric_value(options_.metrics.front(), found.solutions.front().report);
        }
        // Searches that left something out say nothing of it.
        if (!found.statistics.all_orders || !found.statistics.loop_orders) {
            return;
        }
        if (bound > bound_) {
            weights_ = weights;
            raise_bound(bound);
        }
    }

    /// How far an array can be used decides what is a member (C4 of docs/mapspace.md): with more
    /// room for each holder it would be decided otherwise.
    bool asks_for_usage() const {
        bool asks = false;
        for_each_level(problem_, [&](const arch::PathLevel& level) {
            asks |= std::ranges::any_of(level.spatial,
                                        [](const arch::PathDim& dim) { return dim.min_usage > 0; });
        });
        return asks;
    }

    void find_room() {
        if (over() || asks_for_usage()) {
            return;
        }
        for (const double room : rooms) {
            for (const Weights& weights : {Weights(), next_weights()}) {
                if (over()) {
                    return;
                }
                const model::WeightedLoopTree view(weights, room);
                for (const mapper::Solution& solution : search(view, {}, share_each).solutions) {
                    take(solution.mapping, "with room for pipelines");
                }
            }
        }
    }

    /// What is likely to decide: components with a weight, those that hold an Einsum up in the best
    /// mapping in turn, and memories that two branches cannot share.
    PipelineRelaxation likely() const {
        PipelineRelaxation out;
        out.memories = memories_of_one_value(problem_);
        for (const auto& [component, weight] : weights_) {
            out.components.insert(component);
        }
        for (const model::EinsumReport& einsum : in_turn_.report.einsums) {
            const auto busy_s = [](const model::ComponentReport& one) {
                return one.has_latency ? one.latency_s : 0;
            };
            const auto fullest = std::ranges::max_element(einsum.components, {}, busy_s);
            if (fullest != einsum.components.end() && fullest->latency_s > 0) {
                out.components.insert(fullest->component);
            }
        }
        return out;
    }

    /// All mappings below cutoffs, from the bound to what is known, by the join of pipelines. It
    /// looks at few components and memories; what a mapping breaks of the others is added.
    void find_exactly() {
        PipelineRelaxation relaxation = likely();
        while (!over() && bound_ > 0) {
            PipelineRelaxation missing;
            if (!find_exactly(relaxation, missing) || missing.empty()) {
                return;
            }
            for (const std::string& component : missing.components) {
                say("component " + component + " counts from now on");
            }
            for (const std::string& memory : missing.memories) {
                say("memory " + memory + " counts from now on");
            }
            relaxation.components.merge(missing.components);
            relaxation.memories.merge(missing.memories);
        }
    }

    /// False: it was stopped.
    bool find_exactly(const PipelineRelaxation& relaxation, PipelineRelaxation& missing) {
        mapper::Options within = options_;
        if (!set_within(1, within)) {
            return false;
        }
        within.progress = [this](const std::string& line) { say(line); };
        const model::WeightedLoopTree view(weights_);
        Run run(problem_, view, within);
        if (!run.begin_pipelines(relaxation, value())) {
            return false;
        }
        const double from = bound_;
        for (const double share : cutoffs) {
            const double cutoff = share < 1 ? from + share * (value() - from) : value();
            const Run::Pipelined found = run.best_pipelines(cutoff);
            if (!found.complete) {
                say("the join of pipelines was stopped");
                return false;
            }
            if (found.best) {
                missing = missing_in(relaxation, problem_, *found.best,
                                     model_.evaluate(problem_, *found.best), found.at_once);
                const double now = take(*found.best, "join of pipelines");
                const double apart = now - found.value;
                if (missing.empty() && !found.exact && apart > agreement * now) {
                    return false;
                }
                if (apart < -agreement * now || (missing.empty() && apart > agreement * now)) {
                    throw Bug("the joined pipelines' cost " + number(found.value) +
                              " differs from their evaluation " + number(now));
                }
            }
            if (!found.all_orders || !found.loop_orders) {
                return false;
            }
            raise_bound(std::min(found.best ? found.value : cutoff, value()));
            if (over() || found.best) {
                return true;
            }
        }
        return true;
    }

    void finish() {
        result_.status = mapper::Status::feasible;
        result_.statistics.evaluated = evaluated_;
        result_.stopped_by = stopped_by_;
        if (result_.solutions.empty()) {
            return;
        }
        if (bound_ > 0) {
            result_.bound = std::min(bound_, value());
        }
        if (proven()) {
            result_.status = mapper::Status::optimal;
            result_.stopped_by.clear();
        }
    }

    /// No mapping costs less.
    void raise_bound(double bound) {
        if (bound > bound_) {
            bound_ = bound;
            if (options_.recorder != nullptr) {
                options_.recorder->bound(std::min(bound_, value()));
            }
            say("no mapping costs less than " + number(bound_));
        }
    }

    void say(const std::string& line) const {
        if (options_.progress) {
            options_.progress("pipelines, " + line);
        }
    }

    const model::Problem& problem_;
    const model::CostModel& model_;
    const mapper::Options& options_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    mapper::Result result_;
    mapper::Solution in_turn_;  ///< of the best, before its branches overlapped
    std::vector<std::map<std::string, double>> rows_;
    double bound_ = 0;
    Weights weights_;  ///< of the best bound
    std::uint64_t evaluated_ = 0;
    std::string stopped_by_;
};

}  // namespace

mapper::Result map_with_pipelines(const model::Problem& problem, const model::CostModel& model,
                                  const mapper::Options& options) {
    refuse(problem, model, options);
    return Overlap(problem, model, options).run();
}

}  // namespace tessera::ffm
