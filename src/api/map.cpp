#include "api/search.hpp"
#include "model/overflow.hpp"
#include "tessera/plugin/loader.hpp"
#include "tessera/session.hpp"

namespace tessera {

const mapper::Solution& Result::best() const {
    if (!solutions.empty()) {
        return solutions.front();
    }
    if (status == mapper::Status::infeasible) {
        throw NoLegalMapping("no legal mapping" +
                             (reasons.empty() ? std::string() : ": " + api::one_text(reasons)));
    }
    throw LimitReached("the search ended before any mapping was found" +
                       (stopped_by.empty() ? std::string() : " (" + stopped_by + ")"));
}

std::optional<double> Result::gap() const {
    return api::gap(*this, metrics);
}

std::string usage_metric(const std::string& memory) {
    return "resource_usage:" + memory;
}

std::optional<std::string> memory_of_usage(const std::string& metric) {
    static const std::string prefix = usage_metric("");
    return metric.starts_with(prefix) ? std::optional(metric.substr(prefix.size())) : std::nullopt;
}

double resource_usage(const model::Report& report, const std::string& memory) {
    const auto found = report.peak_occupancy.find(memory);
    return found == report.peak_occupancy.end() ? 0 : found->second;
}

Result map(const Problem& problem, const Options& options) {
    return Session(problem, options).search();
}

model::Report evaluate(const Problem& problem, const mapping::Mapping& mapping,
                       const std::string& model) {
    return Components{model, "", "", {}}.make_model()->evaluate(
        problem.view(), model::settle_overflow(problem.view(), mapping).mapping);
}

void load_plugin(const std::string& file) {
    plugin::register_builtins();
    plugin::load_file(file);
}

}  // namespace tessera
