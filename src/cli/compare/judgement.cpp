#include "judgement.hpp"

#include <cmath>
#include <sstream>

#include "tessera/base/error.hpp"
#include "tessera/mapspace/legality.hpp"

namespace tessera::cli {

namespace {

// The mapper's own account of its mapping and the model's may differ by rounding.
constexpr double agreement = 1e-9;

}  // namespace

model::Report judged(const model::Problem& problem, const model::CostModel& model,
                     const mapping::Mapping& mapping) {
    for (const mapspace::Violation& violation : mapspace::check(problem, mapping)) {
        if (violation.severity != mapspace::Severity::warning) {
            throw IllegalMapping("the mapping is illegal: " + mapspace::to_text(violation));
        }
    }
    return model.evaluate(problem, mapping);
}

model::Report judged(const model::Problem& problem, const model::CostModel& model,
                     const mapper::Solution& solution, mapper::Metric metric) {
    model::Report report = judged(problem, model, solution.mapping);
    const double value = mapper::metric_value(metric, report);
    const double claimed = mapper::metric_value(metric, solution.report);
    if (!(std::abs(claimed - value) <= agreement * std::abs(value))) {
        std::ostringstream text;
        text.precision(12);
        text << "the mapper says that its mapping costs " << claimed << ", the model says "
             << value;
        throw PluginError(text.str());
    }
    return report;
}

}  // namespace tessera::cli
