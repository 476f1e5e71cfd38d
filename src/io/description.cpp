#include "io/description.hpp"

namespace tessera::io {

Description describe(const model::Problem& problem, const mapping::Mapping& mapping,
                     const model::Report& report) {
    const std::vector<mapping::EinsumMapping> einsums =
        mapping::split(mapping, *problem.workload, *problem.architecture, problem.compat);
    return {summarise(problem, einsums, report), fusion_saved(einsums), fused_groups(einsums),
            mapping_notes(mapping, einsums, report)};
}

Json solution_json(const mapping::Mapping& mapping, const model::Report& report,
                   const Description& description) {
    Json result;
    const Json costs = report_json(report);
    for (const auto& [key, value] : costs.members()) {
        if (key == "einsums") {
            result["fused_groups"] = description.fused_groups;
        }
        result[key] = value;
    }
    result["summary"] = summary_json(description.summary, description.fusion);
    result["mapping"] = mapping_json(mapping, description.notes);
    return result;
}

}  // namespace tessera::io
