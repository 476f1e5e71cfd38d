#include "api/traffic_view.hpp"

#include <algorithm>

#include "tessera/base/error.hpp"

namespace tessera::api {

using mapper::Metric;

void TrafficView::refuse() const {
    throw UserError("cost model '" + name() +
                    "' does not count traffic; choose one that does (looptree, traffic), or "
                    "another metric");
}

model::EinsumReport TrafficView::viewed(model::EinsumReport report) const {
    if (!report.traffic_words) {
        refuse();
    }
    if (place_ == Metric::energy) {
        report.dynamic_energy_j = *report.traffic_words;
        report.leak_energy_j = 0;
    } else {
        report.latency_s = *report.traffic_words;
    }
    return report;
}

model::Report TrafficView::evaluate(const model::Problem& problem,
                                    const mapping::Mapping& mapping) const {
    model::Report report = model_.evaluate(problem, mapping);
    for (model::EinsumReport& einsum : report.einsums) {
        einsum = viewed(std::move(einsum));
    }
    return report;
}

model::EinsumReport TrafficView::evaluate(const model::Problem& problem, const arch::Path& path,
                                          std::span<const mapping::PmappingNode> nodes) const {
    return viewed(model_.evaluate(problem, path, nodes));
}

model::TemplateFormulas TrafficView::formulate(const model::Problem& problem,
                                               const arch::Path& path,
                                               const mapping::Template& tmpl) const {
    model::TemplateFormulas formulas = model_.formulate(problem, path, tmpl);
    if (!formulas.traffic_words) {
        refuse();
    }
    if (place_ == Metric::energy) {
        formulas.dynamic_energy_j = *formulas.traffic_words;
        formulas.leak_energy_j = model::Formula(0);
    } else {
        formulas.latency_s = *formulas.traffic_words;
    }
    return formulas;
}

std::optional<Metric> place_of_traffic(const std::vector<Metric>& metrics) {
    const auto has = [&](Metric metric) {
        return std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
    };
    if (!has(Metric::traffic)) {
        return std::nullopt;
    }
    if (metrics.size() > 2) {
        throw UserError("metric traffic goes alone or with one of energy and latency");
    }
    return has(Metric::energy) ? Metric::latency : Metric::energy;
}

std::vector<Metric> viewed(std::vector<Metric> metrics, Metric place) {
    std::replace(metrics.begin(), metrics.end(), Metric::traffic, place);
    return metrics;
}

}  // namespace tessera::api
