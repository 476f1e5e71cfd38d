#include "api/served_metrics.hpp"

#include <algorithm>

#include "tessera/base/error.hpp"

namespace tessera::api {

using mapper::Metric;

Places places_of(const std::vector<Metric>& metrics) {
    const auto asked = [&](Metric metric) { return std::ranges::count(metrics, metric) > 0; };
    Places places;
    for (const Metric metric : metrics) {
        if (metric == Metric::energy || metric == Metric::latency || metric == Metric::edp) {
            continue;
        }
        if (metrics.size() > 2) {
            throw UserError(std::string("metric ") + mapper::facts(metric).name +
                            " goes alone or with one other");
        }
        const bool first = !asked(Metric::energy) && !places.energy;
        (first ? places.energy : places.latency) = metric;
    }
    return places;
}

std::vector<Metric> viewed(std::vector<Metric> metrics, const Places& places) {
    for (Metric& metric : metrics) {
        metric = metric == places.energy    ? Metric::energy
                 : metric == places.latency ? Metric::latency
                                            : metric;
    }
    return metrics;
}

void ServedView::refuse() const {
    throw UserError("cost model '" + name() +
                    "' does not count traffic; choose one that does (looptree, traffic), or "
                    "another metric");
}

/// Of a report or of formulas; `nothing` is their zero.
template <class Costs, class Number>
Costs ServedView::viewed(Costs costs, Number nothing) const {
    const Costs own = costs;
    const auto value = [&](Metric metric) {
        if (metric == Metric::traffic && !own.traffic_words) {
            refuse();
        }
        return metric == Metric::traffic          ? *own.traffic_words
               : metric == Metric::dynamic_energy ? own.dynamic_energy_j
                                                  : own.leak_energy_j;
    };
    if (places_.energy) {
        costs.dynamic_energy_j = value(*places_.energy);
        costs.leak_energy_j = nothing;
    }
    if (places_.latency) {
        costs.latency_s = value(*places_.latency);
    }
    return costs;
}

model::Report ServedView::evaluate(const model::Problem& problem,
                                   const mapping::Mapping& mapping) const {
    model::Report report = model_.evaluate(problem, mapping);
    for (model::EinsumReport& einsum : report.einsums) {
        einsum = viewed(std::move(einsum), 0.0);
    }
    return report;
}

model::EinsumReport ServedView::evaluate(const model::Problem& problem, const arch::Path& path,
                                         std::span<const mapping::PmappingNode> nodes) const {
    return viewed(model_.evaluate(problem, path, nodes), 0.0);
}

model::TemplateFormulas ServedView::formulate(const model::Problem& problem, const arch::Path& path,
                                              const mapping::Template& tmpl) const {
    return viewed(model_.formulate(problem, path, tmpl), model::Formula(0));
}

}  // namespace tessera::api
