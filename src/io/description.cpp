#include "io/description.hpp"

namespace tessera::io {

Description describe(const model::Problem& problem, const mapping::Mapping& mapping,
                     const model::Report& report) {
    const std::vector<mapping::EinsumMapping> einsums =
        mapping::split(mapping, *problem.workload, *problem.architecture, problem.compat);
    return {summarise(problem, einsums, report), fusion_saved(einsums), fused_groups(einsums),
            mapping_notes(mapping, einsums, report)};
}

}  // namespace tessera::io
