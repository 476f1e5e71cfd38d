#include "why_infeasible.hpp"

#include <algorithm>

#include "mapspace/infeasible_subset.hpp"
#include "telemetry/process.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"
#include "tessera/search/watch.hpp"
#include "tessera/telemetry/recorder.hpp"

namespace tessera::api {
namespace {

/// An explanation is not waited for any longer.
constexpr double most_cpu_s = 2;

/// What is left of the search's limits; nothing: they were met.
std::optional<base::Budget> budget_of(const base::Budget& given, double spent_s) {
    base::Budget out;
    const double now = telemetry::cpu_seconds();
    out.max_cpu_s = now + most_cpu_s;
    if (given.max_cpu_s > 0) {
        out.max_cpu_s = std::min(out.max_cpu_s, given.max_cpu_s);
    }
    if (given.max_time_s > 0) {
        out.max_time_s = std::max(given.max_time_s - spent_s, -1.0);
    }
    out.max_memory_bytes = given.max_memory_bytes;
    return out.max_cpu_s <= now || out.max_time_s < 0 ? std::nullopt : std::optional(out);
}

}  // namespace

void explain_infeasible(const model::Problem& problem, const model::CostModel& model,
                        const mapper::Options& settings, double spent_s, mapper::Result& result) {
    const auto budget = budget_of(settings.budget, spent_s);
    if (!budget || !model.has_formulas()) {
        return;
    }
    const telemetry::Recorder unread;
    const search::Watch watch(*budget, settings.stop, unread);
    const base::StopScope scope(base::StopToken{watch.stop()});
    try {
        if (auto subset = mapspace::infeasible_subset(problem, model, settings.mapspace)) {
            result.reasons = std::move(subset->lines);
        } else if (watch.stopped()) {
            result.reasons.emplace_back(
                "which constraints cannot be met together was not found within the limit of the "
                "explanation (2 CPU seconds, or what was left of the limits that were set)");
        }
    } catch (const UserError&) {
        return;  // without some constraint it is more than a search can take
    }
}

}  // namespace tessera::api
