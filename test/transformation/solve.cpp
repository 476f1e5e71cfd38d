#include "transformation/solve.hpp"

#include "tessera/base/error.hpp"
#include "tessera/mapspace/legality.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::transformation {

std::optional<Optimum> solve(const Problem& problem, const std::vector<mapper::Metric>& metrics,
                             const std::vector<std::string>& without, double time_limit_s) {
    const LoadedProblem loaded(problem);
    const auto ffm = plugin::Registry<mapper::Mapper>::instance().create("ffm");
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    mapper::Options options;
    options.metrics = metrics;
    options.mapspace = problem.options;
    options.threads = 1;
    options.without = without;
    options.budget.max_time_s = time_limit_s;
    Optimum optimum;
    try {
        const mapper::Result result = ffm->map(loaded.problem, *model, options);
        if (result.status == mapper::Status::feasible || (result.later && !result.later->proven)) {
            return std::nullopt;
        }
        for (const mapper::Solution& s : result.solutions) {
            optimum.points.push_back({s.report.energy_j(), s.report.latency_s()});
        }
        if (!result.solutions.empty()) {
            optimum.mapping = result.solutions.front().mapping;
        }
    } catch (const NoLegalMapping&) {
    } catch (const LimitReached&) {
        return std::nullopt;
    }
    return optimum;
}

Cost evaluate(const Problem& problem, const mapping::Mapping& mapping, std::string& why) {
    const LoadedProblem loaded(problem);
    for (const auto& v : mapspace::check(loaded.problem, mapping, &problem.options)) {
        if (v.severity != mapspace::Severity::warning) {
            why = mapspace::to_text(v);
        }
    }
    const auto model = plugin::Registry<model::CostModel>::instance().create("looptree");
    const model::Report report = model->evaluate(loaded.problem, mapping);
    return {report.energy_j(), report.latency_s()};
}

}  // namespace tessera::transformation
