#include "sweep_search.hpp"

#include <new>

#include "api/search.hpp"
#include "base/printable.hpp"
#include "io/fused_groups.hpp"
#include "tessera/base/error.hpp"
#include "tessera/session.hpp"

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
    Session session(problem, how.components, how.settings);
    for (const std::string& file : how.start) {
        session.begin_with(api::given_mapping(file, {}, *inputs.workload, *inputs.architecture),
                           "--start " + base::one_line(file));
    }
    const Result result = session.search();
    outcome.evaluated = result.statistics.evaluated;
    outcome.stopped_by = result.stopped_by;
    if (result.solutions.empty()) {
        const bool none = result.status == mapper::Status::infeasible;
        outcome.status = none ? "infeasible" : "unknown";
        outcome.message = none ? api::one_text(result.reasons) : "";
        return;
    }
    const mapper::Solution& best = result.best();
    const model::Report& report = best.report;
    outcome.energy_j = report.energy_j();
    outcome.latency_s = report.latency_s();
    outcome.edp_js = report.edp_js();
    outcome.traffic_words = report.traffic_words();
    outcome.dynamic_energy_j = report.dynamic_energy_j();
    outcome.leak_energy_j = report.leak_energy_j();
    outcome.bound = result.bound;
    outcome.gap = result.gap();
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
