#include "sweep_search.hpp"

#include <new>

#include "api/search.hpp"
#include "cli/compare/judgement.hpp"
#include "io/fused_groups.hpp"
#include "tessera/base/error.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::cli {

namespace {

/// "Q+K+QK AV+Z": groups apart, Einsums of one joined
std::string groups_text(const model::Problem& problem, const mapping::Mapping& mapping) {
    std::string text;
    for (const std::vector<std::string>& group : io::fused_groups(
             mapping::split(mapping, *problem.workload, *problem.architecture, problem.compat))) {
        text += text.empty() ? "" : " ";
        for (std::size_t i = 0; i < group.size(); ++i) {
            text += (i > 0 ? "+" : "") + group[i];
        }
    }
    return text;
}

void search(const SweepSearch& how, const api::Choice& choice, SweepOutcome& outcome) {
    const api::Inputs inputs = how.family.with(choice);
    const model::Problem problem{&*inputs.workload, &*inputs.architecture, how.compat};
    const auto model = how.components.make_model();
    const auto mapper = how.components.make_mapper();
    telemetry::Recorder recorder;
    mapper::Options settings = how.settings;
    settings.recorder = &recorder;
    settings.knobs = how.components.knobs;
    const mapper::Result result = api::run_mapper(*mapper, problem, *model, settings);
    outcome.evaluated = result.statistics.evaluated;
    outcome.stopped_by = result.stopped_by;
    if (result.solutions.empty()) {
        const bool none = result.status == mapper::Status::infeasible;
        outcome.status = none ? "infeasible" : "unknown";
        outcome.message = none ? api::one_text(result.reasons) : "";
        return;
    }
    const mapper::Solution& best = result.solutions.front();
    const model::Report report = judged(problem, *model, best, settings.metrics.front());
    outcome.energy_j = report.energy_j();
    outcome.latency_s = report.latency_s();
    outcome.edp_js = report.edp_js();
    outcome.traffic_words = report.traffic_words();
    outcome.bound = result.bound;
    outcome.gap = api::gap(result, settings.metrics);
    outcome.fused_groups = groups_text(problem, best.mapping);
    outcome.mapping = mapping::to_yaml(best.mapping);
    outcome.status = result.status == mapper::Status::optimal ? "optimal" : "feasible";
}

}  // namespace

SweepOutcome search_point(const SweepSearch& how, const api::Choice& choice) {
    SweepOutcome outcome;
    try {
        search(how, choice, outcome);
        return outcome;
    } catch (const Error& error) {
        outcome.message = error.what();
    } catch (const std::bad_alloc&) {
        outcome.message = "the system has no more memory";
    } catch (const std::exception& error) {
        outcome.message = std::string("an internal error: ") + error.what();
    }
    SweepOutcome failed;
    failed.status = "failed";
    failed.message = outcome.message;
    return failed;
}

}  // namespace tessera::cli
