// Map:
//   UsageFront         one search after the other
//     search_once()    for the other metrics, where memories have these sizes
//     front_of()       over the usage of this memory and of those after it
//     undominated()    what is left of all that was found
//     reported()       what is proven where a limit came first
//   check_usage()      whether a usage can be minimised
#include "usage_front.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "arch/limited_memory.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/same_cost.hpp"
#include "tessera/spec/position.hpp"
#include "tessera/telemetry/recorder.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::api {

namespace {

/// Usages that differ by no more than this share are equal; far below one bit of any memory, and
/// above what a memory may be filled beyond its size (arch::most_bits()).
constexpr double smallest_step = 1e-11;

/// Sizes of memories with a limit, as some Einsum sees them.
std::vector<std::string> limited_memories(const model::Problem& problem) {
    std::vector<std::string> names;
    for (std::size_t e = 0; e < problem.workload->einsums.size(); ++e) {
        for (const std::string& compute : problem.architecture->compute_names()) {
            const arch::Path path = problem.architecture->path(
                *problem.workload, static_cast<int>(e), compute, problem.compat);
            for (const arch::PathLevel& level : path.levels) {
                if (level.kind == arch::LevelKind::memory && std::isfinite(level.size_bits) &&
                    std::ranges::count(names, level.name) == 0) {
                    names.push_back(level.name);
                }
            }
        }
    }
    return names;
}

/// What was found with some sizes of memories.
struct Part {
    std::vector<mapper::Solution> found;
    bool proven = true;  ///< no other mapping that fits is better than all of these
    std::string stopped_by;
};

class UsageFront {
public:
    UsageFront(const model::Problem& problem, const model::CostModel& model,
               const mapper::Options& settings, const UsageGoals& goals, const Search& search)
        : problem_(problem), model_(model), settings_(settings), goals_(goals), search_(search) {}

    mapper::Result run() {
        Part all = front_of(problem_, 0);
        if (settings_.recorder != nullptr) {
            settings_.recorder->end_phase();
        }
        return reported(std::move(all));
    }

private:
    double value(const mapper::Solution& solution) const {
        return mapper::metric_value(settings_.metrics.front(), solution.report);
    }

    /// What is left of the limits; false: nothing.
    bool limit(base::Budget& budget, std::string& stopped_by) const {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
        if (budget.max_time_s > 0) {
            budget.max_time_s -= spent.count();
            stopped_by = budget.max_time_s <= 0 ? "max-time" : stopped_by;
        }
        if (budget.max_evals > 0) {
            const std::uint64_t evaluated = std::min(statistics_.evaluated, budget.max_evals);
            budget.max_evals -= evaluated;
            stopped_by = budget.max_evals == 0 ? "max-evals" : stopped_by;
        }
        return stopped_by.empty();
    }

    /// Mappings to begin with, and those found before, that fit.
    std::vector<mapper::Solution> known(const model::Problem& problem) const {
        std::vector<mapper::Solution> fit;
        for (const auto* all : {&settings_.start, &found_}) {
            for (const mapper::Solution& one : *all) {
                try {
                    fit.push_back({one.mapping, model_.evaluate(problem, one.mapping)});
                } catch (const IllegalMapping&) {
                    continue;
                }
            }
        }
        return fit;
    }

    Part search_once(const model::Problem& problem) {
        mapper::Options settings = settings_;
        Part part;
        if (!limit(settings.budget, part.stopped_by)) {
            part.proven = false;
            return part;
        }
        if (searches_++ > 0) {
            settings.resume.clear();
            settings.recorder = nullptr;  // its bound and incumbents are of the first search
            settings.progress = nullptr;
        }
        settings.start = known(problem);
        mapper::Result result = search_(problem, settings);
        part.proven = result.status != mapper::Status::feasible;
        part.stopped_by = result.stopped_by;
        for (mapper::Solution& solution : result.solutions) {
            solution.report = model_.evaluate(problem_, solution.mapping);
        }
        part.found = std::move(result.solutions);
        found_.insert(found_.end(), part.found.begin(), part.found.end());
        count(result.statistics);
        return part;
    }

    void count(const mapper::Statistics& more) {
        if (searches_ == 1) {
            statistics_ = more;
            return;
        }
        statistics_.wall_s += more.wall_s;
        statistics_.all_orders = statistics_.all_orders && more.all_orders;
        statistics_.loop_orders = statistics_.loop_orders && more.loop_orders;
        statistics_.templates = std::max(statistics_.templates, more.templates);
        statistics_.evaluated += more.evaluated;
        statistics_.pareto += more.pareto;
    }

    Part front_of(const model::Problem& problem, std::size_t first) {
        if (first == goals_.memories.size()) {
            return search_once(problem);
        }
        const std::string& memory = goals_.memories[first];
        Part all;
        for (double share = 1; share > 0;) {
            const arch::Architecture limited =
                arch::with_limited_memory(*problem.architecture, memory, share);
            Part part = front_of({problem.workload, &limited, problem.compat}, first + 1);
            all.proven = part.proven;
            all.stopped_by = part.stopped_by;
            double most = 0;
            for (const mapper::Solution& one : part.found) {
                const double used = resource_usage(one.report, memory);
                if (used > share * (1 + smallest_step)) {
                    throw PluginError("the mapper's mapping uses " + base::percent(used) + " of '" +
                                      memory + "', of which it may use " + base::percent(share));
                }
                most = std::max(most, used);
            }
            tell(memory, share, part);
            all.found.insert(all.found.end(), part.found.begin(), part.found.end());
            if (!part.proven) {
                open_share_ = first == 0 ? share : open_share_;
                break;
            }
            share = most * (1 - smallest_step);
        }
        return all;
    }

    void tell(const std::string& memory, double share, const Part& part) {
        telemetry::Recorder* const recorder = settings_.recorder;
        if (recorder == nullptr) {
            return;
        }
        recorder->begin_phase("usage", 0, "sizes").advance();
        recorder->log(
            "usage of " + memory + " up to " + base::percent(share) + ": " +
            (part.found.empty() ? "no mapping" : base::counted(part.found.size(), "mapping")) +
            (part.proven ? "" : ", not proven"));
    }

    /// Whether `a` is at least as good as `b` by all that is minimised.
    bool as_good(const mapper::Solution& a, const mapper::Solution& b) const {
        const bool by_usage = std::ranges::all_of(goals_.memories, [&](const std::string& memory) {
            return resource_usage(a.report, memory) <=
                   resource_usage(b.report, memory) * (1 + smallest_step);
        });
        const auto by_metric = [&](mapper::Metric metric) {
            const double left = mapper::metric_value(metric, a.report);
            const double right = mapper::metric_value(metric, b.report);
            return left <= right || base::same_cost(left, right);
        };
        return by_usage && (goals_.alone || std::ranges::all_of(settings_.metrics, by_metric));
    }

    std::vector<mapper::Solution> undominated(std::vector<mapper::Solution> all) const {
        std::vector<mapper::Solution> kept;
        std::ranges::stable_sort(all, {}, [&](const mapper::Solution& one) { return value(one); });
        for (mapper::Solution& one : all) {
            const auto as_good_as_one = [&](const mapper::Solution& other) {
                return as_good(other, one);
            };
            if (std::ranges::any_of(kept, as_good_as_one)) {
                continue;
            }
            std::erase_if(kept, [&](const mapper::Solution& other) { return as_good(one, other); });
            kept.push_back(std::move(one));
        }
        return kept;
    }

    mapper::Result reported(Part all) const {
        mapper::Result result;
        result.statistics = statistics_;
        result.stopped_by = all.stopped_by;
        result.solutions = undominated(std::move(all.found));
        result.status = !all.proven                ? mapper::Status::feasible
                        : result.solutions.empty() ? mapper::Status::infeasible
                                                   : mapper::Status::optimal;
        if (!all.proven && !result.solutions.empty()) {
            result.reasons.push_back(
                open_share_ < 1
                    ? "no mapping that uses more than " + base::percent(open_share_) + " of " +
                          goals_.memories.front() +
                          " is better than all of these; smaller usages were not searched to "
                          "the end"
                    : "the search for mappings of any usage did not end, and none that use less "
                      "were looked for");
        }
        return result;
    }

    const model::Problem& problem_;
    const model::CostModel& model_;
    const mapper::Options& settings_;
    const UsageGoals& goals_;
    const Search& search_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::vector<mapper::Solution> found_;
    mapper::Statistics statistics_;
    int searches_ = 0;
    double open_share_ = 1;  ///< of the first memory: up to this usage nothing is proven
};

}  // namespace

void check_usage(const model::Problem& problem, const base::Budget& budget,
                 const UsageGoals& goals) {
    if (goals.memories.empty()) {
        return;
    }
    if (budget.target || budget.gap > 0) {
        throw UserError(
            "a target or gap is of one metric, and resource_usage asks for a Pareto set");
    }
    const std::vector<std::string> known = limited_memories(problem);
    for (const std::string& name : goals.memories) {
        if (std::ranges::count(goals.memories, name) > 1) {
            throw UserError("metric " + base::one_line(usage_metric(name)) + " is asked for twice");
        }
        if (std::ranges::count(known, name) == 0) {
            const std::string near = spec::did_you_mean(name, known);
            throw UserError("metric " + base::one_line(usage_metric(name)) + ": '" +
                            base::one_line(name) + "' is no memory of limited size" +
                            (near.empty() ? "" : "; " + near) +
                            " (there are: " + spec::name_list(known) + ")");
        }
    }
}

mapper::Result usage_front(const model::Problem& problem, const model::CostModel& model,
                           const mapper::Options& settings, const UsageGoals& goals,
                           const Search& search) {
    return UsageFront(problem, model, settings, goals, search).run();
}

}  // namespace tessera::api
